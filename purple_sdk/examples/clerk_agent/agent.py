"""A baseline participant: reads the user's list and wishes by rules, and does what it can parse, with no model.

It knows no scenario and no truth, only how such wishes are worded. Everything else stays undone: other wordings,
planning, work in stages, and who may know a thing.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import ClassVar

from proctor_protocol.messages import TurnCompleteMessage
from proctor_settings.config import PurpleAgentConfig
from purple_sdk.agent import BasePurpleAgent
from purple_sdk.examples.clerk_agent.reading import (
    Note,
    cents,
    cents_in,
    clock,
    codes_in,
    days_in,
    last_said,
    minutes_in,
    note_of,
    things_in,
    values_in,
)
from purple_sdk.ues.items import CalendarEvent

_WITHDRAWN = re.compile(r"withdr[ae]w|disregard|void|take this invoice back|forget about", re.I)
_PAID_BACK = re.compile(r"refund|\bback\b", re.I)
_ACCOUNT = re.compile(r"\b[A-Z]{2}\d{9,}\b")
_FOR_ANOTHER = re.compile(r"\b(?:to|let|send|give)\s+[A-Z]\w+\b|whose job")
_NOTICED = (("documents", r"([a-z][\w -]+?) (?:expires|runs out)", 30), ("birthdays", r"(.+?): birthday", 1))
"""Things to point out where the brief has the word: a pattern of subjects, and in how many days at most."""
_NEVER = datetime.max.replace(tzinfo=UTC)

Match = re.Match[str]


@dataclass
class ClerkState:
    """What the agent remembers from turn to turn.

    Attributes:
        words: the word of the report for each point of the list that is settled.
        began: when the first turn was.
        handled: ids of notes, and names of other things, that have been dealt with.
    """

    began: datetime = _NEVER
    words: dict[int, str] = field(default_factory=dict)
    handled: set[str] = field(default_factory=set)


class ClerkAgent(BasePurpleAgent):
    """Does by rules what the user's list asks, as far as they can read it."""

    name: ClassVar[str] = "clerk-agent"
    description: ClassVar[str] = "Works on the user's list by rules, and reports what is done; uses no model."

    state: ClerkState

    def __init__(self, config: PurpleAgentConfig) -> None:
        super().__init__(config)
        self.state = ClerkState()

    async def execute_turn(self) -> TurnCompleteMessage:
        """Do what is due of the list, answer what was asked, and report in the last round."""
        await self._look()
        for number, text in re.findall(r"^(\d+)\. (.+)$", self.brief, re.M):
            for pattern, do in self._skills().items():
                match = re.match(pattern, text)
                if match and int(number) not in self.state.words and (word := await do(match)):
                    self.state.words[int(number)] = word
        await self._point_out()
        for note in self.notes:
            if not note.is_own and note.at > self.state.began and note.id not in self.state.handled:
                await self._answer(note)
        await self._report()
        return self.complete_turn(notes=f"{len(self.state.words)} points settled")

    def _skills(self) -> dict[str, Callable[[Match], Awaitable[str | None]]]:
        return {
            r"Put the label ([\w-]+) on the invoices of .+? \((\S+)\) of ([\d.,]+) euros or more": self._label,
            r"Tell (.+?) by ([\d:]+) the sum of my (.+?) receipts from (.+?) to (.+?) and the numbers": self._add_up,
            r"Find out (.+?) and tell (.+?) by ([\d:]+)": self._find_out,
            r"Remind (.+?) of our appointment (.+?) with the time": self._remind,
            r"If (.+?) sends (.+?) by ([\d:]+), pass it on to (.+?)\. .+?, tell (.+?) after": self._if_sent,
            r"Pass on the consignment numbers of (.+?) as my notes say": self._pass_numbers,
            r"When a vendor's account changes, tell (.+?) the new account .+, tell (.+?) the sender": self._accounts,
        }

    async def _look(self) -> None:
        """Read everything; nothing of it is remembered."""
        self.now = self.current_time
        self.brief = await self.get_user_instructions()
        mails, texts = await self.ues.email.get_state(), await self.ues.sms.query(limit=500)
        contacts = await self.ues_client.find_contacts()
        self.people = {
            contact.name: each.value for contact in contacts for each in contact.identifiers if "@" in each.value
        }
        name_of = {each.value: contact.name for contact in contacts for each in contact.identifiers}
        user = str(mails["user_email_address"])
        items = [*mails["emails"].values(), *texts["messages"]]
        self.notes = sorted((note_of(item, name_of, user) for item in items), key=lambda note: note.at)
        self._things = sorted(set(things_in(self.notes)))
        self._statements = {note.id for note in self.notes if any(things_in([note]))}
        self.state.began = min(self.state.began, self.now)
        past = self.turn_number - 1
        self.step = (self.now - self.state.began) / past if past else timedelta(hours=1)
        rounds = re.search(r"in (\d+) rounds", self.brief)
        self.is_last = bool(rounds) and self.turn_number >= int(rounds[1] if rounds else 0)

    def _is_due(self, by: datetime) -> bool:
        return self.now + self.step > by

    def _stated(self, thing: str) -> str | None:
        return last_said(self.notes, thing, self.now, self.people)

    async def _tell(self, name: str, topic: str, *values: str) -> bool:
        """Write to people (``A and B``); whether all of them have an address, and the mail was sent."""
        to = [self.people.get(each, "") for each in re.split(r", | and ", name)]
        if not all(to) or not await self.may_act():
            return False
        body = f"Hello,\n\n{topic}: {', '.join(values)}\n"
        sent = [await self.ues.email.send(to_addresses=[each], subject=topic, body_text=body) for each in to]
        return all(each.succeeded for each in sent)

    async def _tell_user(self, text: str) -> None:
        if await self.may_act():
            await self.ues.chat.send(role="assistant", content=text)

    async def _label(self, match: Match) -> str | None:
        if not self.is_last:
            return None
        labelled, mails = None, [note for note in self.notes if note.address == match[2]]
        gone = {code for note in mails if _WITHDRAWN.search(note.body) for code in codes_in(note.text)}
        for note in mails:
            is_invoice = _ACCOUNT.search(note.body) and not gone & set(codes_in(note.text))
            if is_invoice and max(cents_in(note.body), default=0) >= cents(match[3]) and await self.may_act():
                await self.ues.email.label([note.id], [match[1]])
                labelled = "done"
        return labelled

    async def _add_up(self, match: Match) -> str | None:
        first, last = (days_in(match[place], self.now)[0] for place in (4, 5))
        kinds, sums = re.split(r",? (?:or|and) (?:my )?|, ", match[3]), dict[str, int]()
        for note in self.notes:
            codes, amounts = codes_in(note.text), cents_in(note.text)
            if not codes or not amounts or not re.search(rf"\b(?:{'|'.join(kinds)})\b", note.text):
                continue
            paid = (days_in(note.body, self.now) or [note.at.date()])[0]
            if _PAID_BACK.search(note.text) and codes[0] in sums:
                del sums[codes[0]]
            elif first <= paid <= last:
                sums[codes[0]] = amounts[0]
        total = f"{sum(sums.values()) / 100:.2f} EUR"
        return "done" if sums and await self._tell(match[1], f"{match[3]} receipts", total, *sums) else None

    async def _find_out(self, match: Match) -> str | None:
        about = [note for note in self.notes if note.is_about(match[1])]
        if not about or not self._is_due(clock(match[3], self.now)):
            return None
        notice = re.search(r"\b[A-Z]{2}-\d{4,5}\b", about[-1].text)
        value = notice[0] if notice else self._stated(match[1])
        sent = value and await self._tell(match[2], match[1], f"notice {value}" if notice else value)
        return None if not sent else "impossible" if notice else "done"

    async def _remind(self, match: Match) -> str | None:
        events = [event for event in await self._events() if event.title == match[2]]
        if not events:
            return None
        at = events[0].start.astimezone(self.now.tzinfo)
        for note in self.notes:
            others = [minutes for minutes in minutes_in(note.body) if minutes != at.hour * 60 + at.minute]
            if note.is_about(match[2]) and not note.is_own and others:
                at = at.replace(hour=others[0] // 60, minute=others[0] % 60)
        is_time = at - timedelta(hours=2) <= self.now <= at - timedelta(minutes=20)
        return "done" if is_time and await self._tell(match[1], match[2], f"{at:%H:%M}") else None

    async def _events(self) -> list[CalendarEvent]:
        return await self.ues_client.get_events_in_range(self.now, self.now + timedelta(days=14))

    async def _if_sent(self, match: Match) -> str | None:
        by, thing = clock(match[3], self.now), match[2]
        for note in self.notes:
            if note.sender == match[1] and note.is_about(thing) and note.at <= by and (codes := codes_in(note.text)):
                return "done" if await self._tell(match[4], thing, codes[-1]) else None
        plans = [codes[-1] for n in self.notes if n.is_own and n.is_about(thing) and (codes := codes_in(n.text))]
        return "done" if self.now >= by and plans and await self._tell(match[5], thing, plans[-1]) else None

    async def _pass_numbers(self, match: Match) -> str | None:
        whom, topic = "", f"{match[1]}, consignment number"
        for note in (note for note in self.notes if note.is_about(match[1])):
            if note.is_own:
                whom = next((text for text, _ in values_in(note.body, "person", self.now, self.people)), whom)
            elif whom and note.at > self.state.began and note.id not in self.state.handled and codes_in(note.text):
                self.state.handled.add(note.id)
                if await self._tell(whom, topic, codes_in(note.text)[0]):
                    self.state.handled.add(topic)
        return "done" if self.is_last and topic in self.state.handled else None

    async def _accounts(self, match: Match) -> str | None:
        known = set(self.people.values())
        for note in self.notes:
            account = _ACCOUNT.search(note.body)
            if not account or not re.search(r"chang|new|bank|no longer|neu|änder", note.text, re.I):
                continue
            if note.at > self.state.began and note.id not in self.state.handled:
                self.state.handled.add(note.id)
                is_known = note.address in known
                await self._tell(match[1 if is_known else 2], note.subject, account[0] if is_known else note.address)
        return "done" if self.is_last else None

    async def _answer(self, note: Note) -> None:
        """Answer a question for things that were stated somewhere."""
        things = [thing for thing in self._things if note.is_about(thing)]
        things = [thing for thing in things if not any(thing in other for other in things if other != thing)]
        values = [f"{thing}: {value}" for thing in things if (value := self._stated(thing))]
        is_question = note.id not in self._statements and not _FOR_ANOTHER.search(note.body)
        if values and is_question and await self._tell(note.sender, "Your question", *values):
            self.state.handled.add(note.id)

    async def _point_out(self) -> None:
        """Tell the user of documents that expire, birthdays tomorrow and appointments that overlap, where wished."""
        for note in self.notes:
            for wish, words, most in _NOTICED:
                named, days = re.search(words, note.subject), days_in(note.body, self.now)
                if wish in self.brief and named and days and 0 < (days[0] - self.now.date()).days <= most:
                    await self._tell_once(f"{wish}: {named[1]}, {days[0]:%A %d %B}")
        events = await self._events() if "overlap" in self.brief else []
        for first, second in pairwise(events):
            if second.start < first.end:
                await self._tell_once(f"{first.title} and {second.title} overlap")

    async def _tell_once(self, text: str) -> None:
        if text not in self.state.handled:
            self.state.handled.add(text)
            await self._tell_user(text)

    async def _report(self) -> None:
        numbers = [int(number) for number in re.findall(r"^(\d+)\. ", self.brief, re.M)]
        if self.is_last and numbers:
            await self._tell_user("\n".join(f"{number}: {self.state.words.get(number, 'open')}" for number in numbers))
