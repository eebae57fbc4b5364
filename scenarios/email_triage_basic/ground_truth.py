"""The truth about every mail of the day, from ``ground_truth.toml``; the mails are in ``source/mail/*.txt``."""

import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Literal

from proctor.scenarios.kit.deadlines import When

Kind = Literal["urgent", "action", "fyi", "personal", "noise"]
KINDS: tuple[Kind, ...] = ("urgent", "action", "fyi", "personal", "noise")

START = datetime(2026, 3, 10, 7, 0, tzinfo=UTC)
END = datetime(2026, 3, 10, 19, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
ROUNDS = 12

USER = "priya.raman@northpier.example"
MARTA = "marta.lindqvist@northpier.example"
TOM = "tom.becker@northpier.example"
INGRID = "ingrid.dahl@fjordkyst.example"

INCIDENT_THREAD = "inc-2291"
INCIDENT_DECLARED_ROUND = 2
INCIDENT_CLOSED_ROUND = 8
ESCALATION_ROUND = 8


def message_id(name: str) -> str:
    """The id of a mail in the mailbox, derived from its name without revealing it."""
    return "msg-" + hashlib.sha256(f"email_triage_basic/{name}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Truth:
    """The truth about one mail. ``ground_truth.toml`` explains the fields."""

    name: str
    kind: Kind
    round: int
    why: str
    who: str
    topic: str = ""
    due: tuple[When, ...] = ()
    hostile: bool = False
    thread: str = ""

    @property
    def id(self) -> str:
        return message_id(self.name)


def _truth(name: str, due: Sequence[date | time] = (), **fields: Any) -> Truth:
    return Truth(name, due=tuple(map(_deadline, due)), **fields)


def _deadline(due: date | time) -> When:
    return When(START.date(), due) if isinstance(due, time) else When(due, None)


_MAILS = tomllib.loads(Path(__file__).with_name("ground_truth.toml").read_text(encoding="utf-8"))

TRUTHS: tuple[Truth, ...] = tuple(_truth(name, **fields) for name, fields in _MAILS.items())
BY_NAME = {truth.name: truth for truth in TRUTHS}
BY_ID = {truth.id: truth for truth in TRUTHS}

# Rounds with mails other than noise: one summary each. The others are quiet.
DUE_ROUNDS: tuple[int, ...] = tuple(sorted({truth.round for truth in TRUTHS if truth.kind != "noise"}))
QUIET_ROUNDS: tuple[int, ...] = tuple(number for number in range(1, ROUNDS + 1) if number not in DUE_ROUNDS)


def round_start(number: int) -> datetime:
    """The time of a round: round 1 at 07:00, round 12 at 18:00."""
    return START + (number - 1) * HOUR


def round_of(instant: datetime) -> int:
    """The round that an instant belongs to; a round lasts until the next one starts."""
    return (instant - START) // HOUR + 1
