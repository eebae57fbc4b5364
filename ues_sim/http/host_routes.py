"""``/simulations``: making and ending simulations on a host. These need the host key, not a simulation's."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from ues_sim.host import SIMULATION_ID_PATTERN, Host
from ues_sim.http.route import Route
from ues_sim.keys import new_secret
from ues_sim.schema import Int, JsonObject, Request, Response
from ues_sim.simulation import Simulation
from ues_sim.times import Instant

HOST_PERMISSION = "host"
"""The mark of a route that needs the host key. No simulation's key carries it."""


class CreateSimulationRequest(Request):
    """A simulation to be made. What isn't given is drawn. The same seed and the same requests give the same ids."""

    simulation_id: Annotated[str, Field(pattern=f"^{SIMULATION_ID_PATTERN.pattern}$")] | None = None
    admin_key: Annotated[str, Field(min_length=16, max_length=200, pattern=r"^[!-~]+$")] | None = None
    seed: Int | str | None = None


class CreateSimulationResponse(Response):
    """Where the simulation stands, and the secret of its admin key, shown this once."""

    simulation_id: str
    base_url: str
    admin_key: str


class SimulationEntry(Response):
    """A simulation on this host. ``created_at`` is wall time."""

    simulation_id: str
    base_url: str
    created_at: Instant
    current_time: Instant
    is_running: bool


class SimulationListResponse(Response):
    """The simulations on this host, in order of creation."""

    simulations: list[SimulationEntry]
    count: int


class DeleteSimulationResponse(Response):
    """A simulation that is gone, with its keys."""

    simulation_id: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class HostCall:
    """One checked request to the host."""

    host: Host
    base: str
    """The server's address as the caller sees it, without a slash at the end."""
    body: Any
    path: dict[str, str]

    def url(self, simulation: Simulation) -> str:
        """Where a simulation stands."""
        return f"{self.base}/simulations/{simulation.simulation_id}"


def _entry(call: HostCall, simulation: Simulation) -> JsonObject:
    simulation.catch_up()
    return {
        "simulation_id": simulation.simulation_id,
        "base_url": call.url(simulation),
        "created_at": simulation.created_at,
        "current_time": simulation.clock.text,
        "is_running": simulation.is_running,
    }


def _create(call: HostCall) -> JsonObject:
    body: CreateSimulationRequest = call.body
    admin_key = body.admin_key or new_secret()
    seed = None if body.seed is None else str(body.seed)
    simulation = call.host.create(body.simulation_id, admin_key, seed)
    return {
        "simulation_id": simulation.simulation_id,
        "base_url": call.url(simulation),
        "admin_key": admin_key,
    }


def _list(call: HostCall) -> JsonObject:
    entries = [_entry(call, simulation) for simulation in call.host.simulations.values()]
    return {"simulations": entries, "count": len(entries)}


def _get(call: HostCall) -> JsonObject:
    return _entry(call, call.host.get(call.path["simulation_id"]))


def _delete(call: HostCall) -> JsonObject:
    simulation_id = call.path["simulation_id"]
    call.host.delete(simulation_id)
    return {"simulation_id": simulation_id, "deleted": True}


HOST_ROUTES: tuple[Route[HostCall], ...] = (
    Route(
        method="POST",
        path="/simulations",
        summary="Make a simulation.",
        handler=_create,
        permission=HOST_PERMISSION,
        tag="host",
        body=CreateSimulationRequest,
        body_required=False,
        responses=(CreateSimulationResponse,),
        status=201,
        errors=(409,),
    ),
    Route(
        method="GET",
        path="/simulations",
        summary="List the simulations.",
        handler=_list,
        permission=HOST_PERMISSION,
        tag="host",
        responses=(SimulationListResponse,),
    ),
    Route(
        method="GET",
        path="/simulations/{simulation_id}",
        summary="Read one simulation.",
        handler=_get,
        permission=HOST_PERMISSION,
        tag="host",
        responses=(SimulationEntry,),
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path="/simulations/{simulation_id}",
        summary="End a simulation. Its keys die with it.",
        handler=_delete,
        permission=HOST_PERMISSION,
        tag="host",
        responses=(DeleteSimulationResponse,),
        errors=(404,),
    ),
)
