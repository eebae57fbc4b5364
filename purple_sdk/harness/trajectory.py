"""A turn's transcript in the Agent Trajectory Interchange Format, ATIF 1.7: the agent's prompts, answers and calls.

The steps are the prompt and the model's answers. Each answer has its tool calls with their results, and its tokens.
Long texts and long turns are cut to keep a transcript below ``MOST_BYTES``.
"""

import json
from typing import Any

from purple_sdk.harness.counting import ModelAnswer
from purple_sdk.harness.record import AskedModel, Record, UsedTool

VERSION = "ATIF-v1.7"
MOST_BYTES = 150_000

_LONGEST_TEXT = 4_000
_SHORT_TEXT = 400

Json = dict[str, Any]


def make_trajectory(record: Record, *, agent: str, version: str, model: str, session: str, prompt: str) -> Json:
    """Make the transcript of a turn."""
    for longest in (_LONGEST_TEXT, _SHORT_TEXT):
        steps = _steps(record, prompt, longest)
        if len(json.dumps(steps)) < MOST_BYTES:
            break
    kept = _within_bounds(steps)
    answers = record.answers
    whole: Json = {
        "schema_version": VERSION,
        "session_id": session,
        "agent": {"name": agent, "version": version, "model_name": model},
        "steps": kept,
        "final_metrics": {
            "total_prompt_tokens": sum(answer.input_tokens for answer in answers),
            "total_completion_tokens": sum(answer.output_tokens for answer in answers),
            "total_cached_tokens": sum(answer.cached_tokens for answer in answers),
            "total_steps": len(steps),
        },
    }
    if len(kept) < len(steps):
        whole["notes"] = f"{len(steps) - len(kept)} steps in the middle were left out."
    return whole


def _steps(record: Record, prompt: str, longest: int) -> list[Json]:
    steps: list[Json] = [{"step_id": 1, "source": "user", "message": _shorten(prompt, longest)}]
    open_calls: list[tuple[Json, str, str]] = []
    for event in record.events:
        if isinstance(event, AskedModel):
            step = _model_step(event, longest)
            steps.append({"step_id": len(steps) + 1, **step})
            calls = event.answer.calls if event.answer else ()
            open_calls += [(steps[-1], call.id, call.name) for call in calls]
        else:
            _add_result(event, open_calls, longest)
    return steps


def _model_step(event: AskedModel, longest: int) -> Json:
    step: Json = {"timestamp": event.at.isoformat(), "source": "agent"}
    answer = event.answer
    if answer is None:
        return {**step, "source": "system", "message": f"The model's endpoint answered with HTTP {event.status}."}
    step["message"] = _shorten(answer.text, longest)
    if answer.thoughts:
        step["reasoning_content"] = _shorten(answer.thoughts, longest)
    if answer.calls:
        step["tool_calls"] = [
            {"tool_call_id": call.id, "function_name": call.name, "arguments": _arguments(call.arguments, longest)}
            for call in answer.calls
        ]
    step["metrics"] = _metrics(answer)
    return step


def _metrics(answer: ModelAnswer) -> Json:
    metrics: Json = {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "cached_tokens": answer.cached_tokens,
    }
    return {**metrics, "extra": {"is_estimated": True}} if answer.is_estimated else metrics


def _add_result(used: UsedTool, open_calls: list[tuple[Json, str, str]], longest: int) -> None:
    """Add a result to the first call of that tool that has no result. Tools have a prefix in the names that the model
    uses.
    """
    place = next((place for place, (_, _, name) in enumerate(open_calls) if name.endswith(used.name)), None)
    if place is None:
        return
    step, call_id, _ = open_calls.pop(place)
    results = step.setdefault("observation", {"results": []})["results"]
    results.append({"source_call_id": call_id, "content": _shorten(used.result, longest)})


def _within_bounds(steps: list[Json]) -> list[Json]:
    """Return the beginning and the end of a long turn."""
    kept = list(steps)
    while len(kept) > 2 and len(json.dumps(kept)) > MOST_BYTES:
        middle = len(kept) // 2
        del kept[max(1, middle - len(kept) // 8) : middle + 1]
    return kept


def _arguments(arguments: Any, longest: int) -> Any:
    text = json.dumps(arguments)
    return arguments if len(text) <= longest else {"cut": text[:longest]}


def _shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text) - longest} more characters)"
