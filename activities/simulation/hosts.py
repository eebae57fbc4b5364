"""The interface of simulations and their hosts.

A ``SimulationHost`` makes and ends simulations: on the embedded simulator's servers, or each in a separate UES server
(``AGENTBEATS_GREEN_UES_COMMAND``). A ``Simulation`` accepts requests of the attempt that has claimed it, until a newer
attempt claims it.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from pydantic import Field
from pydantic_core import from_json

from proctor.activities.attempts import failures
from proctor.activities.plan import Model, Plan
from proctor.activities.simulation.states import snapshot
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.clocks import Clock, read_clock
from purple_sdk.ues import AsyncUESClient
from purple_sdk.ues.answers import CurrentCheckpoint, Instant

Content = Callable[[], Awaitable[bytes]]
"""A function that fetches the content of a claim's checkpoint; it is rarely needed."""


class SimulationGoneError(Exception):
    """This simulation doesn't exist or is gone, as far as this worker knows; a checkpoint restores it."""


@dataclass(frozen=True)
class Claim:
    """An attempt's claim to a simulation, and the requested state (``proctor.ues.claims``).

    Attributes:
        simulation_id: its name.
        fence: the attempt's fence.
        checkpoint: the requested state; None if only a simulation with the mark ``keep`` is acceptable.
        keep: the mark of the work in progress. A simulation with this mark is kept unchanged. If it is lost,
            ``checkpoint`` restores it, unless that is None.
        mark: the simulation's mark from now on, unless the simulation is kept.
        conditions: the conditions of the turn that begins with the mark; None without a running clock and noise.
        sets_course: whether the kept work in progress gets these conditions from now on.
        issue: the participant's only key from now on, unless the simulation is kept.
        looks: whether the attempt only reads. If so, an existing simulation is accepted, regardless of its holder.
    """

    simulation_id: str
    fence: int
    checkpoint: BlobRef | None = None
    keep: str | None = None
    mark: str | None = None
    conditions: "Conditions | None" = None
    sets_course: bool = False
    issue: int | None = None
    looks: bool = False


@dataclass(frozen=True)
class Conditions:
    """The conditions of the participant's requests in a turn (``proctor.ues.course``).

    Attributes:
        turn: its number.
        seed: the seed of its noise.
        seconds: the simulated seconds that each request costs.
        factor: the simulated seconds that each second of the participant's time costs.
        noise: its level, 0 to 3.
    """

    turn: int
    seed: int
    seconds: float
    factor: float
    noise: int

    @classmethod
    def of(cls, plan: Plan, turn: int) -> "Conditions | None":
        """Return the conditions of a turn of an assessment; None for the usual ones."""
        clock = read_clock(plan.clock)
        is_usual = clock == Clock() and not plan.noise
        return None if is_usual else cls(turn, plan.seed, clock.seconds, clock.factor, plan.noise)


class TurnCourse(Model):
    """The course of a turn with conditions.

    Attributes:
        ended_at: the instant of its last request.
        requests, events_executed: how many requests were served, and how many events happened in the turn.
        moves: the cost of each request in simulated seconds under a measured clock, in order.
        noise: how often each kind of noise occurred.
    """

    ended_at: Instant
    moves: list[float] = Field(default_factory=list)
    requests: int = 0
    events_executed: int = 0
    noise: dict[str, int] = Field(default_factory=dict)


class PlannedEvent(Model):
    """An event to schedule; if its time is past, it happens now."""

    scheduled_time: datetime
    modality: str
    data: dict[str, Any]
    metadata: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """The actions in a simulation from one checkpoint to the next, in this order.

    Attributes:
        closes: whether to revoke all keys of the participant.
        ends_turn: whether to refuse changes by the participant until the simulation is marked again.
        events: the events to schedule.
        to: the instant to which the clock moves; a later clock stays. If a turn ends, the cost of its requests is
            added.
        actions_at: the instant of the actions to read, with the changes since then. In a turn whose requests cost time,
            actions are read until its end.
        shows_all: whether to read every modality's state.
    """

    closes: bool = False
    ends_turn: bool = False
    events: tuple[PlannedEvent, ...] = ()
    to: datetime | None = None
    actions_at: datetime | None = None
    shows_all: bool = False


class Stepped(Model):
    """The result of a step.

    Attributes:
        current_time: the clock after the step.
        events_executed: how many events happened while the clock moved.
        actions: the participant's events, in the form of ``GET /events``.
        news: the states of the modalities that the participant used, with at least the new messages.
        states: every modality's state.
        course: the course of a turn that has ended, if it had conditions.
        states_parts: the data that ``states`` leaves out, since the checkpoint also has it in parts (``shown``).
    """

    current_time: Instant
    events_executed: int = 0
    actions: list[dict[str, Any]] = Field(default_factory=list)
    news: dict[str, dict[str, Any]] = Field(default_factory=dict)
    states: dict[str, dict[str, Any]] = Field(default_factory=dict)
    course: TurnCourse | None = None
    states_parts: list[dict[str, Any]] = Field(default_factory=list)


@dataclass(frozen=True)
class Access:
    """A participant's access to a simulation: its address and key.

    ``mcp`` is the address for MCP, if the simulator is known to have one.
    """

    address: str
    secret: str
    mcp: str | None = None

    @property
    def fingerprint(self) -> str:
        """A fingerprint of address and key."""
        return sha256(f"{self.address} {self.secret}".encode()).hexdigest()[:16]


class Simulation(ABC):
    """One simulation, claimed by an attempt. A request to it fails with a ``purple_sdk.ues.UESError``, for example with
    ``OvertakenError`` if a newer attempt has claimed it. ``look`` fails with ``SimulationGoneError``.

    Attributes:
        admin: a client with all permissions, until a newer attempt claims the simulation.
        reader: a client that may read everything and change nothing.
        reader_secret: the key of ``reader``.
        mark: its mark at the time of the claim.
        life: a value that changes when the simulation is lost and restored.
        claimed_at: when the claim was sent, by ``elapsed.counting_stops``.
        conditions: the conditions that this attempt has set for the turn, as far as it knows.
    """

    admin: AsyncUESClient
    reader: AsyncUESClient
    reader_secret: str
    mark: str | None = None
    life: str = ""
    claimed_at: float | None = None
    conditions: Conditions | None = None

    @abstractmethod
    def make_access(self, issue: int) -> Access:
        """Return the participant's access, with the key that was issued last."""

    @property
    def is_known_to_participant(self) -> bool:
        """Whether the participant knows the present address and key. A server that was started again may have others,
        although no new key was issued.
        """
        return True

    def note_access_sent(self) -> None:
        """Note that the address and the key were sent to the participant."""
        return

    @abstractmethod
    async def look(self) -> CurrentCheckpoint:
        """Return the simulation's current checkpoint."""

    @abstractmethod
    async def checkpoint(self, *, everything: bool = False) -> bytes:
        """Return the simulation's present content, or its manifest (``proctor.storage.parts``) after its parts were
        stored.

        With ``everything``, parts that earlier answers report as stored are stored again. Use it for a checkpoint that
        outlives the earlier checkpoint with these parts.
        """

    async def check_public_address(self) -> None:  # noqa: B027 - a separate server has no other address
        """Fail finally if another server answers at the participants' address."""

    @abstractmethod
    async def make_reader_key(self) -> None:
        """Make the evaluators' key in a simulation without one."""

    async def load(self, scenario: AsyncIterator[bytes]) -> None:
        """Import a scenario that comes as pieces of JSON."""
        await self.admin.scenario.import_full(from_json(b"".join([piece async for piece in scenario])))

    async def change_keys(self) -> None:
        """Revoke all keys that came with another simulation's checkpoint; make a new one for the evaluators.

        Fails if the server can't begin with another simulation's checkpoint.
        """
        raise failures.SERVER_FAILED.final(
            "A fork needs the embedded simulator: unset AGENTBEATS_GREEN_UES_COMMAND until it has ended."
        )


class SimulationHost(ABC):
    """All simulations of a worker. An attempt with a lower fence than an earlier one is refused
    (``purple_sdk.ues.OvertakenError``). Methods raise ``SimulationGoneError`` if a claim names no checkpoint and no
    simulation can be kept.

    Attributes:
        may_be_others: whether some existing simulations may belong to assessments in another Temporal.
        outlive_workers: whether work in progress outlives its worker, and the host supports ``Step.ends_turn``. If so,
            a turn may settle without an earlier checkpoint.
    """

    may_be_others = False
    outlive_workers = False

    def at(self, address: str | None) -> "SimulationHost":
        """Return the simulations on one server (``Plan.simulator``); all simulations if there is only one server."""
        return self

    async def choose(self, but: str | None = None) -> str | None:
        """Return the address of the server with the fewest simulations, among those that answer, except ``but``. None
        if no server answers, or if there is only one.
        """
        return None

    async def answers(self, address: str | None) -> bool:
        return True

    async def parts(self) -> dict[str, "SimulationHost"]:
        """Return every server by its address. A single server has an empty address."""
        return {"": self}

    @abstractmethod
    async def create(self, simulation_id: str, seed: int, fence: int) -> Simulation:
        """Make an empty simulation. It replaces a simulation that an earlier attempt made."""

    @abstractmethod
    async def claim(self, claim: Claim, content: Content) -> Simulation:
        """Claim a simulation and put it into the requested state; make it if it doesn't exist."""

    @abstractmethod
    async def step(self, claim: Claim, step: Step, content: Content) -> tuple[Stepped, bytes]:
        """Claim a simulation and carry out a step in it; return the step's result, and the content of the new
        checkpoint. ``content`` fetches the claim's checkpoint, and is only called if needed.
        """

    async def show(self, simulation: Simulation, claim: Claim, content: Content) -> Stepped:
        """Return every modality's state at the claim's checkpoint, which ``content`` fetches if needed."""
        return Stepped(current_time=datetime.now(UTC), states=await snapshot(simulation.admin))

    @abstractmethod
    async def end(self, simulation_id: str, fence: int) -> None:
        """End a simulation and all its keys, if it still exists. No earlier attempt can restore it."""

    @abstractmethod
    async def find_holder(self, simulation_id: str) -> int:
        """Return the fence that holds an existing simulation; 0 if there is none."""

    @abstractmethod
    async def list_standing(self) -> dict[str, int]:
        """Return the names of existing simulations that can be ended from here, and the fences that hold them."""

    def list_secrets(self, simulation_id: str) -> set[str]:
        """Return the participant's keys that can't be recognised by their form."""
        return set()

    async def aclose(self) -> None:
        """Release all resources, at the end of the worker."""
        return
