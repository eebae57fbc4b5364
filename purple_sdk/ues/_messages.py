"""Endpoints for email, SMS and the chat between user and assistant.

``from_address``, ``from_number`` and ``phone_number`` are the user's own where they are not given.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from purple_sdk.ues import _call as wire
from purple_sdk.ues._call import OWN_EMAIL, OWN_PHONE, Room, Runner
from purple_sdk.ues._control import Time
from purple_sdk.ues.answers import ActionResult, json_object

Item = Mapping[str, Any]
"""A JSON object whose fields the contract lists, for example an attachment."""
Order = Literal["asc", "desc"]
EmailPriority = Literal["high", "normal", "low"]
SMSType = Literal["sms", "rcs"]
Role = Literal["user", "assistant"]


class EmailRoom(Room[Runner]):
    """The user's mailbox, ``/email``."""

    @wire.get("/email/state", json_object)
    def get_state(self, *, compact: bool | None = None, summary: bool | None = None) -> None:
        """Read the whole mailbox; ``compact`` without bodies."""

    @wire.query("/email/query", json_object)
    def query(
        self,
        *,
        folder: str | None = None,
        is_read: bool | None = None,
        is_starred: bool | None = None,
        from_address: str | None = None,
        to_address: str | None = None,
        subject_contains: str | None = None,
        body_contains: str | None = None,
        has_attachments: bool | None = None,
        labels: Sequence[str] | None = None,
        thread_id: str | None = None,
        priority: EmailPriority | None = None,
        sent_after: Time | None = None,
        sent_before: Time | None = None,
        received_after: Time | None = None,
        received_before: Time | None = None,
        limit: int | None = None,
        offset: int | None = None,
        sort_by: str | None = None,
        sort_order: Order | None = None,
    ) -> None:
        """Find emails: ``{emails, total_count, returned_count, query}``."""

    @wire.post("/email/send", ActionResult.read, own={"from_address": OWN_EMAIL})
    def send(
        self,
        *,
        to_addresses: Sequence[str],
        subject: str,
        body_text: str,
        from_address: str | None = None,
        cc_addresses: Sequence[str] | None = None,
        bcc_addresses: Sequence[str] | None = None,
        reply_to_address: str | None = None,
        body_html: str | None = None,
        attachments: Sequence[Item] | None = None,
        priority: EmailPriority | None = None,
    ) -> None:
        """Send an email as the user."""

    @wire.post("/email/reply", ActionResult.read)
    def reply(
        self,
        message_id: str,
        *,
        body_text: str,
        to_all: bool | None = None,
        subject: str | None = None,
        body_html: str | None = None,
        cc_addresses: Sequence[str] | None = None,
        bcc_addresses: Sequence[str] | None = None,
        attachments: Sequence[Item] | None = None,
        priority: EmailPriority | None = None,
    ) -> None:
        """Answer an email in its thread (proctor's simulator only)."""

    @wire.post("/email/forward", ActionResult.read)
    def forward(
        self,
        message_id: str,
        *,
        to_addresses: Sequence[str],
        body_text: str | None = None,
        subject: str | None = None,
        cc_addresses: Sequence[str] | None = None,
        bcc_addresses: Sequence[str] | None = None,
        attachments: Sequence[Item] | None = None,
        priority: EmailPriority | None = None,
    ) -> None:
        """Pass an email on with its text and files (proctor's simulator only)."""

    @wire.get("/email/get", json_object)
    def get(self, message_id: str) -> None:
        """Read one email by its id (proctor's simulator only)."""

    @wire.post("/email/receive", ActionResult.read)
    def receive(
        self,
        *,
        from_address: str,
        to_addresses: Sequence[str],
        subject: str,
        body_text: str,
        cc_addresses: Sequence[str] | None = None,
        bcc_addresses: Sequence[str] | None = None,
        reply_to_address: str | None = None,
        body_html: str | None = None,
        attachments: Sequence[Item] | None = None,
        thread_id: str | None = None,
        in_reply_to: str | None = None,
        references: Sequence[str] | None = None,
        priority: EmailPriority | None = None,
        sent_at: Time | None = None,
    ) -> None:
        """Let an email arrive (evaluator only)."""

    @wire.post("/email/read", ActionResult.read)
    def read(self, message_ids: Sequence[str]) -> None:
        """Mark as read."""

    @wire.post("/email/unread", ActionResult.read)
    def unread(self, message_ids: Sequence[str]) -> None:
        """Mark as unread."""

    @wire.post("/email/star", ActionResult.read)
    def star(self, message_ids: Sequence[str]) -> None:
        """Star."""

    @wire.post("/email/unstar", ActionResult.read)
    def unstar(self, message_ids: Sequence[str]) -> None:
        """Remove the star."""

    @wire.post("/email/archive", ActionResult.read)
    def archive(self, message_ids: Sequence[str]) -> None:
        """Move to the archive."""

    @wire.post("/email/delete", ActionResult.read)
    def delete(self, message_ids: Sequence[str]) -> None:
        """Move to the trash."""

    @wire.post("/email/label", ActionResult.read)
    def label(self, message_ids: Sequence[str], labels: Sequence[str]) -> None:
        """Add labels."""

    @wire.post("/email/unlabel", ActionResult.read)
    def unlabel(self, message_ids: Sequence[str], labels: Sequence[str]) -> None:
        """Remove labels."""

    @wire.post("/email/move", ActionResult.read)
    def move(self, message_ids: Sequence[str], folder: str) -> None:
        """Move to a folder."""


class SMSRoom(Room[Runner]):
    """The user's phone messages, ``/sms``."""

    @wire.get("/sms/state", json_object)
    def get_state(self, *, compact: bool | None = None) -> None:
        """Read all messages and conversations."""

    @wire.get("/sms/get", json_object)
    def get(self, message_id: str) -> None:
        """Read one message by its id (proctor's simulator only)."""

    @wire.query("/sms/query", json_object)
    def query(
        self,
        *,
        thread_id: str | None = None,
        from_number: str | None = None,
        to_number: str | None = None,
        body_contains: str | None = None,
        search_text: str | None = None,
        message_type: SMSType | None = None,
        direction: Literal["incoming", "outgoing"] | None = None,
        is_read: bool | None = None,
        has_attachments: bool | None = None,
        delivery_status: Literal["sending", "sent", "delivered", "failed", "read"] | None = None,
        is_deleted: bool | None = None,
        is_spam: bool | None = None,
        sent_after: Time | None = None,
        sent_before: Time | None = None,
        limit: int | None = None,
        offset: int | None = None,
        sort_by: str | None = None,
        sort_order: Order | None = None,
    ) -> None:
        """Find messages: ``{messages, total_count, returned_count, query}``."""

    @wire.post("/sms/send", ActionResult.read, own={"from_number": OWN_PHONE})
    def send(
        self,
        *,
        to_numbers: Sequence[str],
        body: str,
        from_number: str | None = None,
        message_type: SMSType | None = None,
        attachments: Sequence[Item] | None = None,
        replied_to_message_id: str | None = None,
    ) -> None:
        """Send a message as the user."""

    @wire.post("/sms/receive", ActionResult.read)
    def receive(
        self,
        *,
        from_number: str,
        to_numbers: Sequence[str],
        body: str,
        message_type: SMSType | None = None,
        attachments: Sequence[Item] | None = None,
        replied_to_message_id: str | None = None,
        sent_at: Time | None = None,
    ) -> None:
        """Let a message arrive (evaluator only)."""

    @wire.post("/sms/read", ActionResult.read)
    def read(self, message_ids: Sequence[str]) -> None:
        """Mark as read."""

    @wire.post("/sms/unread", ActionResult.read)
    def unread(self, message_ids: Sequence[str]) -> None:
        """Mark as unread."""

    @wire.post("/sms/delete", ActionResult.read)
    def delete(self, message_ids: Sequence[str]) -> None:
        """Delete messages."""

    @wire.post("/sms/react", ActionResult.read, own={"phone_number": OWN_PHONE})
    def react(self, *, message_id: str, emoji: str, phone_number: str | None = None) -> None:
        """React to a message."""

    @wire.post("/sms/conversation", ActionResult.read)
    def conversation(
        self,
        *,
        thread_id: str,
        is_muted: bool | None = None,
        is_pinned: bool | None = None,
        is_archived: bool | None = None,
        group_name: str | None = None,
        draft_message: str | None = None,
        mark_all_read: bool | None = None,
    ) -> None:
        """Mute, pin, archive or rename a conversation, draft a message in it, or mark all of it as read."""


class ChatRoom(Room[Runner]):
    """The chat between the user and the assistant, ``/chat``."""

    @wire.get("/chat/state", json_object)
    def get_state(self, *, compact: bool | None = None) -> None:
        """Read all messages."""

    @wire.query("/chat/query", json_object)
    def query(
        self,
        *,
        conversation_id: str | None = None,
        role: Role | None = None,
        since: Time | None = None,
        until: Time | None = None,
        search: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        sort_by: Literal["timestamp", "role", "conversation_id"] | None = None,
        sort_order: Order | None = None,
    ) -> None:
        """Find messages: ``{messages, total_count, returned_count, query}``."""

    @wire.post("/chat/send", ActionResult.read)
    def send(
        self,
        *,
        role: Role,
        content: str | Sequence[Item],
        conversation_id: str | None = None,
        metadata: Item | None = None,
    ) -> None:
        """Write to the chat; a participant writes as ``assistant``."""

    @wire.post("/chat/delete", ActionResult.read)
    def delete(self, message_id: str) -> None:
        """Delete a message."""

    @wire.post("/chat/clear", ActionResult.read)
    def clear(self, *, conversation_id: str | None = None) -> None:
        """Delete a conversation's messages."""
