"""The items of a user's environment, typed: emails, appointments, text messages, chat messages, contacts.

Additional fields of a server are kept. Missing fields have a default, so answers of other servers can be read too.
"""

from typing import Any, TypeVar

from pydantic import Field, ValidationError

from purple_sdk.protocol.readings import chat_text
from purple_sdk.ues._reading import Instant, UESAnswer
from purple_sdk.ues.errors import UnexpectedAnswerError


class Email(UESAnswer):
    """One email; ``folder`` is ``inbox``, ``sent``, ``archive``, ``trash``, ... ."""

    message_id: str
    thread_id: str = ""
    from_address: str
    to_addresses: list[str] = Field(default_factory=list)
    cc_addresses: list[str] = Field(default_factory=list)
    reply_to_address: str | None = None
    subject: str = ""
    body_text: str = ""
    sent_at: Instant | None = None
    received_at: Instant | None = None
    is_read: bool = False
    is_starred: bool = False
    priority: str = "normal"
    folder: str = "inbox"
    labels: list[str] = Field(default_factory=list)


class Attendee(UESAnswer):
    """A person who was invited; ``response`` is ``needs-action``, ``accepted``, ``declined`` or ``tentative``."""

    email: str
    display_name: str | None = None
    optional: bool = False
    response: str = "needs-action"
    comment: str | None = None


class CalendarEvent(UESAnswer):
    """One appointment, or one occurrence of a recurring one."""

    event_id: str
    calendar_id: str = "primary"
    title: str = ""
    start: Instant
    end: Instant
    all_day: bool = False
    timezone: str = "UTC"
    description: str | None = None
    location: str | None = None
    status: str = "confirmed"
    organizer: str | None = None
    attendees: list[Attendee] = Field(default_factory=list)


class SMS(UESAnswer):
    """One text message; ``direction`` is ``incoming`` or ``outgoing``."""

    message_id: str
    thread_id: str = ""
    from_number: str
    to_numbers: list[str] = Field(default_factory=list)
    body: str = ""
    direction: str = "incoming"
    sent_at: Instant | None = None
    is_read: bool = False


class ChatMessage(UESAnswer):
    """One message between user and assistant; ``role`` names its author."""

    message_id: str = ""
    conversation_id: str = "default"
    role: str
    content: Any = ""
    timestamp: Instant | None = None

    @property
    def text(self) -> str:
        """The text of the content, which may be in parts."""
        return chat_text(self.content)


class Identifier(UESAnswer):
    """An address of a contact: ``identifier_type`` is ``email``, ``phone``, ... ."""

    identifier_type: str
    value: str


class Contact(UESAnswer):
    """A person in the user's address book."""

    contact_id: str
    display_name: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    company: str | None = None
    job_title: str | None = None
    notes: str | None = None
    groups: list[str] = Field(default_factory=list)
    identifiers: list[Identifier] = Field(default_factory=list)

    @property
    def name(self) -> str:
        """The contact's display name."""
        return self.display_name or " ".join(filter(None, (self.first_name, self.last_name))) or self.contact_id


Item = TypeVar("Item", bound=UESAnswer)


def read_items(kind: type[Item], answer: dict[str, Any], key: str) -> list[Item]:
    """Return the items in a query's answer. Raises UnexpectedAnswerError if the answer has no list of items, or if an
    item has an unreadable field.
    """
    values = answer.get(key)
    if not isinstance(values, list):
        raise UnexpectedAnswerError(f"the answer has no list {key!r}")
    try:
        return [kind.model_validate(value) for value in values]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise UnexpectedAnswerError(f"{key}: {where} in the answer: {first['msg']}") from None
