"""The messages that reach a character, and its replies."""

from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, Field, JsonValue

from proctor.activities.plan import Model, OfSeveral, OfTurn
from proctor.protocol.modalities import Written
from proctor.protocol.visible import visible
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.provenance import Drafts, ModelUse

Rsvp = Literal["accepted", "declined", "tentative"]


class ThreadEntry(Model):
    """An earlier message of the same thread: who wrote it, when, and what."""

    sender: str
    at: AwareDatetime
    text: str


class OutgoingMessage(Model):
    """Something that the participant sent and that may call for a reply.

    For an email or SMS: ``to``, ``cc``, ``bcc`` (addresses or phone numbers), ``subject``, ``body``, ``thread_id``.
    For the chat: ``body``, and the conversation as ``thread_id``; its authors are ``assistant`` and ``user``.
    For the calendar: ``operation`` (create or update reach the attendees; delete and respond call for no reply) and
    the event's state afterwards, an RSVP has ``attendee``, ``response`` and ``comment``.
    ``sender`` is the address that it was sent from (of an event: its organizer).
    ``thread`` has the earlier messages, oldest first. ``more`` is what mailbox, phone or calendar show of it besides,
    by the simulator's names: only the participant of another role sees that.
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
    def seen(self) -> str:
        """Its body as a reader sees it: of a mail with HTML, what the HTML shows."""
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
    """A character's reply to a message, None for silence, the model use that it cost, and its drafts."""

    reply: CharacterReply | None = None
    usage: list[ModelUse] = Field(default_factory=list)
    drafts: Drafts = Drafts()
