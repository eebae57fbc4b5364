"""An attempt at a step in which the participant acts. It decides whether to send, wait or give up.

Whichever process dies, the participant must not act twice. Before a message is sent, the simulation is *marked* with
the current try, in the same request by which the attempt claims it. An attempt that finds the mark of its own try knows
that the participant may have acted already. Such an attempt doesn't start over. It asks for the answer, by the noted
task or by the same message id. If an expected mark is missing, the simulator has lost the turn.

No overtaken attempt may act or send. So an attempt checks whether it was overtaken right before it sends something,
unless it has just claimed the simulation. Its messages carry its fence.

If the participant may still work on an abandoned request, its old key is revoked. It is greeted again with a new key.
This happens in these cases:

* in a new run
* in a try after another one whose end the participant didn't confirm
* in an attempt that can't know the requests of earlier attempts

The mark names the key by the fence of the attempt that made it. ``tests/model`` tries all possible orders of events.
"""

from dataclasses import dataclass

from temporalio import activity
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures, notes
from proctor.activities.attempts.elapsed import counting_stops
from proctor.activities.attempts.fencing import own_fence
from proctor.activities.attempts.patience import patiently
from proctor.activities.participant import message_id, participants_time
from proctor.activities.participant.earlier_tasks import was_asked_in_earlier_run
from proctor.activities.participant.payloads import GreetInput, ParticipantKey, TurnInput
from proctor.activities.plan import Model, Plan
from proctor.activities.simulation.hosts import Access, Conditions, Simulation, SimulationGoneError
from proctor.activities.simulation.simulations import Simulations
from proctor.storage.blobs import BlobRef
from purple_sdk.ues.answers import CurrentCheckpoint

_JUST_SECONDS = 0.03
"""Seconds for which a claim makes a look unnecessary: about the time that it takes to look and then send."""


@dataclass(frozen=True)
class Work:
    """The work of a participant in one step, and its starting point.

    Attributes:
        plan: the assessment's plan.
        checkpoint: the simulation's checkpoint at the start of the step.
        step: its name.
        turn: the turn's number; 0 for a greeting.
        issue: the participant's key so far; None if it needs a new one.
        conditions: the conditions of the participant's requests.
        may_start_over: whether the step begins again if its work was lost.
    """

    plan: Plan
    checkpoint: BlobRef
    step: str
    turn: int = 0
    issue: int | None = None
    conditions: Conditions | None = None
    may_start_over: bool = False

    @classmethod
    def of_greeting(cls, payload: GreetInput) -> "Work":
        return cls(payload.plan, payload.prepared.checkpoint, "start", may_start_over=True)

    @classmethod
    def of_turn(cls, payload: TurnInput) -> "Work":
        plan, turn = payload.plan, payload.turn
        issue = None if payload.needs_new_key or was_asked_in_earlier_run(payload) else payload.key.issue
        step = f"turn {turn} try {payload.attempt}"
        return cls(plan, payload.checkpoint, step, turn, issue, Conditions.of(plan, turn))


class _Mark(Model):
    """The mark of a simulation while a step is in progress. ``issue`` is the number of the participant's key."""

    step: str
    fence: int
    is_again: bool = False
    issue: int


class Attempt:
    """An attempt at a step, with the simulation that it has claimed (``simulation``)."""

    def __init__(self, simulations: Simulations, work: Work, simulation: Simulation) -> None:
        self.simulation = simulation
        self._simulations = simulations
        self._work = work

    @classmethod
    async def begin(cls, simulations: Simulations, work: Work) -> "Attempt":
        """Claim the simulation for a step. Put it into the state at the step's start and mark it. If an earlier attempt
        has noted its mark, and the simulation still has that mark, continue the step instead.

        If the step's work was lost, a step that ``may_start_over`` begins again, without the notes of earlier attempts.
        Other steps fail as ``SimulationLost``.
        """
        own = simulations.of(work.plan)
        return cls(own, work, await _claim(own, work))

    async def begin_again(self) -> None:
        """Bring the simulation back to the start of the step, with a different mark. Ids of messages are derived from
        the mark, so the next message is new to the participant.
        """
        participants_time.forget()
        self.simulation = await _claim(self._simulations, self._work, again=True)

    @property
    def plan(self) -> Plan:
        return self._work.plan

    @property
    def turn(self) -> int:
        return self._work.turn

    @property
    def issue(self) -> int:
        """The number of the participant's key that opens the simulation."""
        return self._mark.issue

    @property
    def has_new_key(self) -> bool:
        """Whether the participant's key differs from the key before the step."""
        return self.issue != self._work.issue

    @property
    def key(self) -> ParticipantKey:
        """The participant's key that opens the simulation."""
        return ParticipantKey(issue=self.issue, run=own_run(), simulator=self.plan.simulator)

    @property
    def access(self) -> Access:
        """The address and the key by which the participant uses the simulation."""
        return self.simulation.make_access(self.issue)

    @property
    def is_own(self) -> bool:
        """Whether this attempt, not an earlier one, has begun the work in progress."""
        return self._mark.fence == own_fence()

    @property
    def has_own_key(self) -> bool:
        """Whether this attempt has made the participant's key."""
        return self.issue == own_fence()

    @property
    def was_just_claimed(self) -> bool:
        """Whether the claim is so recent that no look is needed. The clock shows whether the process was stopped
        since.
        """
        now, claimed_at = counting_stops(), self.simulation.claimed_at
        return now is not None and claimed_at is not None and now - claimed_at < _JUST_SECONDS

    @property
    def mark(self) -> str:
        """The simulation's mark while the work is in progress."""
        return self.simulation.mark or ""

    @property
    def _mark(self) -> _Mark:
        return _Mark.model_validate_json(self.mark)

    def message_id(self, *parts: object) -> str:
        """Return the id of one of the step's messages."""
        return message_id(self.plan.assessment_id, self.simulation.mark, *parts)

    async def look(self) -> CurrentCheckpoint:
        """Look at the simulation. Fails as ``Overtaken`` if a newer attempt has claimed it."""
        return await patiently(self.simulation.look)

    async def has_mark(self) -> bool:
        """Return whether the simulator still has the step's work."""
        return (await self.look()).mark == self.simulation.mark

    async def require_mark(self) -> CurrentCheckpoint:
        """Make sure that the simulator still has the step's work. Fails as ``SimulationLost``."""
        current = await self.look()
        if current.mark != self.simulation.mark:
            raise self.lost_error()
        return current

    def lost_error(self) -> ApplicationError:
        return _lost_error(self._work.step)

    async def begin_course(self) -> None:
        """Set the step's conditions, regardless of earlier attempts. A course that has begun already continues."""
        await self._set_conditions(self._work.conditions)

    async def lift_conditions(self) -> None:
        """Remove the conditions while the participant is greeted in mid-turn."""
        await self._set_conditions(None)

    async def _set_conditions(self, conditions: Conditions | None) -> None:
        simulation = self.simulation
        if simulation.conditions != conditions and self._work.conditions is not None:
            simulation_id, mark = self.plan.simulation_id, self.mark
            await patiently(lambda: self._simulations.set_conditions(simulation_id, mark, conditions))
            simulation.conditions = conditions

    async def keep(self) -> BlobRef:
        """Store a checkpoint of the simulation's present state."""
        return await patiently(lambda: self._simulations.keep(self.simulation))

    async def keep_changes(self) -> BlobRef:
        """Return the checkpoint at the end of the step, a new one if the simulation or the key has changed. Fails as
        ``SimulationLost``.
        """
        current = await self.require_mark()
        if current.is_untouched and not self.has_new_key:
            return self._work.checkpoint
        return await self.keep()


async def _claim(simulations: Simulations, work: Work, again: bool = False) -> Simulation:
    plan = work.plan
    participants_time.note_wait()

    async def claim() -> Simulation:
        if noted := notes.noted(notes.MarkNote):
            try:
                return await simulations.take_over(plan.simulation_id, mark=noted[-1].mark)
            except SimulationGoneError:
                if not work.may_start_over:
                    raise _lost_error(work.step) from None
                participants_time.forget()
        # A later attempt without a note can't know the requests of earlier attempts to the participant.
        is_first = activity.info().attempt == 1
        issue = own_fence() if work.issue is None or not is_first else work.issue
        mark = _Mark(step=f"{own_run()} {work.step}", fence=own_fence(), is_again=again, issue=issue).model_dump_json()
        conditions = work.conditions if issue == work.issue else None  # a new key: the participant is greeted first
        simulation = await simulations.begin(
            plan.simulation_id, work.checkpoint, mark=mark, issue=issue, conditions=conditions
        )
        notes.note(notes.MarkNote(mark=simulation.mark or ""))
        return simulation

    return await patiently(claim)


def own_run() -> str:
    """Return the run, which is part of every message id: a run after a reset doesn't repeat the ids of the run
    before.
    """
    return str(activity.info().workflow_run_id)


def _lost_error(step: str) -> ApplicationError:
    return failures.SIMULATION_LOST.final(
        f"The simulator lost what the participant did in {step}: it has to be played again."
    )
