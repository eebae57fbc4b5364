"""Read and write bodies of several pieces: a line of JSON with their lengths, then the pieces."""

from collections.abc import Sequence

from proctor.ues.checkpoint import Taken
from proctor.ues.problems import Impossible
from proctor.ues.schema import JsonObject

ALONG = 1024 * 1024
"""The most bytes of new parts that follow a manifest; all other parts are fetched one by one, to save memory."""


def split(content: bytes, lengths: Sequence[int]) -> list[bytes]:
    """Split a body into its pieces. Raises Impossible (400) if the lengths don't add up to the body's."""
    if sum(lengths) != len(content):
        raise Impossible(f"lengths say {sum(lengths):,} bytes, and {len(content):,} follow the first line.")
    pieces, place = [], 0
    for length in lengths:
        pieces.append(content[place : place + length])
        place += length
    return pieces


def with_parts(taken: Taken) -> tuple[JsonObject, list[bytes]]:
    """Return an answer's fields for a checkpoint in parts, and its pieces: the manifest, and the first new parts."""
    new = [[name, len(content)] for name, content in taken.new.items()]
    pieces, room = [taken.manifest], ALONG
    for content in taken.new.values():
        room -= len(content)
        if room < 0:
            break
        pieces.append(content)
    return {"new": new, "lengths": [len(piece) for piece in pieces]}, pieces
