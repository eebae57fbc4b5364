"""Writes ``scenario.json``, ``initial_state.json`` and the README's table of mails from ``source/`` and ``ground_truth.py``.

Run it in any folder after a change; with ``--check`` it writes nothing and fails if a file is out of date.
"""

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

from scenarios.kit import building

_HERE = Path(__file__).resolve().parent
_TABLE_BEGINS, _TABLE_ENDS = "<!-- mails: written by build.py -->", "<!-- end of mails -->"

VERSION = "5"
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


def initial_state(mails: list[Mail], user_prompt: str) -> building.State:
    """The content of ``initial_state.json``: what is there at 07:00, and the mails of the day as events."""
    start = START.isoformat()
    known = [
        {**_content(mail, mails), "is_read": mail.name not in BY_NAME, "is_starred": False, "folder": mail.folder}
        for mail in mails
        if mail.at < START
    ]
    asked_at = (START - timedelta(minutes=4)).isoformat()
    return building.initial_state(
        start=start,
        description="email_triage_basic: Tuesday, 10 March 2026, in London",
        modalities={
            "email": building.mailbox(USER, known, start=start),
            "chat": building.chat_that_asks(user_prompt, asked_at, start=start, message_id=message_id("user prompt")),
            "calendar": calendar_state(),
        },
        events=[_event(mail, mails) for mail in mails if mail.at >= START],
    )


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


def _event(mail: Mail, mails: list[Mail]) -> building.State:
    content = {name: value for name, value in _content(mail, mails).items() if name not in ("sent_at", "received_at")}
    data = {"operation": "receive", "input_id": mail.id.replace("msg", "input"), **content}
    return building.event(mail.id.replace("msg", "evt"), mail.at.isoformat(), "email", data, start=START.isoformat())


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
        _HERE / "scenario.json": building.as_json(scenario(user_prompt)),
        _HERE / "initial_state.json": building.as_json(initial_state(mails, user_prompt)),
        readme: f"{before}{_TABLE_BEGINS}\n{table(mails)}\n{_TABLE_ENDS}{after}",
    }


if __name__ == "__main__":
    sys.exit(building.write(files(), sys.argv[1:]))
