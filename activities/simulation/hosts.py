"""Where simulations live: a ``SimulationHost`` makes and ends them, on the embedded simulator's servers or each in a
UES server of its own (``AGENTBEATS_GREEN_UES_COMMAND``). A ``Simulation`` answers to the attempt that has claimed it,
until a newer one claims it.
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
"""Fetches the content of the checkpoint that a claim names; it is mostly not needed."""


class SimulationGoneError(Exception):
    """There is no such simulation (any more), as far as this worker can tell; a checkpoint brings it back."""


@dataclass(frozen=True)
class Claim:
    """Who takes a simulation over, and where it is to stand (``proctor.ues.claims``).

    Attributes:
        simulation_id: its name.
        fence: the attempt's.
        checkpoint: where it is to stand; None where only ``keep`` will do.
        keep: where this is its mark, it is kept: this is the work in hand. A ``checkpoint`` beside it is where
            that exists, should it be lost.
        mark: its mark from now on, unless it is kept.
        conditions: those of the turn that begins with the mark; None without a running clock and noise.
        sets_course: the work in hand, which is kept, has these conditions from now on.
        issue: the participant's one key from now on, unless it is kept.
        looks: the attempt only reads; a simulation that is there already will do, for any holder.
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
    """What the participant's requests of a turn meet (``proctor.ues.course``).

    Attributes:
        turn: its number.
        seed: of the draws of its noise.
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
        """Those of a turn of an assessment; None where it has the usual ones."""
        clock = read_clock(plan.clock)
        is_usual = clock == Clock() and not plan.noise
        return None if is_usual else cls(turn, plan.seed, clock.seconds, clock.factor, plan.noise)


class TurnCourse(Model):
    """How a turn went that has conditions.

    Attributes:
        ended_at: the instant of its last request.
        requests, events_executed: how many requests were served, and how many events happened meanwhile.
        moves: the simulated seconds that each request cost under a measured clock, in order.
        noise: how often each kind of noise came.
    """

    ended_at: Instant
    moves: list[float] = Field(default_factory=list)
    requests: int = 0
    events_executed: int = 0
    noise: dict[str, int] = Field(default_factory=dict)


class PlannedEvent(Model):
    """An event that is to be scheduled; where its time is past it happens now."""

    scheduled_time: datetime
    modality: str
    data: dict[str, Any]
    metadata: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What is done in a simulation from one checkpoint to the next, in this order.

    Attributes:
        closes: no key of the participant's opens it any more.
        ends_turn: the participant may change nothing any more until the simulation is marked again.
        events: to be scheduled.
        to: the instant to move the clock to, unless it is there already; later by what the requests of a turn that
            ends have cost.
        actions_at: read what the participant did at that instant, and what is new since then; in a turn whose requests
            cost time, until its end.
        shows_all: read every modality's state.
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
        current_time: of the clock, after it.
        events_executed: while the clock moved.
        actions: the participant's events, as ``GET /events`` answers them.
        news: the states of the modalities that it did something in, with those messages at least that are new.
        states: every modality's state.
        course: of a turn that has ended, where it had conditions.
        states_parts: what of these is left out, since it is in parts that the checkpoint has, too (``shown``).
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
    """What a participant has to know: where the simulation is, and the key that opens it.

    ``mcp`` is where it speaks MCP, for simulators that are known to.
    """

    address: str
    secret: str
    mcp: str | None = None

    @property
    def fingerprint(self) -> str:
        """The same for as long as address and key are."""
        return sha256(f"{self.address} {self.secret}".encode()).hexdigest()[:16]


class Simulation(ABC):
    """One simulation, claimed by an attempt; a request to it fails with a ``purple_sdk.ues.UESError``, such as
    ``OvertakenError`` where a newer attempt has claimed it, and ``look`` with ``SimulationGoneError``.

    Attributes:
        admin: a client that may do everything in it, for as long as the attempt isn't overtaken.
        reader: a client that may look at everything in it and change nothing.
        reader_secret: the key of ``reader``.
        mark: how it was marked when it was claimed.
        life: changes when it is lost and restored.
        claimed_at: when the claim was sent, by ``elapsed.counting_stops``.
        conditions: those that this attempt has had set for the turn, as far as it knows.
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
        """What the participant has to know, with the key that was issued last."""

    @property
    def is_known_to_participant(self) -> bool:
        """False where address or key differ from those that the participant got last, though no new one was issued."""
        return True

    def note_access_sent(self) -> None:
        """Note that the participant has got address and key."""
        return

    @abstractmethod
    async def look(self) -> CurrentCheckpoint:
        """Where it is."""

    @abstractmethod
    async def checkpoint(self, *, everything: bool = False) -> bytes:
        """The simulation as it is now, or the manifest of it (``parts``), whose parts are in the store then.

        ``everything`` has parts put there, too, that are there according to earlier answers: for a checkpoint that
        outlives the one that they were put there for.
        """

    async def check_public_address(self) -> None:  # noqa: B027 - a server of one's own has no other address
        """Fail for good where what answers at the address for participants isn't this simulation."""

    @abstractmethod
    async def make_reader_key(self) -> None:
        """Make the evaluators' key, in a simulation that has none yet."""

    async def load(self, scenario: AsyncIterator[bytes]) -> None:
        """Import a scenario that comes as pieces of JSON."""
        await self.admin.scenario.import_full(from_json(b"".join([piece async for piece in scenario])))

    async def change_keys(self) -> None:
        """Have no key open it that another simulation's checkpoint has brought along; the evaluators get a new one.
        Fails where the server can't have it begin with another one's checkpoint.
        """
        raise failures.SERVER_FAILED.final(
            "A fork needs the embedded simulator: unset AGENTBEATS_GREEN_UES_COMMAND until it has ended."
        )


class SimulationHost(ABC):
    """All simulations of a worker. An attempt with a lower fence than an earlier one is refused
    (``purple_sdk.ues.OvertakenError``). ``SimulationGoneError`` is raised where a claim names no checkpoint, and
    nothing is there to be kept.

    Attributes:
        may_be_others: whether some of those that are standing may be of assessments in another Temporal.
        outlive_workers: whether work in hand is still there when its worker has died, and ``Step.ends_turn`` is known:
            so that a turn may settle without being kept first.
    """

    may_be_others = False
    outlive_workers = False

    def at(self, address: str | None) -> "SimulationHost":
        """Those on one server (``Plan.simulator``); all of them where there is one place only."""
        return self

    async def choose(self, but: str | None = None) -> str | None:
        """The address of the server that has the fewest, of those that answer and are not ``but``; None where there is
        none, and where there is one place only.
        """
        return None

    async def answers(self, address: str | None) -> bool:
        return True

    async def parts(self) -> dict[str, "SimulationHost"]:
        """Every server by its address; one without where there is one place only."""
        return {"": self}

    @abstractmethod
    async def create(self, simulation_id: str, seed: int, fence: int) -> Simulation:
        """Make an empty one; it replaces one that an earlier attempt made."""

    @abstractmethod
    async def claim(self, claim: Claim, content: Content) -> Simulation:
        """Take one over and have it stand where it is to; where there is none, it is made."""

    @abstractmethod
    async def step(self, claim: Claim, step: Step, content: Content) -> tuple[Stepped, bytes]:
        """Take one over and carry out a step in it; returns the step's result, and the content of the checkpoint that
        it reached. ``content`` fetches the claim's checkpoint, only where it is needed.
        """

    async def show(self, simulation: Simulation, claim: Claim, content: Content) -> Stepped:
        """Every modality's state at the claim's checkpoint, which ``content`` fetches where it is needed."""
        return Stepped(current_time=datetime.now(UTC), states=await snapshot(simulation.admin))

    @abstractmethod
    async def end(self, simulation_id: str, fence: int) -> None:
        """End one, and all its keys with it; one that is gone already is fine. No earlier attempt brings it back."""

    @abstractmethod
    async def find_holder(self, simulation_id: str) -> int:
        """The fence that holds one that is there; 0 where there is none."""

    @abstractmethod
    async def list_standing(self) -> dict[str, int]:
        """The names of those that are there and can be ended from here, and the fences that hold them."""

    def list_secrets(self, simulation_id: str) -> set[str]:
        """Keys of the participant's that can't be recognised by their form."""
        return set()

    async def aclose(self) -> None:
        """Let go of everything, at the end of the worker."""
        return
