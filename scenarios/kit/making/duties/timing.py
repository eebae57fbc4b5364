"""Do something at a given time, or if nothing has come by that time."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import (
    Act,
    Duty,
    forgotten,
    message_check,
    once_check,
    silence_check,
    tell,
    to_write_to,
)
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import Fact, Record, latest
from proctor.scenarios.kit.making.texts import mail_saying, shown
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)


def remind_before(
    day: Day,
    key: str,
    *,
    person: Person,
    title: str,
    starts: Sequence[datetime],
    decoy: tuple[str, datetime],
) -> Duty:
    """Remind a person of an appointment's time within the two hours before it; the appointment was moved.

    Args:
        person: the person to remind.
        title: the appointment's title.
        starts: its time in the calendar, and the times to which mails moved it later; the last one holds.
        decoy: another appointment with a name like it, and its time.
    """
    right = starts[-1]
    window = right - timedelta(hours=2), right - timedelta(minutes=20)
    fact = Fact("starts", title, starts[0].isoformat())
    entry = day.entry(f"{key}-entry", title, starts[0], 45, fact, people=[person])
    other = day.entry(f"{key}-decoy", decoy[0], decoy[1], 45)
    moves = [_move(day, key, place, person, title, starts) for place in range(1, len(starts))]
    check, once = f"{key}.reminded", f"{key}.once"
    value, others = _clock(right), map(_clock, dict.fromkeys([*starts[:-1], decoy[1]]))
    wrong = [other for other in others if other != value]
    act = tell(f"{key}.1", *window, person, [value], title, check)
    sentence = f"{person.name} was reminded of {title} in time"
    early = [start for start in day.starts if start < window[0]]
    lapses = [
        forgotten(act),
        act.wrong_person(day.stranger),
        act.twice(loses=[once]),
        *(act.late(start, name="too early") for start in early[-1:]),
        *act.too_late(day.starts, window[1]),
        *act.wrong_values("stale time", wrong),
    ]
    duty = Duty(
        key=key,
        title=f"Remind {person.name} of {title} shortly before it begins",
        dimension="instruction_following",
        brief=_SAY["remind_brief"][0].format(person=person.name, title=title),
        checks=[
            message_check(check, 8, sentence, person, [value], wrong, after=window[0], before=window[1]),
            once_check(once, 1, "only once", person, [value]),
        ],
        explains=to_write_to(person, about=moves),
        acts=[act],
        solve=lambda facts: latest(facts, "starts", title),
        answers=frozenset({right.isoformat()}),
        records=[entry, other, *moves],
        lapses=lapses,
        points=[
            tuple(lapse.name for lapse in lapses if lapse.name in ("too early", "late")) or ("forgotten",),
            *Duty.each_named(lapses, "stale"),
        ],
        people=(person,),
    )
    return day.add(duty)


def _clock(at: datetime) -> Value:
    return Value("time", f"{at:%H:%M}")


def _move(day: Day, key: str, place: int, person: Person, title: str, starts: Sequence[datetime]) -> Record:
    old, new = _clock(starts[place - 1]), _clock(starts[place])
    name = f"{key}-move-{place}"
    minutes = day.draws.between(8, 45, name)
    at = day.start - timedelta(minutes=minutes) if place == 1 else day.turn(place - 2, minutes)
    slots = {"old": shown(day, f"{name}-old", person, old), "new": shown(day, name, person, new)}
    record = mail_saying(day, name, at, person, "announce_change", thing=title, **slots)
    return record.with_facts(Fact("starts", title, starts[place].isoformat()))


def if_nothing_by(
    day: Day,
    key: str,
    *,
    source: Person,
    thing: Phrase,
    number: Value,
    by: datetime,
    answers_at: datetime | None,
    receiver: Person,
    fallback: Person,
    substitute: Value,
    former: Value | None = None,
) -> Duty:
    """Pass a number on if it comes by a time; else give another person a substitute.

    Args:
        source: the person who may send the number of the thing.
        thing: the thing's name.
        number: the value, which comes at ``answers_at`` (None: never). After ``by`` it is too late.
        by: the time that decides; a turn begins then.
        receiver: the person who gets the number.
        fallback: the person who gets the substitute otherwise.
        substitute: the value that a note of the user names for that case.
        former: the first stated number or substitute, which was corrected later.
    """
    in_time = answers_at is not None and answers_at <= by
    form = day.draws.pick(_SAY["notes"], key)
    records = [_note(day, f"{key}-note", (1, 2), form, thing, substitute, fallback)]
    if answers_at is not None:
        slots, act_name = {"thing": thing.by(source), "value": number.value}, "answer_fact"
        if in_time and former:
            first = {**slots, "value": former.value}
            at = answers_at - timedelta(minutes=day.draws.between(6, 25, key, "before"))
            mail = mail_saying(day, f"{key}-answer-first", at, source, "answer_fact", **first)
            records.append(mail.with_facts(Fact("answer", thing.en, former.value)))
            act_name, slots["old"] = "correct_fact", former.value
        mail = mail_saying(day, f"{key}-answer", answers_at, source, act_name, **slots)
        records.append(mail.with_facts(Fact("answer", thing.en, number.value)))
    if former and not in_time:  # an older note, with a substitute that no longer holds
        name, forms = f"{key}-former-note", [note for note in _SAY["notes"] if note != form]
        records.append(_note(day, name, (4, 7), day.draws.pick(forms, name), thing, former, fallback))
    to, value, other = (receiver, number, fallback) if in_time else (fallback, substitute, receiver)
    begin = day.seen(answers_at if in_time and answers_at else by)
    until = day.starts[min(len(day.starts) - 1, day.starts.index(begin) + 2)]
    check, kept = f"{key}.told", f"{key}.not-{'fallback' if in_time else 'receiver'}"
    act = Act(f"{key}.1", "tell", begin, until, (check,), to, (value,), thing.en)
    mistaken = replace(act, id=f"{key}.other", to=other, values=(substitute if in_time else number,))
    before, stale = [start for start in day.starts if start < begin], [former] if former else []
    names = {"source": source.name, "receiver": receiver.name, "fallback": fallback.name}
    sentence, silence = f"{to.name} has the number in time", f"{other.name} did not get the number or the substitute"
    lapses = [
        forgotten(act),
        act.wrong_person(day.stranger),
        act.instead(mistaken, loses=[check, kept], name="takes the other way"),
        *(act.late(start, name="too early") for start in before[-1:] if not in_time),
        *act.too_late(day.starts, until),
        *(act.wrong_value(value, name="stale number") for value in stale),
    ]
    duty = Duty(
        key=key,
        title=f"Pass {thing.en} on to {receiver.name}, or the substitute to {fallback.name} after {by:%H:%M}",
        dimension="instruction_following",
        brief=_SAY["nothing_brief"][0].format(**names, thing=thing.en, by=by, until=until),
        checks=[
            message_check(check, 7, sentence, to, [value], stale, after=None if in_time else by, before=until),
            silence_check(kept, 3, silence, other, [number, substitute]),
        ],
        explains=to_write_to(receiver, fallback, source, about=records),
        acts=[act],
        solve=lambda facts: frozenset({_branch(facts, thing.en, by)}),
        answers=frozenset({f"{'receiver' if in_time else 'fallback'} {value.value}"}),
        records=records,
        lapses=lapses,
        points=[
            ("takes the other way",),
            tuple(lapse.name for lapse in lapses if lapse.name not in ("takes the other way", "stale number")),
            *([("stale number",)] if former else []),
        ],
        people=(source, receiver, fallback),
    )
    return day.add(duty)


def _note(
    day: Day, name: str, days: tuple[int, int], form: str, thing: Phrase, substitute: Value, fallback: Person
) -> Record:
    """The user's note on the substitute and its recipient if nothing comes; ``days`` is the range of its age."""
    slots = {"thing": thing.en, "substitute": substitute.value, "fallback": fallback.name}
    fact = Fact("substitute", thing.en, substitute.value)
    return day.letter(name, day.ago(name, days=days), day.user, "Plan B for {thing}", form, slots, fact)


def _branch(facts: Sequence[Fact], thing: str, by: datetime) -> str:
    answers = [fact for fact in facts if fact.kind == "answer" and fact.about == thing and fact.at and fact.at <= by]
    if answers:
        return f"receiver {next(iter(latest(answers, 'answer', thing)))}"
    return f"fallback {next(iter(latest(facts, 'substitute', thing)), '')}"
