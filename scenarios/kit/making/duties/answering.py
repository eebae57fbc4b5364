"""Answer a person's question with a fact from the day's records, by its last statement."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.inviting import statement_records
from proctor.scenarios.kit.making.duty import Duty, forgotten, message_check, once_check, tell, to_write_to, values_of
from proctor.scenarios.kit.making.forms import phrases
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import latest
from proctor.scenarios.kit.making.texts import hear, mail_saying
from proctor.scenarios.kit.values import Value


def answer_fact(
    day: Day,
    key: str,
    *,
    asker: Person,
    thing: Phrase,
    statements: Sequence[tuple[datetime, Person, Value]],
    decoys: Sequence[tuple[datetime, Person, Phrase, Value]] = (),
    heard: Sequence[tuple[datetime, Person, Value]] = (),
    asked: datetime,
    until: datetime,
) -> Duty:
    """A person asks for a value that others have stated, and corrected.

    Args:
        asker: the person who asks by mail, at ``asked``.
        thing: the thing in question, such as "the deposit for the hall"; no other thing of the day has this name.
        statements: times, speakers and values; the last value is right, and differs from all others.
        decoys: times, speakers, other similar things, and their values.
        heard: times, speakers and values of rumours, which do not count.
        asked, until: when the question comes, and when the answer is due.
    """
    right = statements[-1][2]
    wrong = values_of(statements[:-1], decoys, heard)
    records = statement_records(day, key, thing, statements, decoys)
    records += [
        hear(day, f"{key}-heard-{n}", at, who, thing, value, statements[-1][1])
        for n, (at, who, value) in enumerate(heard)
    ]
    question = mail_saying(day, f"{key}-question", asked, asker, "ask_fact", thing=thing.by(asker))
    check, once = f"{key}.answer", f"{key}.once"
    sentence = f"{asker.name} has {thing.en} by {until:%H:%M}"
    act = replace(tell(f"{key}.1", asked, until, asker, [right], thing.en, check), reply_to=question.id)
    lapses = [
        forgotten(act),
        act.wrong_person(day.stranger),
        act.twice(loses=[once]),
        *act.too_late(day.starts, until),
        *act.wrong_values("stale value", (value for *_, value in statements[:-1])),
        *act.wrong_values("value of something else", (value for *_, value in decoys)),
        *act.wrong_values("value of a rumour", (value for *_, value in heard)),
    ]
    duty = Duty(
        key=key,
        title=f"Tell {asker.name} {thing.en}",
        dimension="accuracy",
        checks=[
            message_check(check, 6, sentence, asker, [right], wrong, before=until),
            once_check(once, 1, f"{asker.name} got it only once", asker, [right]),
        ],
        explains=to_write_to(asker, about=(*records, question)),
        acts=[act],
        solve=lambda facts: latest(facts, "value", thing.en),
        answers=frozenset({right.value}),
        records=[*records, question],
        lapses=lapses,
        points=[("forgotten", "wrong person"), *((lapse.name,) for lapse in lapses if "value" in lapse.name)],
        candidates=tuple(value.value for value in (right, *wrong)),
        enact=lambda answer: [replace(act, values=(Value(right.kind, answer),))],
        people=(
            asker,
            *dict.fromkeys(
                [*(statement[1] for statement in (*statements, *heard)), *(statement[1] for statement in decoys)]
            ),
        ),
        asked={asker.key: (right.kind,)},
        knows={asker.key: f"You need to know {thing.en}."},
    )
    return day.add(duty)


def answer_price(day: Day, key: str, number: int) -> Duty:
    """Add a question about a drawn thing's price, which is corrected once for each degree of difficulty, or once more.

    From difficulty 2 on, a person also repeats a rumour about it, after everything else.

    Args:
        number: the question's number in the day, from 0; it comes between the turns ``number`` and ``number`` + 1.
    """
    things = day.draws.shuffled(PRICED, "priced things")
    rumoured, other, *amounts = _whole_amounts(day, key, 8)
    corrections = day.difficulty + day.draws.below(2, key, "corrections")
    source = day.cast(f"{key}-source", "colleague")
    times: list[datetime] = []
    for at in sorted(day.ago(f"{key}-{n}") for n in range(corrections + 1)):
        times.append(max(at, times[-1] + timedelta(minutes=1)) if times else at)  # one of them has to be the last
    rumour = day.before(number + 1, key, "heard", minutes=(1, 4))
    return answer_fact(
        day,
        key,
        heard=[(rumour, day.cast(f"{key}-heard"), rumoured)] if day.difficulty > 1 else [],
        asker=day.cast(f"{key}-asker", "colleague"),
        thing=things[2 * number],
        statements=[(at, source, amounts[n]) for n, at in enumerate(times)],
        decoys=[(day.ago(f"{key}-decoy"), day.cast(f"{key}-decoy", "colleague"), things[2 * number + 1], other)],
        asked=day.before(number + 1, key, "asked"),
        until=day.turn(number + 3),
    )


def _whole_amounts(day: Day, key: str, count: int) -> list[Value]:
    """Different amounts of whole euros."""
    return [Value("amount", str(100 * euros)) for euros in day.draws.different(300, 9000, count, key, "euros")]


PRICED = phrases(__file__, "priced")
