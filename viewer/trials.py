"""What an agent did in a terminal, as a person reads it. Everything is plain text: escape sequences are taken out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proctor_protocol.archive import CommandRecord
from viewer.words import LONGEST_TEXT, clip, plain, took

_SHOWN_AT_MOST = 1_500_000
"""Characters of outputs on one page."""

_COMMANDS_AT_MOST = 2_000


@dataclass(frozen=True)
class Step:
    """One thing that was entered, and what came of it; ``is_bad`` where it failed."""

    number: int
    entered: str
    time: str
    about: str
    output: str
    is_bad: bool = False
    is_left_out: bool = False


def steps_of(records: Iterable[CommandRecord]) -> tuple[list[Step], int]:
    """What was done, in order, and how much of it is left out as too much for one page."""
    found: list[Step] = []
    room, left_out = _SHOWN_AT_MOST, 0
    for record in records:
        if record.kind not in ("command", "keys", "screen"):
            continue
        if len(found) >= _COMMANDS_AT_MOST:
            left_out += 1
            continue
        output = clip(plain(record.output or record.screen), LONGEST_TEXT)
        fits = len(output) <= room
        room -= len(output) if fits else 0
        at = "" if record.at is None else f"{record.at:%H:%M:%S}"
        found.append(
            Step(
                number=len(found) + 1,
                entered=clip(plain(_entered(record)), 4_000),
                time=at,
                about=" · ".join(_about(record)),
                output=output if fits else "",
                is_bad=record.kind == "command" and record.exit_code != 0,
                is_left_out=not fits,
            )
        )
    return found, left_out


def _entered(record: CommandRecord) -> str:
    if record.kind == "command":
        return record.command
    return f"keys: {' '.join(record.keys)}" if record.kind == "keys" else "looked at the screen"


def _about(record: CommandRecord) -> Iterable[str]:
    if record.kind != "command":
        return
    if record.timed_out:
        yield "ran out of time"
    elif record.killed:
        yield "was ended"
    elif record.exit_code is not None:
        yield f"exit code {record.exit_code}"
    if record.seconds is not None:
        yield took(record.seconds)
    if record.background:
        yield "in the background"
    if record.cwd:
        yield f"in {clip(record.cwd, 200)}"
    if record.dropped:
        yield f"{record.dropped:,} bytes not kept"


def phases_of(phases: dict[str, float]) -> Sequence[tuple[str, str]]:
    """How long each step of a trial took."""
    return [(name, took(seconds)) for name, seconds in phases.items()]
