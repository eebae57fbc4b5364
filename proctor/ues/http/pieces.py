"""Bodies of several pieces: a line of JSON that says how long each is, then one after the other."""

from collections.abc import Sequence

from proctor.ues.checkpoint import Taken
from proctor.ues.problems import Impossible
from proctor.ues.schema import JsonObject

ALONG = 1024 * 1024
"""Bytes of new parts that come along with a manifest; the rest is fetched one by one, to save memory."""


def split(content: bytes, lengths: Sequence[int]) -> list[bytes]:
    """The pieces of a body. Raises Impossible (400) where they aren't as long as it."""
    if sum(lengths) != len(content):
        raise Impossible(f"lengths say {sum(lengths):,} bytes, and {len(content):,} follow the first line.")
    pieces, place = [], 0
    for length in lengths:
        pieces.append(content[place : place + length])
        place += length
    return pieces


def with_parts(taken: Taken) -> tuple[JsonObject, list[bytes]]:
    """What an answer says of a checkpoint in parts, and its pieces: the manifest, and the first of the new parts."""
    new = [[name, len(content)] for name, content in taken.new.items()]
    pieces, room = [taken.manifest], ALONG
    for content in taken.new.values():
        room -= len(content)
        if room < 0:
            break
        pieces.append(content)
    return {"new": new, "lengths": [len(piece) for piece in pieces]}, pieces
