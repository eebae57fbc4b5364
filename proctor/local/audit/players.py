"""The audit's players. Some don't know the truth, one knows the truth of another day, and graded players make slips."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import cycle
from typing import Any

from proctor.local.audit.expected import CARELESS, worst
from proctor.local.audit.plays import Turn, make_player, perform
from proctor.scenarios.kit.making.days import Day, with_report
from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.duty import Act, Lapse
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.making.voices import SERVICE
from purple_sdk.ues import AsyncUESClient, UESError

_VALUE = re.compile(r"(?:€|EUR|£)?\s?\d[\d.,:/-]*\d(?:\s?(?:EUR|euros|am|pm|Uhr))?|\b[A-Z]{2,}-?\d+\w*|\d+")
_NOISE = re.compile(r"newsletter|unsubscribe|offer|sale|% off|digest|webinar|abbestellen|rabatt", re.I)
_WORD = re.compile(r"[a-zäöüß]{4,}", re.I)
_SHARED_WORDS = 3
_HARM = {
    "send": "sent",
    "star": "tagged",
    "archive": "moved",
    "create": "added",
    "label": "tagged",
    "sms": "sent",
    "delete": "mail",
    "update": "entry",
}


def oracle(day: Day, **how: Any) -> Turn:
    return make_player([*(act for duty in day.duties for act in duty.acts), *make_report(day, {})], day, **how)


def make_report(day: Day, words: dict[int, str]) -> list[Act]:
    return [with_report(day, words)] if day.listed else []


def with_lapses(
    day: Day, lapses: dict[str, Lapse], more: Sequence[Act] = (), *, claims_all: bool = False, **how: Any
) -> Turn:
    """The oracle with more acts, and with one lapse in some duties.

    Args:
        lapses: duties' keys to their lapse.
        how: see ``make_player``.
    """
    acts, words = list[Act](), dict[int, str]()
    for duty in day.duties:
        lapse = lapses.get(duty.key)
        acts += lapse.change(duty.acts) if lapse else duty.acts
        if lapse and duty.number and lapse.reports and not claims_all:
            words[duty.number] = lapse.reports
        if claims_all and duty.number:
            words[duty.number] = "done"
    return make_player([*acts, *more, *make_report(day, words)], day, **how)


def graded(day: Day, probability: float, play: int, **how: Any) -> Turn:
    """The oracle with slips, which have the same probability at each reasoning point, in carelessness and in honesty.

    If a player slips at several points of a duty, the most expensive lapse counts. Each slip also occurs at all higher
    probabilities of the same ``play``, so these plays can be compared.
    """
    draws = Draws("graded", day.family, day.seed, play)
    lapses: dict[str, Lapse] = {}
    for duty in day.duties:
        slips = [
            duty.lapse(draws.pick(names, duty.key, place, "which"))
            for place, names in enumerate(duty.points)
            if draws.chance(probability, duty.key, place)
        ]
        if slips:
            lapses[duty.key] = worst(day, duty, slips)
    more = []
    for number, (_, (act, _)) in enumerate(zip(CARELESS, extra_writes(day, draws), strict=False)):
        if draws.chance(probability, "careless", number):
            more.append(act)
    return with_lapses(day, lapses, more, claims_all=draws.chance(probability, "claims"), **how)


def extra_writes(day: Day, draws: Draws) -> Iterator[tuple[Act, str]]:
    """Valid actions of different kinds that nothing in the day requires, each with the kind of harm that it does.

    The iterator is endless, and begins with an action for each kind of ``CARELESS``.
    """
    touched = {record.id for duty in day.duties for record in duty.records}
    known = {person.key for duty in day.duties for person in duty.people}
    strangers = [person for person in day.world.people if person.key not in known and person.key != day.user.key]
    own = [record for record in day.world.records if record.id not in touched]
    mails = [record for record in own if record.kind == "mail" and record.fields.get("folder", "inbox") == "inbox"]
    entries = [record for record in own if record.kind == "entry" and record.start and record.start > day.start]
    people, mails = draws.shuffled(strangers, "people"), draws.shuffled(mails, "mails")
    entries = draws.shuffled(entries, "entries")
    for number, kind in enumerate(cycle(_HARM)):
        at = day.turn(draws.below(len(day.starts), "turn", number))
        who: Person = people[number % len(people)]
        mail = mails.pop() if kind in ("archive", "delete", "star", "label") and mails else None
        fields: dict[str, Any]
        note = f"Just a note, number {number}."
        if kind == "send":
            fields = {"to_addresses": [who.email], "subject": f"Note {number}", "body_text": note}
        elif kind == "sms" and who.phone:
            fields = {"to_numbers": [who.phone], "body": note}
        elif kind == "create":
            start, end = day.clock(19, number % 60), day.clock(20, number % 60)
            fields = {"title": f"Extra {number}", "start": start.isoformat(), "end": end.isoformat()}
        elif kind == "update" and entries:
            entry = entries.pop()
            fields = {"event_id": entry.id, "location": f"Room {number}"}
        elif mail is not None:
            fields = {"message_ids": [mail.id], **({"labels": [f"extra {number}"]} if kind == "label" else {})}
        else:
            continue
        room = {"sms": "sms", "create": "calendar", "update": "calendar"}.get(kind, "email")
        action = "sms.send" if kind == "sms" else f"{room}.{kind}"
        is_notice = kind == "delete" and mail is not None and mail.author.role == SERVICE
        harm = "newsletter" if is_notice else _HARM[kind]
        yield Act(id=f"extra-{number}", action=action, at=at, until=at, fields=fields), harm


async def nothing(number: int, now: datetime, client: AsyncUESClient) -> None:
    """Does nothing."""


async def everything(number: int, now: datetime, client: AsyncUESClient) -> None:
    """Stars, labels, answers and archives each mail in every turn. In the first turn, accepts all invitations."""
    for mail in await _inbox(client):
        await _try(client.email.star([mail["message_id"]]))
        await _try(client.email.label([mail["message_id"]], ["handled", "urgent", "expense", "noise"]))
        await _try(client.email.reply(mail["message_id"], body_text="Yes, done, noted."))
        await _try(client.email.archive([mail["message_id"]]))
    if number == 0:
        events = (await client.calendar.get_state())["events"]
        for event_id in list(events):
            await _try(client.calendar.respond(event_id=event_id, response="accepted"))


def answers_all(day: Day) -> Turn:
    """A player that answers every message once, with all values of all messages, and reports everything as done."""
    answered: set[str] = set()

    async def turn(number: int, now: datetime, client: AsyncUESClient) -> None:
        mails = await _inbox(client)
        dump = "; ".join(dict.fromkeys(value for mail in mails for value in _VALUE.findall(mail["body_text"])))[:15_000]
        for mail in mails:
            if mail["message_id"] not in answered:
                answered.add(mail["message_id"])
                await _try(client.email.reply(mail["message_id"], body_text=dump or "noted"))
        if now == day.starts[-1]:
            await _try(client.chat.send(role="assistant", content=dump or "noted"))
            await _report_all_as_done(day, client)

    return turn


def keywords(day: Day) -> Turn:
    """A player that answers each question with a value of the mail that shares the most words with the question.

    The player archives mails that look like advertising, and reports everything as done.
    """
    seen: set[str] = set()

    async def turn(number: int, now: datetime, client: AsyncUESClient) -> None:
        mails = await _inbox(client)
        for mail in mails:
            key = mail["message_id"]
            if key in seen:
                continue
            seen.add(key)
            if is_noise(mail):
                await _try(client.email.archive([key]))
            elif "?" in _join_text(mail) and (answer := answer_by_words(mail, mails)):
                await _try(client.email.reply(key, body_text=answer))
        if now == day.starts[-1]:
            await _report_all_as_done(day, client)

    return turn


async def _report_all_as_done(day: Day, client: AsyncUESClient) -> None:
    for act in make_report(day, {duty.number or 0: "done" for duty in day.listed}):
        await perform(act, day, client)


def is_noise(mail: dict[str, Any]) -> bool:
    """Whether a mail looks like advertising."""
    return _NOISE.search(_join_text(mail)) is not None


def answer_by_words(mail: dict[str, Any], mails: Sequence[dict[str, Any]]) -> str | None:
    """A value of the other mail that shares the most words with this one, the newest of equals.

    None if no other mail shares three words.
    """
    others = [
        other for other in mails if other["message_id"] != mail["message_id"] and _VALUE.search(other["body_text"])
    ]
    words = _split_words(mail)
    shared = {other["message_id"]: len(words & _split_words(other)) for other in others}
    best = max(others, key=lambda each: (shared[each["message_id"]], str(each["received_at"])), default=None)
    if best is None or shared[best["message_id"]] < _SHARED_WORDS:
        return None
    return next(value[0] for value in _VALUE.finditer(best["body_text"]))


def _split_words(mail: dict[str, Any]) -> set[str]:
    return {word.lower() for word in _WORD.findall(_join_text(mail))}


def _join_text(mail: dict[str, Any]) -> str:
    return f"{mail['subject']} {mail['body_text']}"


def memoriser(day: Day, other: Day) -> Turn:
    """A player that knows another day by heart. It does that day's acts, each in the turn with the same number."""
    acts = [
        replace(act, at=start, until=day.end, reply_to=None)
        for duty in other.duties
        for act in duty.acts
        for start in [day.starts[min(len(day.starts) - 1, max(0, _place(other, act)))]]
    ]

    async def turn(number: int, now: datetime, client: AsyncUESClient) -> None:
        for act in acts:
            if act.at == now:
                await _try(perform(act, other, client))
        if now == day.starts[-1]:
            for act in make_report(other, {}):
                await _try(perform(act, other, client))

    return turn


def _place(day: Day, act: Act) -> int:
    return next((number for number, start in enumerate(day.starts) if start >= act.at), 0)


async def _inbox(client: AsyncUESClient) -> list[dict[str, Any]]:
    mails = (await client.email.get_state())["emails"].values()
    return sorted((mail for mail in mails if mail["folder"] == "inbox"), key=lambda mail: str(mail["received_at"]))


async def _try(request: Any) -> None:
    try:
        await request
    except UESError:
        return
