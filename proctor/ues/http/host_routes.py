"""The routes of ``/simulations``: make and end simulations on a host. They need the host key, not a simulation's."""

from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from pydantic import Field

from proctor.ues import checkpoint
from proctor.ues.claims import Claim, claim
from proctor.ues.host import SIMULATION_ID_PATTERN, Host
from proctor.ues.http.pieces import split, with_parts
from proctor.ues.http.requests import read_json
from proctor.ues.http.route import Reply, Routes
from proctor.ues.keys import new_secret
from proctor.ues.modalities import MODALITIES
from proctor.ues.parts import name_content
from proctor.ues.problems import Impossible, NotFound
from proctor.ues.schema import Int, JsonObject, Request, Response, Secret, validate
from proctor.ues.simulation import Simulation
from proctor.ues.steps import Step, carry_out
from proctor.ues.times import Instant

HOST_PERMISSION = "host"
"""The permission of routes that need the host key. No simulation's key has it."""


class CreateSimulationRequest(Request):
    """A simulation to make. Omitted values are drawn. The same seed and the same requests give the same ids."""

    simulation_id: Annotated[str, Field(pattern=f"^{SIMULATION_ID_PATTERN.pattern}$")] | None = None
    admin_key: Secret | None = None
    seed: Int | str | None = None


class CreateSimulationResponse(Response):
    """The simulation's address, and the secret of its admin key, which is shown only once."""

    simulation_id: str
    base_url: str
    admin_key: str


class SimulationEntry(Response):
    """A simulation on this host. ``created_at`` is wall time; ``fence`` is the holder's, 0 for none."""

    simulation_id: str
    base_url: str
    created_at: Instant
    current_time: Instant
    is_running: bool
    fence: int


class SimulationListResponse(Response):
    """The simulations on this host, in order of creation."""

    simulations: list[SimulationEntry]
    count: int


class DeleteSimulationResponse(Response):
    """The simulation that was deleted, with its keys."""

    simulation_id: str
    deleted: bool


class FenceResponse(Response):
    """The fence that holds a simulation or has ended it; 0 for none."""

    fence: int
    is_there: bool


class StepRequest(Step, Claim):
    """A claim (``proctor.ues.claims.Claim``) and the step that follows it (``proctor.ues.steps.Step``).

    Attributes:
        lengths: the lengths of the manifest and the parts that follow the first line; empty for a whole checkpoint.
        takes_checkpoint: whether the answer contains the reached checkpoint, after its first line.
        takes_parts: whether the answer contains the reached checkpoint in parts.
    """

    lengths: list[Annotated[Int, Field(ge=0)]] = Field(default_factory=list)
    takes_checkpoint: bool = False
    takes_parts: bool = False


class LeaveRequest(Request):
    """The parts of a checkpoint that follow the first line, for a coming claim; ``lengths`` are their lengths."""

    lengths: Annotated[list[Annotated[Int, Field(ge=0)]], Field(min_length=1)]


class LeaveResponse(Response):
    """The number of parts that wait for the claim."""

    count: int


class StepResponse(Response):
    """The simulation's checkpoint, mark and fence, and the data that the step has read.

    At the end of a turn that has a course, ``course`` is added: ``ended_at``, the turn's counts ``requests`` and
    ``events_executed``, ``moves`` and ``noise``. ``moves`` lists the seconds that each request cost under a measured
    clock, and ``noise`` counts each kind.

    With ``takes_parts``, ``new`` and ``lengths`` are added, as in ``GET /simulation/checkpoint/parts``. So is
    ``states_parts``: the checkpoint's parts that are left out of ``states``, listed as in a manifest.
    """

    checkpoint: str | None
    mark: str | None
    fence: int
    is_untouched: bool
    life: str
    current_time: Instant
    events_executed: int
    actions: list[JsonObject]
    news: JsonObject
    states: JsonObject


@dataclass(frozen=True, slots=True)
class HostCall:
    """One checked request to the host."""

    host: Host
    base: str
    """The server's address as the caller sees it, without a final slash."""
    body: Any
    path: dict[str, str]
    fence: int | None

    def locate(self, simulation: Simulation) -> str:
        return f"{self.base}/simulations/{simulation.simulation_id}"


HOST_ROUTES: Routes[HostCall] = Routes()


def _entry(call: HostCall, simulation: Simulation) -> JsonObject:
    simulation.catch_up()
    return {
        "simulation_id": simulation.simulation_id,
        "base_url": call.locate(simulation),
        "created_at": simulation.created_at,
        "current_time": simulation.clock.text,
        "is_running": simulation.is_running,
        "fence": simulation.fence,
    }


@HOST_ROUTES.declare(
    "POST",
    "/simulations",
    HOST_PERMISSION,
    CreateSimulationResponse,
    body=CreateSimulationRequest,
    body_required=False,
    status=201,
    errors=(409,),
)
def _create(call: HostCall) -> JsonObject:
    """Make a simulation."""
    body: CreateSimulationRequest = call.body
    admin_key = body.admin_key or new_secret()
    simulation = call.host.create(body.simulation_id, admin_key, body.seed)
    return {
        "simulation_id": simulation.simulation_id,
        "base_url": call.locate(simulation),
        "admin_key": admin_key,
    }


@HOST_ROUTES.declare("GET", "/simulations", HOST_PERMISSION, SimulationListResponse)
def _list(call: HostCall) -> JsonObject:
    """List the simulations."""
    entries = [_entry(call, simulation) for simulation in call.host.simulations.values()]
    return {"simulations": entries, "count": len(entries)}


@HOST_ROUTES.declare("GET", "/simulations/{simulation_id}", HOST_PERMISSION, SimulationEntry, errors=(404,))
def _get(call: HostCall) -> JsonObject:
    """Read one simulation."""
    return _entry(call, call.host.get(call.path["simulation_id"]))


@HOST_ROUTES.declare(
    "DELETE", "/simulations/{simulation_id}", HOST_PERMISSION, DeleteSimulationResponse, errors=(404, 412, 428)
)
def _delete(call: HostCall) -> JsonObject:
    """End a simulation. Its keys end with it; a lower fence can't bring it back."""
    simulation_id = call.path["simulation_id"]
    call.host.delete(simulation_id, call.fence)
    return {"simulation_id": simulation_id, "deleted": True}


@HOST_ROUTES.declare("GET", "/simulations/{simulation_id}/fence", HOST_PERMISSION, FenceResponse)
def _fence(call: HostCall) -> JsonObject:
    """Read the fence of a simulation, also of one that was ended."""
    simulation_id = call.path["simulation_id"]
    return {"fence": call.host.find_fence(simulation_id), "is_there": simulation_id in call.host.simulations}


@HOST_ROUTES.declare(
    "POST", "/simulations/{simulation_id}/parts", HOST_PERMISSION, LeaveResponse, body=bytes, errors=(400, 404, 422)
)
def _leave(call: HostCall) -> JsonObject:
    """Leave parts of a checkpoint for a coming claim that lacks them. The body's first line is the request (JSON), the
    rest the parts.
    """
    head, _, content = call.body.partition(b"\n")
    asked = validate(LeaveRequest, read_json(head), "body")
    simulation_id = call.path["simulation_id"]
    if SIMULATION_ID_PATTERN.fullmatch(simulation_id) is None:
        raise NotFound(f"There can't be a simulation {simulation_id[:80]!r}.")
    return {"count": call.host.leave_parts(simulation_id, split(content, asked.lengths))}


@HOST_ROUTES.declare(
    "POST",
    "/simulations/{simulation_id}/step",
    HOST_PERMISSION,
    StepResponse,
    body=bytes,
    errors=(400, 404, 409, 412, 422),
)
def _step(call: HostCall) -> Reply:
    """Claim a simulation, and carry out a step in it. The body's first line is the request (JSON). The content of the
    checkpoint follows, if it is sent. The answer has the same form.
    """
    head, _, content = call.body.partition(b"\n")
    asked = validate(StepRequest, read_json(head), "body")
    simulation_id = call.path["simulation_id"]
    if SIMULATION_ID_PATTERN.fullmatch(simulation_id) is None:
        raise NotFound(f"There can't be a simulation {simulation_id[:80]!r}.")
    for name in asked.states:
        if name not in MODALITIES:
            raise Impossible(f"There is no modality {name[:80]!r}; there are {', '.join(MODALITIES)}.")
    pieces = split(content, asked.lengths) if asked.lengths else [content]
    parts = {name_content(part): part for part in pieces[1:]}
    simulation = claim(call.host, simulation_id, asked, pieces[0], parts)
    outcome = carry_out(simulation, asked)
    if asked.takes_parts:
        described, pieces = with_parts(checkpoint.take_in_parts(simulation))
        states, listed = simulation.parts.shorten_shown(outcome["states"])
        described |= {"states": states, "states_parts": listed}
        return Reply(b"\n".join((orjson.dumps({**simulation.describe(), **outcome, **described}), b"".join(pieces))))
    taken = checkpoint.take(simulation)[1] if asked.takes_checkpoint else b""
    first_line = orjson.dumps({**simulation.describe(), **outcome})
    return Reply(first_line + b"\n" + taken if taken else first_line)


OF_THE_HOST = frozenset(route.path.rpartition("/")[2] for route in HOST_ROUTES if route.path.count("/") == 3)
"""The host's paths under a simulation's address."""
