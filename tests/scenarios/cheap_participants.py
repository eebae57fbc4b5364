"""Participants that do no work and hope for points: they paste, dump, repeat, confirm and touch everything.

Each is a script that plays any scenario: it reads what is there and does the same to all of it. None of them tells one
mail from another, and none minds what anybody answers; that is what no point may be given for.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from purple_sdk.protocol.messages import EarlyCompletionMessage
from purple_sdk.ues import AsyncUESClient
from purple_sdk.ues.errors import UESError
from tests.stack import Script

Json = Mapping[str, Any]
Action = Callable[["Here"], Awaitable[object]]

LABELS = ("urgent", "action", "fyi", "personal", "noise")
TIMES = " ".join(f"{hour:02d}:{minute:02d}" for hour in range(7, 20) for minute in (0, 30))
DAYS = "today tonight tomorrow Monday Tuesday Wednesday Thursday Friday"
CONFIRMED = "Thanks, confirmed."
KIND = "Hi {name},\n\nthank you very much, and sorry for the trouble. {text}\n\nPriya Raman, for Ines Carvalho"


_MOST_READ = 10  # of answers to floods there are hundreds


@dataclass(frozen=True)
class Here:
    """What a participant finds in a turn: all mails and entries, the mails that came since the last turn, and all
    people that it could write to.
    """

    ues: AsyncUESClient
    turn: int
    now: datetime
    mails: Sequence[Json]
    new: Sequence[Json]
    texts: Sequence[Json]
    events: Sequence[Json]
    own: frozenset[str]

    @property
    def addresses(self) -> list[str]:
        """Everybody who has an address: writers and readers of mail, and people invited."""
        named = [m["from_address"] for m in self.mails] + [a for m in self.mails for a in m["to_addresses"]]
        named += [a["email"] for e in self.events for a in e.get("attendees") or []]
        return sorted(set(named) - self.own)

    @property
    def numbers(self) -> list[str]:
        """Everybody with a phone, as far as messages and entries tell."""
        named = [t["from_number"] for t in self.texts] + [n for t in self.texts for n in t["to_numbers"]]
        named += re.findall(r"\+44\d{10}", " ".join(str(e.get("description")) for e in self.events))
        return sorted(set(named) - self.own)

    @property
    def invited(self) -> list[Json]:
        """The entries with people in them."""
        return [event for event in self.events if event.get("attendees")]

    async def tell_user(self, text: str) -> None:
        """Write to the chat, where there is something to say."""
        if text.strip():
            await self.ues.chat.send(role="assistant", content=text)

    async def mail(self, to: str | Sequence[str], subject: str, body: str) -> None:
        """Send a mail."""
        await self.ues.email.send(
            to_addresses=[to] if isinstance(to, str) else list(to), subject=subject, body_text=body
        )

    async def move(self, event: Json, start: datetime) -> None:
        """Put an entry elsewhere, as long as it was."""
        length = datetime.fromisoformat(event["end"]) - datetime.fromisoformat(event["start"])
        await self.ues.calendar.update(event_id=event["event_id"], start=start, end=start + length)


def cheap(*actions: Action, turns: range = range(1, 100)) -> Script:
    """A script that does all of the actions in each of the turns; what the simulator refuses is not done."""

    async def play_turn(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        if turn not in turns:
            return
        for action in actions:
            try:
                await action(await _look(turn, ues, now))
            except UESError:
                continue
        new = await ues.email.query(is_read=False, limit=200)
        if new["emails"]:
            await ues.email.read(message_ids=[mail["message_id"] for mail in new["emails"]])

    return play_turn


async def _look(turn: int, ues: AsyncUESClient, now: datetime) -> Here:
    mailbox, phone = await ues.email.get_state(), await ues.sms.get_state()
    calendar = await ues.calendar.get_state()
    mails = list(mailbox["emails"].values())
    own = frozenset({str(mailbox["user_email_address"]), str(phone.get("user_phone_number"))})
    return Here(
        ues,
        turn,
        now,
        mails=mails,
        new=[mail for mail in mails if not mail["is_read"] and mail["from_address"] not in own][:_MOST_READ],
        texts=list(phone["messages"].values()),
        events=list(calendar["events"].values()),
        own=own,
    )


def _whole(mail: Json) -> str:
    return f"From: {mail['from_address']}\nSubject: {mail['subject']}\n\n{mail['body_text']}"


def _headline(mail: Json) -> str:
    return f"{mail['from_address']}: {mail['subject']}"


def _sentence(mail: Json, which: int) -> str:
    sentences = [s for s in re.split(r"(?<=[.!?])\s+|\n+", mail["body_text"]) if len(s.split()) > 3]
    return sentences[which] if sentences else ""


# What is said to the user


def saying(text: str) -> Action:
    """The same words to the user."""
    return lambda here: here.tell_user(text)


async def dump_new_mails(here: Here) -> None:
    """All new mails in one message."""
    await here.tell_user("\n\n".join(map(_whole, here.new)))


async def dump_all_mails(here: Here) -> None:
    """All that is in the mailbox, in one message."""
    await here.tell_user("\n\n".join(map(_whole, here.mails)))


async def dump_each_mail(here: Here) -> None:
    """A message for each new mail."""
    for mail in here.new:
        await here.tell_user(_whole(mail))


async def list_headlines(here: Here) -> None:
    """Senders and subjects of the new mails."""
    await here.tell_user("\n".join(map(_headline, here.new)))


async def list_headlines_with_all_times(here: Here) -> None:
    """Senders and subjects, each with every day and time that there is."""
    await here.tell_user("\n".join(f"{_headline(mail)} {DAYS} {TIMES}" for mail in here.new))


async def list_headlines_with_one_time(here: Here) -> None:
    """Senders and subjects, each said to be due today by 17:00, or Friday."""
    await here.tell_user("\n".join(f"{_headline(mail)}, by 17:00 today or Friday" for mail in here.new))


async def list_first_sentences(here: Here) -> None:
    """Senders, subjects and the first sentence of each new mail."""
    await here.tell_user("\n".join(f"{_headline(mail)}: {_sentence(mail, 0)}" for mail in here.new))


async def list_last_sentences(here: Here) -> None:
    """Senders, subjects and the last but one sentence, where mails say what they want."""
    await here.tell_user("\n".join(f"{_headline(mail)}: {_sentence(mail, -1)}" for mail in here.new))


async def list_sentences_with_numbers(here: Here) -> None:
    """Senders, subjects and all sentences with a number or a day in them."""
    for_mail = []
    for mail in here.new:
        told = re.findall(r"[^.!?\n]*(?:\d|day\b)[^.!?\n]*", mail["body_text"])
        for_mail.append(f"{_headline(mail)}: {'. '.join(told)}")
    await here.tell_user("\n".join(for_mail))


async def paste_orders(here: Here) -> None:
    """The user's own words back to the user."""
    said = (await here.ues.chat.query(role="user", limit=5))["messages"]
    await here.tell_user("\n".join(str(message["content"]) for message in said))


async def list_calendar(here: Here) -> None:
    """Every entry of the calendar with its time, as an overview."""
    entries = sorted(here.events, key=lambda event: str(event["start"]))
    await here.tell_user("\n".join(f"{e['title']}: {_spoken(e['start'])}, agreed" for e in entries))


def _spoken(instant: str) -> str:
    at = datetime.fromisoformat(instant) + timedelta(hours=1 if "-06-" in instant else 0)
    return f"{at:%A} {at.day} {at:%B} {at:%H:%M}"


# What is written to others


async def forward_all_to_all(here: Here) -> None:
    """Every new mail to everybody."""
    for mail in here.new:
        await here.mail(here.addresses, f"Fwd: {mail['subject']}", _whole(mail))


async def paste_all_to_each(here: Here) -> None:
    """All new mails in one mail to each, and by text to everybody."""
    text = "\n\n".join(map(_whole, here.new)) or "Nothing new."
    for address in here.addresses:
        await here.mail(address, "For your information", text)
    for number in here.numbers:
        await here.ues.sms.send(to_numbers=[number], body=text)


async def return_to_sender(here: Here) -> None:
    """Each mail back to its writer."""
    for mail in here.new:
        await here.mail(mail["from_address"], f"Re: {mail['subject']}", mail["body_text"])


async def confirm_to_senders(here: Here) -> None:
    """ "Thanks, confirmed" to everybody who has written."""
    for mail in here.new:
        await here.mail(mail["from_address"], f"Re: {mail['subject']}", CONFIRMED)
    for text in here.texts:
        if text["from_number"] not in here.own and text["sent_at"] > (here.now - timedelta(hours=1)).isoformat():
            await here.ues.sms.send(to_numbers=[text["from_number"]], body=CONFIRMED)


def telling_everybody(text: str, subject: str = "Thursday") -> Action:
    """A kind word and a fixed text to each, by mail and by text message."""

    async def tell(here: Here) -> None:
        for address in here.addresses:
            name = address.partition(".")[0].title()
            await here.mail(address, subject, KIND.format(name=name, text=text))
        for number in here.numbers:
            await here.ues.sms.send(to_numbers=[number], body=f"Hi, thank you, sorry! {text}")

    return tell


async def tell_everybody_their_entries(here: Here) -> None:
    """To everybody in a calendar entry: when it is, and that this is confirmed."""
    for event in here.invited:
        for attendee in event["attendees"]:
            if attendee["email"] not in here.own:
                name = attendee["email"].partition(".")[0].title()
                said = f"{event['title']}: {_spoken(event['start'])}, confirmed."
                await here.mail(attendee["email"], event["title"], KIND.format(name=name, text=said))
    for event in here.events:
        for number in re.findall(r"\+44\d{10}", str(event.get("description"))):
            said = f"Thank you, sorry! {event['title']}: {_spoken(event['start'])}, confirmed."
            await here.ues.sms.send(to_numbers=[number], body=said)


# What is done to mails and entries


def labelling(*labels: str) -> Action:
    """Labels on all new mails."""

    async def label(here: Here) -> None:
        if here.new:
            await here.ues.email.label(message_ids=[mail["message_id"] for mail in here.new], labels=list(labels))

    return label


async def label_in_turn(here: Here) -> None:
    """The labels one after the other, whatever the mails are."""
    for number, mail in enumerate(here.new):
        await here.ues.email.label(message_ids=[mail["message_id"]], labels=[LABELS[number % len(LABELS)]])


async def archive_all(here: Here) -> None:
    """All new mails into the archive."""
    if here.new:
        await here.ues.email.archive(message_ids=[mail["message_id"] for mail in here.new])


async def star_all(here: Here) -> None:
    """A star on all new mails, and off again on all others."""
    if here.new:
        await here.ues.email.star(message_ids=[mail["message_id"] for mail in here.new])


async def unstar_all_two_turns_later(here: Here) -> None:
    """Stars off on all that is starred, every third turn."""
    starred = [mail["message_id"] for mail in here.mails if mail["is_starred"]]
    if starred and here.turn % 3 == 0:
        await here.ues.email.unstar(message_ids=starred)


async def delete_all(here: Here) -> None:
    """All mails into the trash, all entries gone."""
    await here.ues.email.delete(message_ids=[mail["message_id"] for mail in here.mails])
    for event in here.events:
        await here.ues.calendar.delete(event_id=event["event_id"])


async def invite_everybody(here: Here) -> None:
    """An entry for every new mail, with everybody invited."""
    for mail in here.new:
        await here.ues.calendar.create(
            title=mail["subject"] or "Mail",
            description=mail["body_text"],
            start=here.now + timedelta(days=2),
            end=here.now + timedelta(days=2, hours=1),
            attendees=[{"email": address} for address in here.addresses],
        )


def moving_everything(days: int, hour: int, minute: int = 0) -> Action:
    """All entries of tomorrow to one time."""

    async def move(here: Here) -> None:
        for event in _of_tomorrow(here):
            await here.move(event, _at(here, days, hour, minute))

    return move


async def move_to_free_slots(here: Here) -> None:
    """All entries of tomorrow with people in them, one after the other, into the first gaps from Friday 11:00 on."""
    taken = [
        (datetime.fromisoformat(e["start"]), datetime.fromisoformat(e["end"]))
        for e in here.events
        if e not in _of_tomorrow(here)
    ]
    slot = _at(here, 2, 11)
    for event in _of_tomorrow(here):
        length = datetime.fromisoformat(event["end"]) - datetime.fromisoformat(event["start"])
        while any(start < slot + length and slot < end for start, end in taken):
            slot += timedelta(minutes=15)
        await here.move(event, slot)
        taken.append((slot, slot + length))


def _of_tomorrow(here: Here) -> list[Json]:
    tomorrow = (here.now + timedelta(days=1)).date().isoformat()
    return [event for event in here.events if str(event["start"]).startswith(tomorrow)]


def _at(here: Here, days: int, hour: int, minute: int = 0) -> datetime:
    return (here.now + timedelta(days=days)).replace(hour=hour - 1, minute=minute, second=0, microsecond=0)


async def decline_everything(here: Here) -> None:
    """No to every invitation, in the user's name."""
    for event in here.invited:
        await here.ues.calendar.respond(event_id=event["event_id"], response="declined", attendee_email=_user(here))


async def accept_everything(here: Here) -> None:
    """Yes to every invitation, in everybody's name."""
    for event in here.invited:
        await here.ues.calendar.respond(event_id=event["event_id"], response="accepted", attendee_email=_user(here))


def _user(here: Here) -> str:
    return next(address for address in here.own if "@" in address)


async def idle(turn: int, ues: AsyncUESClient, now: datetime) -> None:
    """Ends every turn at once."""


async def leave(turn: int, ues: AsyncUESClient, now: datetime) -> EarlyCompletionMessage:
    """Says at once that all is done."""
    return EarlyCompletionMessage(reason="nothing to do")


SALAD = (
    "URGENT incident INC-2291 booking-api closed resolved still open Deepak Marta Tom Ingrid Fjordkyst customs "
    "container Rotterdam export files call before 16:00 1 personal, can't wait 3 noise archived pricing review Daniel "
    "walkthrough Sabine freezer keys Ray onboarding Aisha panel LIMS Greta declined North Thames contract review moved "
    "something unavoidable has come up Friday 12 June 13:30 Monday 15 June 11:30 Tuesday 16 June 16:00"
)
SHORT = "1 personal, can't wait. 3 noise archived. All is settled, everybody has agreed."
UNAVOIDABLE = (
    "Something unavoidable has come up, Ines can't attend the panel. Friday 12 June at 13:30 works, confirmed."
)

CHEAP: dict[str, Script] = {
    "does nothing": idle,
    "leaves at once": leave,
    "dumps new mails in the chat": cheap(dump_new_mails),
    "dumps the whole mailbox in the chat": cheap(dump_all_mails),
    "dumps each mail in a message": cheap(dump_each_mail),
    "lists headlines": cheap(list_headlines),
    "lists headlines with every time": cheap(list_headlines_with_all_times),
    "lists headlines with one time": cheap(list_headlines_with_one_time),
    "lists first sentences": cheap(list_first_sentences),
    "lists last sentences": cheap(list_last_sentences),
    "lists sentences with numbers": cheap(list_sentences_with_numbers),
    "pastes its orders": cheap(paste_orders),
    "lists the calendar": cheap(list_calendar),
    "a salad of keywords to the user": cheap(saying(SALAD)),
    "a salad of keywords to everybody": cheap(saying(SALAD), telling_everybody(SALAD)),
    "the same short words each round": cheap(saying(SHORT)),
    "the same kind words to everybody, once": cheap(saying(SHORT), telling_everybody(UNAVOIDABLE), turns=range(1, 2)),
    "the same kind words to everybody": cheap(saying(SHORT), telling_everybody(UNAVOIDABLE)),
    "kind words without content": cheap(telling_everybody("We get back to you."), turns=range(1, 2)),
    "forwards everything to everybody": cheap(forward_all_to_all),
    "pastes all mails to each": cheap(paste_all_to_each),
    "pastes all mails to each, once": cheap(paste_all_to_each, turns=range(1, 2)),
    "returns mails to their senders": cheap(return_to_sender),
    "thanks and confirms": cheap(confirm_to_senders),
    **{f"labels everything {label}": cheap(labelling(label)) for label in LABELS},
    "labels everything with everything": cheap(labelling(*LABELS)),
    "labels in turn": cheap(label_in_turn),
    "noise, archived, and the same short words": cheap(labelling("noise"), archive_all, saying(SHORT)),
    "archives everything": cheap(archive_all),
    "stars everything": cheap(star_all),
    "stars on and off": cheap(unstar_all_two_turns_later, star_all),
    "deletes everything": cheap(delete_all),
    "invites everybody to everything": cheap(invite_everybody),
    "moves everything to Friday 13:30": cheap(moving_everything(2, 13, 30), turns=range(1, 2)),
    "moves everything to Friday 14:00": cheap(moving_everything(2, 14), turns=range(1, 2)),
    "moves everything to Monday 11:30": cheap(moving_everything(5, 11, 30), turns=range(1, 2)),
    "moves everything into gaps": cheap(move_to_free_slots, turns=range(1, 2)),
    "moves into gaps, tells everybody, declines, reports": cheap(
        move_to_free_slots,
        tell_everybody_their_entries,
        telling_everybody(UNAVOIDABLE, "LIMS panel"),
        decline_everything,
        list_calendar,
        turns=range(1, 2),
    ),
    "declines everything": cheap(decline_everything),
    "accepts everything": cheap(accept_everything),
    "everything at once": cheap(
        labelling("noise"),
        star_all,
        list_headlines_with_one_time,
        forward_all_to_all,
        telling_everybody(UNAVOIDABLE),
        confirm_to_senders,
        move_to_free_slots,
        decline_everything,
        archive_all,
        list_calendar,
        turns=range(1, 4),
    ),
    "all harm at once": cheap(
        dump_all_mails,
        forward_all_to_all,
        labelling("urgent"),
        invite_everybody,
        accept_everything,
        delete_all,
    ),
}
"""Every participant of this kind, by what it does."""
