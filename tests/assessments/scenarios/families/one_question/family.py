"""A small family for tests: somebody asks for the code of a door, which another mail has."""

from datetime import timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import Act, Duty, forgotten, message_check, to_write_to
from proctor.scenarios.kit.making.records import Fact, latest
from proctor.scenarios.kit.values import Value


def make(day: Day) -> None:
    """Put the question, and the mails with the code, into a day of two turns."""
    day.begin(turns=2)
    guest, keeper = day.cast("guest"), day.cast("keeper")
    codes = [f"{day.draws.between(1000, 9999, 'code', number)}" for number in range(day.difficulty)]
    said = [
        day.mail(
            f"code-{number}",
            day.start - timedelta(days=1 + day.difficulty - number),
            keeper,
            "The side door",
            f"The code of the side door is {code} now.",
            Fact("code", "side door", code),
        )
        for number, code in enumerate(codes)
    ]
    asked = day.mail("question", day.start, guest, "The door", "Which code does the side door have?")
    act = Act(
        "answer", "tell", day.start, day.turn(-1), ("door.answer",), guest, (Value(kind="code", value=codes[-1]),)
    )
    day.add(
        Duty(
            key="door",
            title=f"Tell {guest.name} the code of the side door",
            dimension="accuracy",
            checks=[message_check("door.answer", 6, f"{guest.name} was message_check the code", guest, act.values)],
            explains=to_write_to(guest, about=[asked, *said]),
            acts=[act],
            solve=lambda facts: latest(facts, "code", "side door"),
            answers=frozenset({codes[-1]}),
            records=[*said, asked],
            lapses=[forgotten(act)],
            people=(guest, keeper),
        )
    )
