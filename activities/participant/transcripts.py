"""Shorten a turn's transcript that is too large to store. A note in the transcript says so."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_core import to_json

MOST_BYTES = 1_000_000
"""The limit of a stored transcript of a turn, in bytes."""

_LENGTHS = (20_000, 4_000, 1_000, 200)
"""Lengths in characters to which texts are cut; the first one that makes the transcript small enough is used."""

Json = dict[str, Any]


def kept_transcript(transcript: Json, most: int = MOST_BYTES) -> bytes:
    """Return a transcript's stored form: JSON of at most ``most`` bytes. A larger transcript is shortened; its
    ``notes`` say how.

    Results of tools are cut first, then all texts. If that is not enough, steps in the middle are left out.
    """
    content = to_json(transcript)
    if len(content) <= most:
        return content
    cuts = [(longest, is_result_only) for is_result_only in (True, False) for longest in _LENGTHS]
    whole = transcript
    for longest, is_result_only in cuts:
        whole = _cut_texts(transcript, longest, is_result_only)
        what = "results of tools" if is_result_only else "texts"
        note = f"Shortened from {len(content)} bytes: {what} are cut to {longest} characters."
        if (found := _with_note(whole, note, most)) is not None:
            return found
    steps = whole.get("steps")
    steps = steps if isinstance(steps, list) else []
    for kept in _halves(steps):
        left = f"{len(steps) - len(kept)} of {len(steps)} steps are left out"
        note = f"Shortened from {len(content)} bytes: {left}, and texts are cut to {_LENGTHS[-1]} characters."
        if (found := _with_note({**whole, "steps": kept}, note, most)) is not None:
            return found
    note = f"Left out: the transcript has {len(content)} bytes, and its {len(steps)} steps could not be shortened."
    return to_json({"schema_version": str(transcript.get("schema_version"))[:50], "steps": [], "notes": note})


def _with_note(whole: Json, note: str, most: int) -> bytes | None:
    earlier = whole.get("notes")
    notes = f"{earlier} {note}" if isinstance(earlier, str) else note
    content = to_json({**whole, "notes": notes})
    return content if len(content) <= most else None


def _halves(steps: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield lists with fewer and fewer steps from the beginning and the end. The last list has one step from each
    end.
    """
    each = len(steps) // 4
    while each:
        yield [*steps[:each], *steps[-each:]]
        each //= 2


def _cut_texts(value: Any, longest: int, is_result_only: bool) -> Any:
    """Return a copy with all texts cut; with ``is_result_only`` only those in observations."""
    if isinstance(value, dict):
        return {
            key: _cut_texts(member, longest, is_result_only and key != "observation") if key != "notes" else member
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_cut_texts(element, longest, is_result_only) for element in value]
    if is_result_only or not isinstance(value, str) or len(value) <= longest:
        return value
    return f"{value[:longest]} … ({len(value) - longest} more characters)"
