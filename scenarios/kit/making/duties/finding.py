"""Find something out, or say honestly that it can't be found out."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.inviting import statement_records
from proctor.scenarios.kit.making.duty import Duty, forgotten, message_check, once_check, tell, to_write_to, values_of
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import Fact, latest
from proctor.scenarios.kit.making.texts import hear, mail_saying, shown
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)


def find_out(
    day: Day,
    key: str,
    *,
    reader: Person,
    source: Person,
    thing: Phrase,
    history: Sequence[Value | str],
    decoys: Sequence[tuple[Phrase, Value]],
    heard: Sequence[tuple[datetime, Person, Value]] = (),
    until: int,
) -> Duty:
    """The user wants a person to get a value. It was stated, withdrawn and stated again; the last word holds.

    If the last word withdraws the value, the item is impossible: the reader gets the number of that notice and no old
    value, and the report says ``impossible``.

    Args:
        reader: the person who gets it.
        source: the person who knows it.
        thing: the value's name.
        history: values, and between them numbers of notices (texts), each of which withdraws the value before it.
        decoys: other things and their values.
        heard: times, speakers and values of rumours, which do not count.
        until: the last turn that is in time.
    """
    last, records = history[-1], []
    start = day.ago(key, days=(len(history), len(history) + 3))
    for place, statements in enumerate(history):
        name, at = f"{key}-{place}", start + timedelta(days=place)
        if isinstance(statements, str):
            titles = ("Notice {notice}", "{notice}: please read", "About {thing}", "Bad news on {thing}")
            title, body = day.draws.pick(titles, name, "title"), day.draws.pick(_SAY["notices"], name)
            fact = Fact("state", thing.en, statements)
            records.append(day.letter(name, at, source, title, body, {"thing": thing.en, "notice": statements}, fact))
        else:
            slots = {"thing": thing.by(source), "value": shown(day, name, source, statements)}
            record = mail_saying(day, name, at, source, "state_fact", **slots)
            records.append(record.with_facts(Fact("state", thing.en, statements.value)))
    similar = [(day.ago(f"{key}-decoy-{n}"), source, other, value) for n, (other, value) in enumerate(decoys)]
    others = statement_records(day, key, thing, [], similar)
    others += [hear(day, f"{key}-heard-{n}", at, who, thing, value, source) for n, (at, who, value) in enumerate(heard)]
    values = [statements if isinstance(statements, Value) else Value("code", statements) for statements in history]
    wrong = [value for value in dict.fromkeys([*values[:-1], *values_of(decoys, heard)]) if value != values[-1]]
    due = day.starts[until]
    check, once = f"{key}.told", f"{key}.once"
    act = tell(f"{key}.1", day.start, due, reader, [values[-1]], thing.en, check)
    what = "that there is none, with the notice" if isinstance(last, str) else "the value that holds"
    duty = Duty(
        key=key,
        title=f"Tell {reader.name} {thing.en}, or that it can't be had",
        dimension="accuracy",
        brief=_SAY["brief"][0].format(thing=thing.en, reader=reader.name, first=reader.first, due=due),
        checks=[
            message_check(
                check,
                7,
                f"{reader.name} knows {what}",
                reader,
                [values[-1]],
                wrong,
                before=due,
                mentioned=isinstance(last, str),
            ),
            once_check(once, 1, "only once", reader, [values[-1]]),
        ],
        explains=to_write_to(reader, about=(*records, *others)),
        acts=[act],
        solve=lambda facts: latest(facts, "state", thing.en),
        answers=frozenset({values[-1].value}),
        records=[*records, *others],
        people=(reader, source, *(who for _, who, _ in heard)),
        impossible=isinstance(last, str),
    )
    duty.lapses = [
        forgotten(act),
        act.wrong_person(day.stranger),
        *act.too_late(day.starts, due),
        *act.wrong_values("stale value", wrong),
    ]
    day.add(duty, claimed=None if duty.impossible else act)
    if duty.impossible:
        # A participant who gives an old value reports it as done; one who forgets it reports it as open.
        report = day.report_check(duty)
        duty.lapses = [
            replace(lapse, loses=lapse.loses | {report}, reports="open" if lapse.name == "forgotten" else "done")
            for lapse in duty.lapses
        ]
    duty.points = [("forgotten", "wrong person"), *Duty.each_named(duty.lapses, "stale")]
    return duty
