"""Messages to a character, and its replies."""

from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, Field, JsonValue

from proctor.activities.plan import Model, OfSeveral, OfTurn
from proctor.protocol.modalities import Written
from proctor.protocol.recipients import read_recipients
from proctor.protocol.visible import visible
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.provenance import Drafts, ModelUse
from purple_sdk.protocol.readings import bare

Rsvp = Literal["accepted", "declined", "tentative"]


class ThreadEntry(Model):
    """An earlier message of the same thread: its author, time and text."""

    sender: str
    at: AwareDatetime
    text: str


class OutgoingMessage(Model):
    """A message or calendar change of the participant, which may call for a reply.

    * An email or SMS has ``to``, ``cc``, ``bcc`` (addresses or phone numbers), ``subject``, ``body`` and ``thread_id``.
    * A chat message has ``body``, and the conversation as ``thread_id``. The authors are ``assistant`` and ``user``.
    * A calendar change has ``operation`` and the event's state afterwards. ``create`` and ``update`` reach the
      attendees; ``delete`` and ``respond`` call for no reply. An RSVP has ``attendee``, ``response`` and ``comment``.

    ``sender`` is the address of the sender, or of an event's organizer. ``thread`` has the earlier messages, oldest
    first. ``more`` has the other fields of mailbox, phone or calendar, by the simulator's names. Only the participant
    of another role sees ``more``.
    """

    modality: Written
    message_id: str
    thread_id: str | None = None
    sender: str | None = None
    to: list[str] = Field(default_factory=list)
    cc: list[str] = Field(default_factory=list)
    bcc: list[str] = Field(default_factory=list)
    subject: str | None = None
    body: str = ""
    sent_at: AwareDatetime
    operation: Literal["create", "update", "delete", "respond"] | None = None
    event_id: str | None = None
    calendar_id: str | None = None
    title: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    location: str | None = None
    description: str | None = None
    attendees: list[str] = Field(default_factory=list)
    attendee: str | None = None
    response: str | None = None
    comment: str | None = None
    thread: list[ThreadEntry] = Field(default_factory=list)
    more: dict[str, JsonValue] = Field(default_factory=dict, exclude_if=lambda more: not more)

    @property
    def bare_sender(self) -> str:
        """The normalized ``sender``."""
        return bare(self.sender or "")

    @property
    def recipients(self) -> list[str]:
        """The normalized addresses to which the message went. For a calendar event, all invited people."""
        mail = {"to_addresses": self.to, "cc_addresses": self.cc, "bcc_addresses": self.bcc}
        return [bare(address) for address in read_recipients({**mail, "attendees": self.attendees})]

    @property
    def seen(self) -> str:
        """The body as a reader sees it. For an HTML mail, it is the text of the HTML."""
        html = self.more.get("body_html")
        return visible(str(html)) if html else self.body


class CharacterReply(Model):
    """A character's reply, which arrives ``delay_seconds`` after the message; ``text`` is an RSVP's comment."""

    character_id: str
    modality: Written
    text: str
    response: Rsvp | None = None
    delay_seconds: int = Field(ge=0)
    subject: str | None = None


class RespondInput(OfTurn, OfSeveral):
    scenario: BlobRef
    seed: int
    offline: bool
    character_id: str
    message: OutgoingMessage

    @property
    def about(self) -> str:
        return self.character_id


class Responded(Model):
    """A character's reply to a message (None for silence), its model usage, and its drafts."""

    reply: CharacterReply | None = None
    usage: list[ModelUse] = Field(default_factory=list)
    drafts: Drafts = Drafts()
