"""The parts of a message: what its author wrote, what is quoted, what is forwarded."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

from proctor.language.patterns import compiled
from proctor.language.reader.text import readable

Origin = Literal["own", "quoted", "forwarded"]

_WROTE = r"\A\s*(?:on|am)\s.{5,200}(?:wrote|writes|schrieb)\b.{0,80}:\s*\z|\A.{3,120}\b(?:wrote|schrieb)(?:\s+on\s.{4,60}|\s+am\s.{4,60})?:\s*\z"
_FORWARD = r"(?:begin|anfang der)?\s*(?:forwarded message|weitergeleitete(?:n)? (?:nachricht|mail)|forwarded by|weitergeleitet von)"
_ORIGINAL = (
    r"\A[\s*_-]*(?:original message|original-nachricht|ursprüngliche nachricht|original appointment)[\s*_-]*:?\s*\z"
)
_HEADER = r"\A[\s*>]*(?:from|sent|date|to|cc|subject|von|gesendet|datum|an|betreff)\**:\**\s*\S"
_SENDER = r"\A[\s*>]*(?:from|von)\**:"


@dataclass(frozen=True)
class Part:
    """A stretch of whole lines of one origin."""

    origin: Origin
    text: str


def split_parts(text: str, is_known: Callable[[str], bool] = lambda line: True) -> list[Part]:
    """The parts of a readable message, in order.

    Quoted are lines with ``>``, and what follows "X wrote:" or a mail's header. After a header nothing marks where the
    quote ends; there a line belongs to it if it is known, else it is the author's.

    Args:
        text: the message.
        is_known: whether a line is of an earlier message.
    """
    lines = text.split("\n")
    origins: list[Origin] = []
    state: Origin = "own"
    is_marked = False
    number = 0
    while number < len(lines):
        line = lines[number]
        bare = line.strip()
        if bare.startswith((">", "|>")):
            origins.append("forwarded" if state == "forwarded" else "quoted")
            is_marked = True
        elif len(line) < 300 and (begun := _begins(lines, number)) is not None:
            state, length = begun
            origins += [state] * length
            is_marked = False
            number += length
            continue
        elif state == "own" or not bare:
            origins.append(state if not is_marked or not bare else "own")
        elif is_marked:
            state = "own"
            origins.append("own")
        else:
            origins.append(state if is_known(bare) else "own")
        number += 1
    return _joined(lines, origins)


def is_attribution(line: str) -> bool:
    """Whether a line only says who wrote what is quoted below it, and when."""
    return len(line) < 300 and compiled(_WROTE).search(line.lower().strip()) is not None


def own_words(text: str) -> str:
    """What a message's author wrote themselves, without quoted and forwarded lines."""
    return "\n".join(part.text for part in split_parts(readable(text)) if part.origin == "own")


def _begins(lines: list[str], number: int) -> tuple[Origin, int] | None:
    """The origin that a line or header begins, and how many lines it has."""
    line = lines[number].lower().strip()
    # Most lines have none of the words that the patterns need, and are searched for no pattern.
    if (
        len(line) < 80
        and line.strip("-_* ").startswith(
            ("forwarded", "begin forwarded", "weitergeleitete", "anfang der", "weitergeleitet von")
        )
        and compiled(_FORWARD).search(line)
    ):
        return "forwarded", 1 + _header_length(lines, number + 1)
    if ":" in line and any(word in line for word in ("wrote", "writes", "schrieb")) and compiled(_WROTE).search(line):
        return "quoted", 1
    if any(word in line for word in ("original", "ursprüngliche")) and compiled(_ORIGINAL).search(line):
        return "quoted", 1 + _header_length(lines, number + 1)
    is_sender = line.lstrip(" \t\f\r*>").startswith(("from", "von")) and compiled(_SENDER).search(line)
    if is_sender and (length := _header_length(lines, number)) > 1:
        return "quoted", length
    return None


def _header_length(lines: list[str], number: int) -> int:
    length = 0
    while number + length < len(lines) and length < 8:
        line = lines[number + length].lower()
        if not compiled(_HEADER).search(line) and not (length == 0 and not line.strip()):
            break
        length += 1
    return length


def _joined(lines: list[str], origins: list[Origin]) -> list[Part]:
    parts: list[Part] = []
    for origin, group in groupby(zip(origins, lines, strict=True), itemgetter(0)):
        shown = (line if origin == "own" else line.lstrip(" >|") for _, line in group)
        parts.append(Part(origin, "\n".join(shown)))
    return parts
