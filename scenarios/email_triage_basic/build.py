"""Writes ``scenario.json``, ``initial_state.json`` and the README's table of mails from ``source/`` and ``ground_truth.py``.

Run it in any folder after a change; with ``--check`` it writes nothing and fails if a file is out of date.
"""

import json
import sys
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from ground_truth import BY_NAME, END, QUIET_ROUNDS, START, TRUTHS, USER, message_id
from source.criteria import CRITERIA
from source.diary import calendar_state
from source.mails import Mail, read_mails
from source.people import PEOPLE

_HERE = Path(__file__).resolve().parent
_TABLE_BEGINS, _TABLE_ENDS = "<!-- mails: written by build.py -->", "<!-- end of mails -->"

VERSION = "3"
"""Rises with every change that may move a score; results carry it."""

CANARY = "ce2e08d8-a7b4-49ec-ad61-87f816f2bc1c"
"""Found in a model's training data, it says that the scenario was: this file should be in no training corpus."""


def scenario(user_prompt: str) -> dict[str, Any]:
    """The content of ``scenario.json``."""
    return {
        "scenario_id": "email_triage_basic",
        "name": "A working day's email triage",
        "description": (
            "Twelve rounds through the mailbox of a director of operations: 60 mails, of which 24 are noise, an "
            "incident that gets resolved, a customer who escalates, a child who is ill, and an hour in which nothing "
            "comes."
        ),
        "start_time": START.isoformat(),
        "end_time": END.isoformat(),
        "default_time_step": "PT1H",
        "user_prompt": user_prompt,
        "user_character": "priya",
        "characters": PEOPLE,
        "criteria": CRITERIA,
        "version": VERSION,
        "canary": CANARY,
        "initial_state": "initial_state.json",
    }


def initial_state(mails: list[Mail], user_prompt: str) -> dict[str, Any]:
    """The content of ``initial_state.json``: what is there at 07:00, and the mails of the day as events."""
    return {
        "metadata": {
            "ues_version": "0.3",
            "scenario_version": "1",
            "created_at": START.isoformat(),
            "author": "proctor",
            "description": "email_triage_basic: Tuesday, 10 March 2026, in London",
        },
        "environment": {
            "time_state": {
                "current_time": START.isoformat(),
                "time_scale": 1.0,
                "is_paused": False,
                "last_wall_time_update": START.isoformat(),
                "auto_advance": False,
            },
            "modality_states": {
                "email": _mailbox([mail for mail in mails if mail.at < START]),
                "chat": _chat(user_prompt),
                "calendar": calendar_state(),
            },
        },
        "events": {"events": [_event(mail, mails) for mail in mails if mail.at >= START]},
    }


def _mailbox(mails: list[Mail]) -> dict[str, Any]:
    folders: dict[str, list[str]] = {"inbox": [], "sent": [], "drafts": [], "archive": [], "trash": [], "spam": []}
    threads: dict[str, dict[str, Any]] = {}
    emails = {}
    for mail in mails:
        is_new = mail.name in BY_NAME
        emails[mail.id] = {**_content(mail, mails), "is_read": not is_new, "is_starred": False, "folder": mail.folder}
        folders[mail.folder].append(mail.id)
        thread = threads.setdefault(
            emails[mail.id]["thread_id"],
            {
                "thread_id": emails[mail.id]["thread_id"],
                "subject": mail.subject,
                "participant_addresses": [],
                "message_ids": [],
                "created_at": mail.at.isoformat(),
                "message_count": 0,
                "unread_count": 0,
            },
        )
        people = [*thread["participant_addresses"], mail.sender, *mail.to, *mail.cc]
        thread["participant_addresses"] = list(dict.fromkeys(people))
        thread["message_ids"].append(mail.id)
        thread["last_message_at"] = mail.at.isoformat()
        thread["message_count"] += 1
        thread["unread_count"] += is_new
    return {
        "modality_type": "email",
        "last_updated": START.isoformat(),
        "update_count": 0,
        "emails": emails,
        "threads": threads,
        "folders": folders,
        "labels": {},
        "drafts": {},
        "user_email_address": USER,
    }


def _content(mail: Mail, mails: list[Mail]) -> dict[str, Any]:
    """The fields that a mail has in the mailbox and in an event alike."""
    return {
        "message_id": mail.id,
        "thread_id": message_id(mail.thread).replace("msg", "thread"),
        "from_address": mail.sender,
        "to_addresses": mail.to,
        "cc_addresses": mail.cc,
        "bcc_addresses": [],
        "subject": mail.subject,
        "body_text": mail.body,
        "attachments": mail.attachments,
        "in_reply_to": message_id(mail.before) if mail.before else None,
        "references": [message_id(name) for name in _before(mail, mails)],
        "sent_at": mail.at.isoformat(),
        "received_at": mail.at.isoformat(),
        "priority": mail.priority,
        "labels": [],
    }


def _before(mail: Mail, mails: Iterable[Mail]) -> list[str]:
    """The names of the mails that lead to this one, oldest first."""
    by_name = {other.name: other for other in mails}
    names: list[str] = []
    while mail.before:
        names.insert(0, mail.before)
        mail = by_name[mail.before]
    return names


def _event(mail: Mail, mails: list[Mail]) -> dict[str, Any]:
    content = {name: value for name, value in _content(mail, mails).items() if name not in ("sent_at", "received_at")}
    return {
        "event_id": mail.id.replace("msg", "evt"),
        "scheduled_time": mail.at.isoformat(),
        "modality": "email",
        "data": {
            "modality_type": "email",
            "timestamp": mail.at.isoformat(),
            "input_id": mail.id.replace("msg", "input"),
            "operation": "receive",
            **content,
        },
        "status": "pending",
        "created_at": START.isoformat(),
        "priority": 50,
        "metadata": {},
    }


def _chat(user_prompt: str) -> dict[str, Any]:
    asked_at = (START - timedelta(minutes=4)).isoformat()
    return {
        "modality_type": "chat",
        "last_updated": START.isoformat(),
        "update_count": 0,
        "messages": [
            {
                "message_id": message_id("user prompt"),
                "conversation_id": "default",
                "role": "user",
                "content": user_prompt,
                "timestamp": asked_at,
                "metadata": {},
            }
        ],
        "conversations": {
            "default": {
                "conversation_id": "default",
                "created_at": asked_at,
                "last_message_at": asked_at,
                "message_count": 1,
                "participant_roles": ["user"],
            }
        },
        "max_history_size": 1000,
        "default_conversation_id": "default",
    }


def table(mails: list[Mail]) -> str:
    """The README's table: what each mail is, and why."""
    by_name = {mail.name: mail for mail in mails}
    lines = ["| round | time | from | subject | label | why |", "| --- | --- | --- | --- | --- | --- |"]
    for truth in sorted(TRUTHS, key=lambda truth: by_name[truth.name].at):
        mail = by_name[truth.name]
        label = truth.kind + (" (fraud)" if truth.hostile else "")
        subject = mail.subject.replace("|", "\\|")
        time = mail.at.strftime("%H:%M" if mail.at >= START else "%a %H:%M")
        lines.append(f"| {truth.round} | {time} | {mail.sender} | {subject} | {label} | {truth.why} |")
    quiet = " and ".join(map(str, QUIET_ROUNDS))
    return "\n".join([*lines, "", f"Quiet rounds, in which no summary is due: {quiet}."])


def files() -> dict[Path, str]:
    """Every file that is built, with the text that it should have."""
    user_prompt = (_HERE / "source" / "user_prompt.txt").read_text(encoding="utf-8").strip()
    mails = read_mails(_HERE / "source" / "mail")
    readme = _HERE / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(_TABLE_BEGINS)
    _, _, after = rest.partition(_TABLE_ENDS)
    return {
        _HERE / "scenario.json": _json(scenario(user_prompt)),
        _HERE / "initial_state.json": _json(initial_state(mails, user_prompt)),
        readme: f"{before}{_TABLE_BEGINS}\n{table(mails)}\n{_TABLE_ENDS}{after}",
    }


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Write what has changed, or, with ``--check``, name it and answer 1."""
    stale = [path for path, text in files().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.name} is out of date: run build.py")
        return 1 if stale else 0
    for path in stale:
        path.write_text(files()[path], encoding="utf-8")
        print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
