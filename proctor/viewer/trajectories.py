"""A turn's transcript in the Agent Trajectory Interchange Format, as a page shows it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.protocol.archive import ArchiveEntry, trajectory_file
from proctor.storage.archive import Archive

_MOST_STEPS = 300


@dataclass(frozen=True)
class StepView:
    """One step: who spoke (``user``, ``agent``, ``system``), its texts, its calls with their results, its tokens."""

    source: str
    message: str
    thoughts: str
    calls: tuple[tuple[str, str, str], ...]
    tokens: str


@dataclass(frozen=True)
class TrajectoryView:
    """A turn's transcript; ``summary`` has its size and tokens, ``notes`` what is missing in it."""

    summary: str
    notes: str
    steps: tuple[StepView, ...]


def trajectory_of(archive: Archive, entry: ArchiveEntry, turn: int) -> TrajectoryView | None:
    """The transcript of a turn; None where there is none.

    Raises:
        EntryDamagedError: it is not as it was written.
    """
    name = trajectory_file(turn)
    if name not in entry.files:
        return None
    trajectory = _object(archive.read_json(entry, name))
    raw_steps = _objects(trajectory.get("steps"))
    steps = [_step(each) for each in raw_steps[:_MOST_STEPS]]
    agent, totals = _object(trajectory.get("agent")), _object(trajectory.get("final_metrics"))
    tokens = f"{totals.get('total_prompt_tokens', 0):,} tokens in, {totals.get('total_completion_tokens', 0):,} out"
    by = f"{agent.get('name', 'agent')}, {agent.get('model_name', 'model')}"
    left_out = f"The first {len(steps)} of {len(raw_steps)} steps are shown." if len(raw_steps) > len(steps) else ""
    notes = f"{_text(trajectory.get('notes'))} {left_out}".strip()
    return TrajectoryView(f"{len(raw_steps)} steps by {by}: {tokens}", notes, tuple(steps))


def _step(step: Mapping[str, Any]) -> StepView:
    results = {
        str(result.get("source_call_id")): _text(result.get("content"))
        for result in _objects(_object(step.get("observation")).get("results"))
    }
    calls = tuple(
        (str(call.get("function_name")), _text(call.get("arguments")), results.get(str(call.get("tool_call_id")), ""))
        for call in _objects(step.get("tool_calls"))
    )
    metrics = _object(step.get("metrics"))
    tokens = f"{metrics.get('prompt_tokens', 0)} in, {metrics.get('completion_tokens', 0)} out" if metrics else ""
    return StepView(
        source=str(step.get("source")),
        message=_text(step.get("message")),
        thoughts=_text(step.get("reasoning_content")),
        calls=calls,
        tokens=tokens,
    )


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
