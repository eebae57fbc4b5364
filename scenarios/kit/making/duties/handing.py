"""Hand a task to the right colleague, check the result, have it corrected, and report the final result."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.inviting import Statement, statement_records
from proctor.scenarios.kit.making.duties.passing import Office
from proctor.scenarios.kit.making.duties.scheduling import exchanged
from proctor.scenarios.kit.making.duty import Act, Duty, forgotten, message_check, tell, to_write_to, values_of
from proctor.scenarios.kit.making.forms import forms, phrases
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

Decoy = tuple[datetime, Person, Phrase, Value]


def hand_over(
    day: Day,
    key: str,
    *,
    office: Office,
    job: Phrase,
    count: Phrase,
    unit: Phrase,
    references: Sequence[Statement],
    numbers: Sequence[Statement],
    decoys: Sequence[Decoy] = (),
    reader: Person,
    turns: tuple[int, int, int],
) -> Duty:
    """The user wants a colleague to do a job. The colleague's first booking has a wrong number.

    The colleague's answers are scripted: a confirmation for a wrong number, then one for the right number.

    Args:
        office: the office for such jobs; no other duty writes to its people.
        job: the thing to book: ``the coach for the open day``.
        count: ``the number of seats for the open day``; its ``unit`` is ``seats``.
        references: statements of the job's reference (codes).
        numbers: statements of the count.
        decoys: references of other jobs.
        reader: the person who gets the final confirmation number; no other duty writes to them.
        turns: the last turns (0 is the first) for the handover, the correction and the message to the reader.
    """
    draws, worker = day.draws.of("hand over", key), office.person
    right_ref, right_number = references[-1][2], numbers[-1][2]
    wrong_refs, wrong_numbers = values_of(references[:-1], decoys), values_of(numbers[:-1])
    others = {int(value.value) for value in (right_number, *wrong_numbers)}
    bad = next(each for n in range(99) if (each := draws.between(11, 95, "bad", n)) not in others)
    first, final = (Value("code", f"{draws.pick(_LETTERS, 'code')}{number}") for number in draws.some(
        range(10_000, 100_000, 7), 2, "confirmations"))  # fmt: skip
    thing = Phrase(f"the reference for {job.en}", f"die Referenz ({job.de})")
    records = [
        *statement_records(day, f"{key}-ref", thing, references, decoys),
        *statement_records(day, f"{key}-count", count, numbers),
        *office.records(day, key),
    ]
    known = max(office.latest, *(when for when, *_ in (*references, *numbers)))
    at = day.seen(known)
    starts = [day.starts[turn] for turn in turns]
    sentence = f"{worker.name} got the job with its reference by {starts[0]:%H:%M}"
    handed = message_check(f"{key}.handed", 4, sentence, worker, [right_ref], wrong_refs, before=starts[0])
    sentence = f"{worker.name} got the right number with the confirmation by {starts[1]:%H:%M}"
    mended = message_check(
        f"{key}.corrected", 4, sentence, worker, [first, right_number], before=starts[1], mentioned=True
    )
    sentence = f"{reader.name} got the final confirmation number by {starts[2]:%H:%M}"
    ended = message_check(f"{key}.result", 4, sentence, reader, [final], before=starts[2])
    # Each step waits for the result of the turn before.
    after = [day.starts[turn + 1] for turn in turns[:2]]
    acts = [
        tell(f"{key}.1", at, starts[0], worker, [right_ref], job.en, handed.id),
        tell(f"{key}.2", after[0], starts[1], worker, [first, right_number], job.en, mended.id),
        tell(f"{key}.3", after[1], starts[2], reader, [final], job.en, ended.id),
    ]
    every = frozenset({handed.id, mended.id, ended.id})
    later = {mended.id, ended.id}
    false_refs = [replace(acts[0], values=(value,)) for value in wrong_refs]
    false_numbers = [replace(acts[1], values=(first, value)) for value in wrong_numbers]
    lapses = [
        forgotten(*acts),
        exchanged("believes the first result", [acts[0], replace(acts[2], values=(first,))], later),
        acts[2].instead(name="result not sent"),
        *(exchanged(f"handed to {who.first}", [replace(acts[0], to=who)], every, ["sent"]) for who in office.others),
        *(exchanged(f"wrong reference {n}", [act], every) for n, act in enumerate(false_refs, start=1)),
        *(exchanged(f"wrong number {n}", [acts[0], act], later) for n, act in enumerate(false_numbers, start=1)),
        acts[2].late(next((start for start in day.starts if start > starts[2]), day.starts[-1]))
        if day.starts[-1] > starts[2]
        else acts[1].instead(name="not corrected"),
    ]
    named = Duty.each_named(lapses, "handed", "wrong")
    people = {person.name: person for person in (worker, *office.others)}

    def enact(answer: str) -> list[Act]:
        name, ref, number = answer.split("/")
        mending = replace(acts[1], to=people[name], values=(first, Value("number", number)))
        return [replace(acts[0], to=people[name], values=(Value("code", ref),)), mending, acts[2]]

    duty = Duty(
        key=key,
        title=f"Have {job.en} booked, and the mistake in it corrected",
        dimension="accuracy",
        brief=_SAY["brief"][0].format(job=job.en, task=office.task.en, count=count.en, reader=reader.name, due=starts),
        checks=[handed, mended, ended],
        explains=to_write_to(worker, reader, about=records),
        acts=acts,
        solve=lambda facts: office.solve_with(facts, thing.en, count.en),
        answers=frozenset({f"{worker.name}/{right_ref.value}/{right_number.value}"}),
        records=records,
        lapses=lapses,
        points=[("forgotten",), ("believes the first result",), *named],
        candidates=(
            *(f"{name}/{right_ref.value}/{right_number.value}" for name in people),
            *(f"{worker.name}/{ref.value}/{right_number.value}" for ref in wrong_refs),
            *(f"{worker.name}/{right_ref.value}/{number.value}" for number in wrong_numbers),
        ),
        enact=enact,
        people=(worker, reader, *office.others),
        replies={worker.key: _replies(day, key, worker, job, unit, right_ref, right_number, str(bad), first, final)},
        knows={
            worker.key: f"You book {job.en} (reference {right_ref.value}), at first wrongly for {bad} {unit.en}, "
            f"confirmation {first.value}. To the person who quotes {first.value} and {right_number.value} you send the "
            f"corrected confirmation {final.value}, and to no one else.",
            reader.key: f"You wait for the final confirmation number of {job.en}.",
        },
    )
    return day.add(duty)


def _replies(
    day: Day,
    key: str,
    worker: Person,
    job: Phrase,
    unit: Phrase,
    ref: Value,
    number: Value,
    bad: str,
    first: Value,
    final: Value,
) -> list[dict[str, Any]]:
    """The colleague's scripted replies: a corrected booking, a wrong booking, or a question for the reference."""
    slots = {"job": job.by(worker), "unit": unit.by(worker), "bad": bad, "right": number.value, "ref": ref.value,
             "first": first.value, "final": final.value, "me": worker.first}  # fmt: skip
    corrected, booked, asked = (
        day.draws.pick(_SAY[f"{worker.language}.{kind}"], "hand over", key, kind).format(**slots)
        for kind in ("corrected", "booked", "asked")
    )
    early, latest_ = {"pattern": _make_pattern(first.value)}, {"pattern": _make_pattern(final.value)}
    # A message that quotes the last reply gets no answer, so no conversation runs on and on.
    return [
        {"all": [early, {"pattern": rf"(?:^|\D){number.value}(?:$|\D)"}], "none": [latest_], "reply": corrected},
        {"pattern": _make_pattern(ref.value), "none": [early, latest_], "reply": booked},
        {"pattern": ".", "none": [early, latest_, {"pattern": "thank|danke"}], "reply": asked},
    ]


def _make_pattern(code: str) -> str:
    """A pattern for a code with any spacing."""
    return r"[\s-]*".join(char for char in code if char.isalnum())


_LETTERS = ("BK", "CF", "DR", "HN", "KV", "LT", "MZ", "PQ", "RS", "TW", "VX", "WB")


@dataclass(frozen=True)
class Trade:
    """Bookings of a colleague: the things, their unit, and the colleague's task."""

    thing: Phrase
    unit: Phrase
    task: Phrase

    def job(self, occasion: Phrase) -> Phrase:
        """The thing for an occasion."""
        return Phrase(f"{self.thing.en} for {occasion.en}", f"{self.thing.de}, Anlass: {occasion.de}")

    def count(self, occasion: Phrase) -> Phrase:
        """The number of units for an occasion."""
        return Phrase(f"the number of {self.unit.en} for {occasion.en}", f"die Anzahl {self.unit.de} ({occasion.de})")


TRADES = tuple(map(Trade, phrases(__file__, "things"), phrases(__file__, "units"), phrases(__file__, "tasks")))
"""Things that are booked for many people."""
