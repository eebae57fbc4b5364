"""Write ``scenario.json``, ``initial_state.json`` and the README's table of mails, from ``source/`` and the ground
truth.

Run it in any folder after a change; with ``--check`` it writes nothing and fails if a file is out of date.
"""

import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ground_truth import BY_NAME, END, QUIET_ROUNDS, START, TRUTHS, USER, message_id

from proctor.scenarios.kit import building

_HERE = Path(__file__).resolve().parent
_SOURCE = _HERE / "source"
_TABLE_BEGINS, _TABLE_ENDS = "<!-- mails: written by build.py -->", "<!-- end of mails -->"

VERSION = "5"
"""The scenario's version, which results carry; it rises with every change that may affect scores."""

CANARY = "ce2e08d8-a7b4-49ec-ad61-87f816f2bc1c"
"""A canary: if a model's training data has it, they have this scenario. Keep this file out of training corpora."""


@dataclass(frozen=True)
class Mail:
    """One mail of ``source/mail``; ``before`` names the mail that it answers; an empty ``thread`` is its own thread."""

    name: str
    at: datetime
    sender: str
    subject: str
    body: str
    to: tuple[str, ...] = (USER,)
    cc: tuple[str, ...] = ()
    thread: str = ""
    before: str | None = None
    priority: str = "normal"
    folder: str = "inbox"
    attachments: tuple[dict[str, Any], ...] = ()

    @property
    def id(self) -> str:
        """Its id in the mailbox, without meaning for a participant."""
        return message_id(self.name)


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def read_mails() -> list[Mail]:
    by_name = {name: fields for path in sorted(_SOURCE.glob("mail/*.toml")) for name, fields in read(path).items()}
    return sorted((Mail(name, **fields) for name, fields in by_name.items()), key=lambda mail: mail.at)


def scenario(user_prompt: str) -> dict[str, Any]:
    source = read(_SOURCE / "criteria.toml")
    return {
        "scenario_id": "email_triage_basic",
        "name": "A working day's email triage",
        "description": source["description"],
        "start_time": START.isoformat(),
        "end_time": END.isoformat(),
        "default_time_step": "PT1H",
        "user_prompt": user_prompt,
        "user_character": "priya",
        "characters": characters(),
        "criteria": [_criterion(**fields) for fields in source["criteria"]],
        "version": VERSION,
        "canary": CANARY,
        "initial_state": "initial_state.json",
    }


def characters() -> dict[str, dict[str, Any]]:
    source = read(_SOURCE / "people.toml")
    user, others = source["people"].pop("priya"), source["people"]
    return {"priya": user} | {key: _person(source["colleague"], **fields) for key, fields in others.items()}


def _person(
    colleague: str,
    name: str,
    email: str,
    personality: str,
    relation: str,
    replies: list[tuple[str | dict[str, Any], str]],
    delay: str = "PT15M",
    variance: str = "PT5M",
    instructions: str = "",
) -> dict[str, Any]:
    return {
        "name": name,
        "email": email,
        "phone": None,
        "personality": personality,
        "relationships": {"priya": relation},
        "response_timing": {"base_delay": delay, "variance": variance},
        "special_instructions": f"{instructions} {colleague}".strip(),
        "scripted_replies": [
            {**({"pattern": test} if isinstance(test, str) else test), "reply": reply} for test, reply in replies
        ],
    }


def _criterion(**fields: Any) -> dict[str, Any]:
    if "evaluation_prompt" in fields:
        return fields
    return {
        **{name: fields[name] for name in ("criterion_id", "name", "description", "dimension", "max_score")},
        "evaluator_id": fields["criterion_id"],
        "points_from": fields.get("points_from", {"state": fields["max_score"]}),
        "needs_model_for": fields.get("needs_model_for", 0),
        "params": fields.get("params"),
    }


def calendar() -> building.State:
    entries = map(_appointment, read(_SOURCE / "diary.toml")["appointments"])
    stamp = START.replace(hour=6).isoformat()
    return building.calendar_of("Priya Raman", entries, start=stamp, timezone="Europe/London")


def _appointment(fields: dict[str, Any]) -> dict[str, Any]:
    stamp = START.replace(day=2).isoformat()
    start, end = (datetime.combine(START, fields[name], START.tzinfo).isoformat() for name in ("start", "end"))
    return {
        "event_id": message_id(fields["title"]).replace("msg", "evt"),
        "calendar_id": "primary",
        "title": fields["title"],
        "start": start,
        "end": end,
        "timezone": "Europe/London",
        "location": fields.get("location"),
        "organizer": USER,
        "attendees": [{"email": person, "response": "accepted"} for person in fields.get("people", ())],
        "created_at": stamp,
        "updated_at": stamp,
    }


def initial_state(mails: list[Mail], user_prompt: str) -> building.State:
    """The content of ``initial_state.json``: the state at 07:00, and the mails of the day as events."""
    start = START.isoformat()
    known = [_content(mail, mails) for mail in mails if mail.at < START]
    asked_at = (START - timedelta(minutes=4)).isoformat()
    return building.initial_state(
        start=start,
        description="email_triage_basic: Tuesday, 10 March 2026, in London",
        modalities={
            "email": building.mailbox(USER, known, start=start),
            "chat": building.chat_that_asks(user_prompt, asked_at, start=start, message_id=message_id("user prompt")),
            "calendar": calendar(),
        },
        events=[_event(mail, mails) for mail in mails if mail.at >= START],
    )


def _content(mail: Mail, mails: list[Mail]) -> dict[str, Any]:
    content = building.mail(
        mail.id, mail.at.isoformat(), mail.sender, mail.to, mail.subject, mail.body,
        thread_id=message_id(mail.thread or mail.name).replace("msg", "thread"),
        in_reply_to=message_id(mail.before) if mail.before else None,
        is_read=mail.name not in BY_NAME, folder=mail.folder,
    )  # fmt: skip
    return {
        **content,
        "cc_addresses": list(mail.cc),
        "attachments": [{**file, "attachment_id": message_id(file["filename"])} for file in mail.attachments],
        "references": [message_id(name) for name in _before(mail, mails)],
        "priority": mail.priority,
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
    event = building.mail_comes(_content(mail, mails), start=START.isoformat())
    event["data"]["input_id"] = mail.id.replace("msg", "input")
    return {**event, "event_id": mail.id.replace("msg", "evt")}


def table(mails: list[Mail]) -> str:
    """The README's table: the kind of each mail, and the reason."""
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
    """All built files, each with its right text."""
    user_prompt = (_SOURCE / "user_prompt.txt").read_text(encoding="utf-8").strip()
    mails = read_mails()
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
