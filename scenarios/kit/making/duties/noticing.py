"""Notice things without a request, and tell the user only of those that matter."""

from collections.abc import Sequence

from proctor.scenarios.kit.checks import Check
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import (
    Act,
    Duty,
    Solver,
    besides,
    forgotten,
    message_check,
    once_check,
    silence_check,
)
from proctor.scenarios.kit.making.records import Record
from proctor.scenarios.kit.values import Value


def point_out(
    day: Day,
    key: str,
    *,
    what: str,
    about: str,
    records: Sequence[Record],
    values: Sequence[Value],
    decoys: Sequence[tuple[str, Value]],
    until: int,
    stale: Sequence[Value] = (),
    solve: Solver,
) -> Duty:
    """The user should learn of one thing in the day's records, and not of things that resemble it.

    Args:
        what: the thing in words, such as ``the passport that expires``.
        about: the person or thing that its facts are about.
        records: all records that show it, and the things that resemble it.
        values: the values that the message has to name.
        decoys: things that don't matter, in words, each with the value that a message about it would name.
        until: the last turn that is in time.
        stale: earlier statements of the last value, which are wrong now.
        solve: the solver.
    """
    first = max(record.at for record in records if any(fact.about == about for fact in record.facts))
    at = day.seen(first)
    check_id = f"{key}.told"
    end, user = day.starts[until], day.user.first
    act = Act(f"{key}.1", "tell", at, end, (check_id,), None, tuple(values), what, channel="chat")
    sentence = f"{user} was not bothered with {' or '.join(name for name, _ in decoys)}"
    kept = silence_check(f"{key}.quiet", 6, sentence, None, (value for _, value in decoys))
    checks: list[Check] = [
        message_check(check_id, 8, f"{user} knows of {what} by {end:%H:%M}", None, values, before=end),
        once_check(f"{key}.once", 1, f"{user} got it only once", None, values),
        kept,
    ]
    lapses = [
        forgotten(act),
        *act.too_late(day.starts, end),
        *([act.wrong_value(*values[:-1], name="names a part only")] if len(values) > 1 else []),
        act.twice(loses=[f"{key}.once"]),
        *(act.wrong_value(*values[:-1], value, name=f"stale value {n}") for n, value in enumerate(stale, start=1)),
    ]
    for n, (name, value) in enumerate(decoys, start=1):
        more = Act(f"{key}.more-{n}", "tell", at, day.starts[-1], (), None, (value,), name, channel="chat")
        lapses.append(besides(more, loses=[kept.id], name=f"bothers with {name}"))
    duty = Duty(
        key=key,
        title=f"Point out {what}",
        dimension="accuracy",
        checks=checks,
        explains=[],
        acts=[act],
        solve=solve,
        answers=solve([fact for record in records for fact in record.facts]),
        records=list(records),
        lapses=lapses,
        points=[("forgotten",), *Duty.each_named(lapses, "bothers", "stale")],
    )
    return day.add(duty)
