"""The activities that greet the participant, let it play its turns, and notify it of the end.

In each step, an ``Attempt`` (``turn_attempt``) holds a ``Dialogue`` with the participant. At a turn's end, the
simulation settles (``proctor.activities.simulation.settling``).
"""

import asyncio
from contextlib import suppress

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from proctor.activities.attempts import failures, notes
from proctor.activities.attempts.patience import patiently
from proctor.activities.participant.clarifications import noted_clarifications
from proctor.activities.participant.dialogue import Dialogues
from proctor.activities.participant.earlier_tasks import was_asked_in_earlier_run
from proctor.activities.participant.payloads import FarewellInput, Greeted, GreetInput, TurnAnswer, TurnInput
from proctor.activities.participant.transcripts import kept_transcript
from proctor.activities.participant.turn_attempt import Attempt, Work
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.activities.simulation.hosts import SimulationGoneError
from proctor.activities.simulation.settling import Settling
from proctor.activities.simulation.simulations import Simulations
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobRef, BlobStore
from purple_sdk.protocol import messages
from purple_sdk.ues import UESError

FAREWELL_SECONDS = 2.0
"""How long the end of an assessment may wait for the participant to take note of it."""

_LOOK_SECONDS = 0.5
"""The longest wait, in seconds, for the simulator to say whether another worker has continued the assessment."""


class ParticipantActivities:
    def __init__(
        self,
        config: GreenAgentConfig,
        scenarios: Scenarios,
        simulations: Simulations,
        store: BlobStore | None = None,
    ) -> None:
        self._scenarios = scenarios
        self._simulations = simulations
        self._dialogues = Dialogues(config, scenarios)
        self._store = store

    async def aclose(self) -> None:
        await self._dialogues.aclose()

    @activity.defn
    async def greet(self, payload: GreetInput) -> Greeted:
        """Send ``assessment_start``. Return the checkpoint after it, since a participant may act at once."""
        work = Work.of_greeting(payload)
        attempt = await Attempt.begin(self._simulations, work)
        is_reset = payload.is_reset or was_asked_in_earlier_run(payload)
        try:
            async with self._dialogues.hold_dialogue(attempt, "the start message", is_renewed=is_reset) as dialogue:
                answer = await dialogue.greet(payload)
            is_remembered = await attempt.has_mark()
        except SimulationGoneError:
            is_remembered = False
        if not is_remembered:
            raise failures.SIMULATION_LOST.passing(  # even if the participant has failed: that was not its fault
                "The simulator lost what the participant did when it was greeted: it has to be greeted again."
            )
        answer.require_success()
        attempt.simulation.note_access_sent()
        checkpoint = await attempt.keep()
        return Greeted(sha256=checkpoint.sha256, size=checkpoint.size, key=attempt.key, card=dialogue.card)

    @activity.defn
    async def purple_turn(self, payload: TurnInput) -> TurnAnswer:
        """Let the participant play one try of a turn, from the turn's first checkpoint to its last one."""
        work = Work.of_turn(payload)
        attempt = await Attempt.begin(self._simulations, work)
        what, is_renewed = f"turn {payload.turn}", attempt.has_new_key
        try:
            async with self._dialogues.hold_dialogue(
                attempt, what, is_renewed=is_renewed, left=payload.left
            ) as dialogue:
                answer = await dialogue.play_try(payload)
            try:
                message = await dialogue.read_message(answer)
                return await self._settle(payload, message, attempt)
            except ApplicationError as error:
                raise failures.altered(error, failures.OVER) from None
        except SimulationGoneError:
            raise attempt.lost_error() from None

    @activity.defn
    async def farewell(self, payload: FarewellInput) -> None:
        """Have the participant stop its unfinished tasks, and send ``assessment_complete``.

        The activity doesn't fail if the participant can't be informed. It does nothing if the assessment was reset and
        continues in another run.
        """
        plan = payload.plan
        with suppress(UESError, TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                if await self._simulations.of(plan).is_held_by_newer(plan.simulation_id):
                    return
        unfinished = list(payload.left)
        with suppress(RPCError):
            unfinished += await notes.tasks_called_off()
        with suppress(ApplicationError, TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._dialogues.end(plan, unfinished, messages.AssessmentCompleteMessage(reason=payload.reason))

    async def _settle(self, payload: TurnInput, message: messages.FromParticipant, attempt: Attempt) -> TurnAnswer:
        """Settle a turn after the participant's last message, in the same attempt if the host supports it."""
        time_step, trajectory = _time_step(message), await self._keep_trajectory(message)
        plan, simulations = payload.plan, self._simulations.of(payload.plan)
        if simulations.host.outlive_workers:
            scenario = await patiently(lambda: self._scenarios.load_scenario(plan.scenario))
            settling = Settling(scenario, payload.turn, payload.current_time)
            applied = await settling.settle(simulations, plan.simulation_id, attempt.mark)
            checkpoint = applied.checkpoint
        else:
            applied, checkpoint = None, await attempt.keep_changes()
        return TurnAnswer(
            checkpoint=checkpoint,
            kind=message.message_type,
            reported=message.actions or [],
            is_reported=message.actions is not None,
            notes=message.reason if isinstance(message, messages.EarlyCompletionMessage) else message.notes,
            time_step=time_step,
            model_usage=message.model_usage,
            clarifications=noted_clarifications(),
            key=attempt.key if attempt.has_new_key else payload.key,
            applied=applied,
            trajectory=trajectory,
        )

    async def _keep_trajectory(self, message: messages.FromParticipant) -> BlobRef | None:
        store, trajectory = self._store, message.trajectory
        if store is None or trajectory is None:
            return None
        return await patiently(lambda: store.put(kept_transcript(trajectory)))


def _time_step(message: messages.FromParticipant) -> str | None:
    if not isinstance(message, messages.TurnCompleteMessage) or "time_step" not in message.model_fields_set:
        return None
    return message.time_step
