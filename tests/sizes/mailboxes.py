"""Mailboxes of any size."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.assessments.scripts import BEN


def filled(size: int) -> Callable[[dict[str, Any]], None]:
    """Puts mails of so many bytes in all into an initial state: ten kilobytes each, of words that hardly compress."""

    def change(state: dict[str, Any]) -> None:
        dice = random.Random(size)
        first = datetime.fromisoformat("2026-01-01T09:00:00+00:00")
        emails, threads = {}, {}
        for number in range(size // 10_000):
            name, at = f"mail-{number}", (first + timedelta(minutes=number)).isoformat()
            emails[name] = {
                "message_id": name,
                "thread_id": name,
                "from_address": BEN,
                "to_addresses": ["ana@home.example"],
                "cc_addresses": [],
                "bcc_addresses": [],
                "subject": f"Report {number}",
                "body_text": dice.randbytes(4600).hex(" ", 4),
                "attachments": [],
                "in_reply_to": None,
                "references": [],
                "sent_at": at,
                "received_at": at,
                "priority": "normal",
                "labels": [],
                "is_read": True,
                "is_starred": False,
                "folder": "inbox",
            }
            threads[name] = {
                "thread_id": name,
                "subject": f"Report {number}",
                "participant_addresses": [BEN, "ana@home.example"],
                "message_ids": [name],
                "created_at": at,
                "message_count": 1,
                "unread_count": 0,
                "last_message_at": at,
            }
        state["environment"]["modality_states"]["email"].update(
            emails=emails,
            threads=threads,
            folders={"inbox": list(emails), "sent": [], "drafts": [], "archive": [], "trash": [], "spam": []},
        )

    return change
