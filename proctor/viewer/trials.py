"""What an agent did in a terminal, as a person reads it. Everything is plain text: escape sequences are taken out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from proctor.protocol.archive import CommandRecord
from proctor.viewer.words import LONGEST_TEXT, clip, plain, took

_SHOWN_AT_MOST = 1_500_000  # characters of outputs on one page
_COMMANDS_AT_MOST = 2_000
_BY_THE_ENGINE = "docker exec"


@dataclass(frozen=True)
class Step:
    """One thing that was entered, and what came of it; ``is_bad`` where it failed.

    ``silence`` says why there is no output.
    """

    entered: str
    time: str
    about: str
    output: str
    silence: str = "It printed nothing."
    is_bad: bool = False


def steps_of(records: Sequence[CommandRecord]) -> tuple[list[Step], int]:
    """What was done, in order, and how much of it is left out as too much for one page."""
    ends = {
        record.id: record for record in records if record.kind == _BY_THE_ENGINE and record.id and not record.command
    }
    shown = [
        record
        for record in records
        if record.kind in ("command", "keys", "screen") or (record.kind == _BY_THE_ENGINE and record.command)
    ]
    steps, room = [], _SHOWN_AT_MOST
    for record in shown[:_COMMANDS_AT_MOST]:
        step = _step(record, ends, room)
        room -= len(step.output)
        steps.append(step)
    return steps, max(0, len(shown) - _COMMANDS_AT_MOST)


def _step(record: CommandRecord, ends: Mapping[str, CommandRecord], room: int) -> Step:
    end = ends.get(record.id or "") if record.kind == _BY_THE_ENGINE else record
    output = clip(plain(record.output or record.screen), LONGEST_TEXT)
    silence = "It printed nothing."
    if record.kind == _BY_THE_ENGINE:
        silence = "By docker exec: its output went only to the agent."
    elif len(output) > room:
        output, silence = "", "What it printed is in the archive's transcript: it is too much for this page."
    code = end.exit_code if end is not None else None
    return Step(
        entered=clip(plain(_entered(record)), 4_000),
        time="" if record.at is None else f"{record.at:%H:%M:%S}",
        about=" · ".join(_about(record, code)),
        output=output,
        silence=silence,
        is_bad=record.kind in ("command", _BY_THE_ENGINE) and code is not None and code != 0,
    )


def _entered(record: CommandRecord) -> str:
    if record.kind == "keys":
        return f"keys: {' '.join(record.keys)}"
    return "looked at the screen" if record.kind == "screen" else record.command


def _about(record: CommandRecord, code: int | None) -> Iterable[str]:
    if record.timed_out:
        yield "ran out of time"
    elif record.killed:
        yield "was ended"
    elif code is not None:
        yield f"exit code {code}"
    if record.seconds is not None:
        yield took(record.seconds)
    if record.background:
        yield "in the background"
    if record.cwd:
        yield f"in {clip(record.cwd, 200)}"
    if record.dropped:
        yield f"{record.dropped:,} bytes not kept"
