"""Find JSON objects, fenced or with prose around them, in texts by people and models."""

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)
_BRACE_OR_STRING = re.compile(r'[{}]|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)


def find_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the whole text if it is a JSON object. Otherwise yield the outermost objects in it, in order, and skip the
    rest.

    Takes time in proportion to the text's length.
    """
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        for braced in in_braces(text):
            try:
                yield json.loads(braced)
            except (ValueError, RecursionError):
                continue
    else:
        if isinstance(whole, dict):
            yield whole


def in_braces(text: str) -> Iterator[str]:
    """Yield everything in balanced braces, outermost first to last. A fence ends braces that are open before it."""
    return (piece for piece, is_closed in _braced(text) if is_closed)


def is_cut_off(text: str) -> bool:
    """Tell whether a text has a JSON object that is well-formed so far and ends too early."""
    for piece, is_closed in _braced(text):
        if not is_closed:
            try:
                from_json(piece.rstrip(), allow_partial=True)
            except ValueError:
                continue
            return True
    return False


def _braced(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each piece that begins with a brace, outermost first to last, and whether its brace is closed."""
    for section in _FENCE.split(text):
        depth, start = 0, 0
        at = section.find("{")
        while at >= 0 and (token := _BRACE_OR_STRING.search(section, at)):
            at = token.end()
            if token[0] == "{":
                start = start if depth else token.start()
                depth += 1
            elif token[0] == "}" and depth:
                depth -= 1
                if depth == 0:
                    yield section[start:at], True
                    at = section.find("{", at)  # quotation marks in between are prose
        if depth:
            yield section[start:], False
