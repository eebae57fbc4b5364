"""Checkpoints over HTTP: this project's addition to the contract."""

import orjson
from pydantic import Field

from proctor.ues import checkpoint
from proctor.ues.http.pieces import with_parts
from proctor.ues.http.route import Call, Reply, Routes
from proctor.ues.problems import NotFound
from proctor.ues.schema import JsonObject, Request, Response


class CheckpointResponse(Response):
    """A checkpoint: everything there is to the simulation. Opaque; give it back to restore as it came."""

    format: int


class RestoreResponse(Response):
    """The digest of the checkpoint to which the simulation is now equal."""

    restored: bool
    checkpoint: str


class CurrentCheckpointResponse(Response):
    """Where the simulation is.

    ``checkpoint`` is the digest of the last one taken or restored, null when the simulation has changed since; ``mark``
    the evaluator's note; ``fence`` the one that holds the simulation, 0 for none; ``is_untouched`` whether nothing has
    changed since it was taken; ``life`` a text that changes whenever the simulation is restored.
    """

    checkpoint: str | None
    mark: str | None
    fence: int
    is_untouched: bool
    life: str


class MarkRequest(Request):
    """A note on the simulation, which lasts until the next restore."""

    mark: str = Field(min_length=1, max_length=200)


class PartsParams(Request):
    """``everything`` has all parts count as new."""

    everything: bool = False


class PartsResponse(Response):
    """The first line of a checkpoint in parts.

    ``checkpoint`` is the SHA-256 of its manifest, ``lengths`` are those of the pieces that follow: the manifest, and
    the first of the ``new`` parts, each listed with its name (SHA-256) and size.
    """

    checkpoint: str
    new: list[tuple[str, int]]
    lengths: list[int]


ROUTES: Routes[Call] = Routes()


@ROUTES.declare(
    "GET", "/simulation/checkpoint/parts", "simulation:checkpoint", PartsResponse, params=PartsParams, also_text=True
)
def _take_in_parts(call: Call) -> Reply:
    """Take a checkpoint in parts. The answer's first line is JSON; the manifest follows, and the first of the parts
    that are new since the checkpoint that was claimed last.
    """
    taken = checkpoint.take_in_parts(call.simulation, everything=call.params.everything)
    described, pieces = with_parts(taken)
    first_line = orjson.dumps({"checkpoint": taken.digest, **described})
    return Reply(b"\n".join((first_line, b"".join(pieces))), media_type="text/plain; charset=utf-8")


@ROUTES.declare("GET", "/simulation/checkpoint/parts/{name}", "simulation:checkpoint", errors=(404,))
def _part(call: Call) -> Reply:
    """Fetch a new part of the checkpoint in parts that was taken last."""
    content = call.simulation.parts.waiting.get(call.path["name"])
    if content is None:
        raise NotFound(f"No part {call.path['name'][:80]!r} of a checkpoint waits: take the checkpoint again.")
    return Reply(content)


@ROUTES.declare("GET", "/simulation/checkpoint", "simulation:checkpoint", CheckpointResponse)
def _take(call: Call) -> Reply:
    """Take a checkpoint. ETag carries the SHA-256 of the body, in hexadecimal."""
    digest, content = checkpoint.take(call.simulation)
    return Reply(content, headers=((b"etag", f'"{digest}"'.encode()),))


@ROUTES.declare("GET", "/simulation/checkpoint/current", "simulation:checkpoint", CurrentCheckpointResponse)
def _current(call: Call) -> JsonObject:
    """Which checkpoint the simulation is equal to, if any."""
    return call.simulation.describe()


@ROUTES.declare(
    "POST", "/simulation/checkpoint/mark", "simulation:restore", CurrentCheckpointResponse, body=MarkRequest
)
def _mark(call: Call) -> JsonObject:
    """Note the current step of the simulation; the note lasts until the next restore."""
    call.simulation.mark = call.body.mark
    return _current(call)


@ROUTES.declare("POST", "/simulation/restore", "simulation:restore", RestoreResponse, body=bytes, errors=(400,))
def _restore(call: Call) -> JsonObject:
    """Make the simulation equal to a checkpoint, running or not."""
    return {"restored": True, "checkpoint": checkpoint.restore(call.simulation, call.body)}
