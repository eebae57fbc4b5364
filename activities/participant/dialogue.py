"""Talk to the participant in one step: greet it, let it play a try of a turn, and end its unwanted tasks.

Each message has an id that is derived from the step, and the participant's task for the message is noted. So an attempt
that follows a killed one waits for the noted task, or sends the same message again.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from proctor.activities.attempts import failures, notes
from proctor.activities.attempts.fencing import own_fence
from proctor.activities.participant import Answer, AnswerLostError, ParticipantClient, ParticipantClients, message_id
from proctor.activities.participant.answer import OnEvent
from proctor.activities.participant.clarifications import (
    find_clarification,
    noted_clarifications,
    with_clarifications,
    word_clarification,
)
from proctor.activities.participant.earlier_tasks import CANCEL_SECONDS, cancel_all, end_all
from proctor.activities.participant.participants_time import forget, in_time, note_more_wait, seconds_left
from proctor.activities.participant.payloads import GreetInput, TurnInput
from proctor.activities.participant.turn_attempt import Attempt, own_run
from proctor.activities.plan import Plan
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.activities.simulation.lifecycle import summarise
from proctor.protocol.task_ids import unique_part
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol import messages
from purple_sdk.protocol.provenance import ParticipantCard
from purple_sdk.protocol.results import Clarification


class Dialogues:
    """A worker's dialogues, their connections, and the scenarios with the instructions for greetings."""

    def __init__(self, config: GreenAgentConfig, scenarios: Scenarios) -> None:
        self._clients = ParticipantClients(config)
        self._scenarios = scenarios

    async def aclose(self) -> None:
        await self._clients.aclose()

    @asynccontextmanager
    async def hold_dialogue(
        self, attempt: Attempt, what: str, *, is_renewed: bool, left: Sequence[str] = ()
    ) -> AsyncIterator["Dialogue"]:
        """Talk to the participant within its time. Ask the participant to stop if its answer is no longer awaited.

        If another attempt has replaced this one, or if this one ends with its worker, no cancellation is sent: the next
        attempt waits for the same task.

        Args:
            attempt: the attempt at the step.
            what: the step's name in sentences.
            is_renewed: whether the simulation has a new key, or the step is repeated. If so, the participant's earlier
                tasks are ended first.
            left: the known earlier tasks.
        """
        plan = attempt.plan
        async with AsyncExitStack() as stack:
            talk = self._clients.talk(plan.participant_url, unique_part(plan.assessment_id))
            try:
                async with in_time(plan, what):
                    participant = await stack.enter_async_context(talk)
            except ApplicationError as error:
                if error.type == failures.PARTICIPANT_UNREACHABLE and seconds_left(plan) <= 0:
                    raise failures.PARTICIPANT_UNREACHABLE.final(error.message) from None
                raise
            dialogue = Dialogue(participant, attempt, self._scenarios)
            try:
                if is_renewed and not notes.noted_tasks():
                    await dialogue.end_earlier(left)
                async with in_time(plan, what):
                    yield dialogue
            except ApplicationError as error:
                if error.type == failures.TURN_TIMEOUT:
                    await dialogue.abandon()
                raise notes.with_tasks(error) from None
            except asyncio.CancelledError:
                await asyncio.shield(dialogue.abandon_unwanted())
                raise

    async def end(self, plan: Plan, unfinished: Sequence[str], message: messages.AssessmentCompleteMessage) -> None:
        """Ask the participant to stop its ``unfinished`` tasks and all tasks that it lists, then send the last message.

        An attempt that waits for a task also cancels it. If that attempt has died, this method knows the task from
        notes or from the participant's list.
        """
        async with self._clients.talk(plan.participant_url, unique_part(plan.assessment_id)) as participant:
            await cancel_all(participant, unfinished)
            said_as = message_id(plan.assessment_id, own_run(), "complete")
            await participant.send(message, said_as, fence=own_fence())


class Dialogue:
    """A conversation with a participant, in a step's attempt."""

    def __init__(self, participant: ParticipantClient, attempt: Attempt, scenarios: Scenarios) -> None:
        self._participant = participant
        self._attempt = attempt
        self._scenarios = scenarios

    @property
    def card(self) -> ParticipantCard:
        return self._participant.card

    async def greet(self, payload: GreetInput) -> Answer:
        """Send ``assessment_start``, or wait for the answer to an earlier attempt's message."""
        participant, attempt, known = self._participant, self._attempt, None
        if tasks := notes.noted_tasks():
            known = await participant.rejoin(tasks[-1])
            if known is not None and not known.may_have_refused:
                return known
            if known is None:
                # The simulator was restarted during the greeting, and has lost all that the participant did.
                await attempt.begin_again()
        prepared = payload.prepared
        message = await self._greeting(prepared.summary, prepared.current_time, payload.resumes_turn)
        start_id = attempt.message_id(attempt.access.fingerprint)
        try:
            answer = known or await self._say(message, start_id, _note_task)
            return await self._say_as_text(message, start_id, answer, _note_task)
        except _CutOffError:
            forget()  # so the next attempt begins again, with a new key
            raise failures.PARTICIPANT_UNREACHABLE.passing(
                "The connection to the participant was lost after it had begun to act: it has to be greeted again."
            ) from None

    async def play_try(self, payload: TurnInput) -> Answer:
        """Let the participant play a try of a turn. Answer one question, and request an unreadable answer once more."""
        message = messages.TurnStartMessage(
            turn_number=payload.turn,
            current_time=payload.current_time,
            events_processed=payload.events_processed,
            attempt=payload.attempt,
        )
        sent: set[str] = set()
        try:
            answer = await self._play(message)
            while (after := await self._clarify(answer, sent)) is not None:
                answer = after
        except _CutOffError:
            if not self._attempt.is_own:
                raise failures.WORKERS_LOST.final(
                    f"The worker at turn {payload.turn} was lost after the participant had begun to act, and nothing "
                    "tells of its task: the turn has to be played again."
                ) from None
            raise failures.PARTICIPANT_FAILED.final(
                f"The connection to the participant was lost in turn {payload.turn}, after it had begun to act: "
                "the turn has to be played again."
            ) from None
        return answer

    async def read_message(self, answer: Answer) -> messages.FromParticipant:
        """Read the participant's message from the answer to a turn.

        Fails as ``SimulationLost`` if the simulator lost the turn, since the participant isn't to blame then. Other
        failures are those of ``Answer.to_turn``, and say which clarifications the participant got.
        """
        try:
            return answer.to_turn()
        except ApplicationError as error:
            await self._attempt.require_mark()
            raise with_clarifications(error) from None

    async def _play(self, message: messages.TurnStartMessage) -> Answer:
        if tasks := notes.noted_tasks():
            known = await self._participant.rejoin(tasks[-1])
            if known is None:
                raise failures.PARTICIPANT_FAILED.final(
                    f"The participant lost its task of turn {message.turn_number}: it was restarted in mid-turn."
                )
            answer = known
        else:
            if self._attempt.has_new_key or not self._attempt.simulation.is_known_to_participant:
                greeted = await self._greet_in_turn(message)
                if greeted.has_failed:
                    return greeted
            await self._attempt.begin_course()
            answer = await self._say(message, self._attempt.message_id(), _note_task)
        if answer.may_have_refused and (await self._attempt.look()).is_untouched:
            # The participant refused before doing anything: it may have forgotten the assessment in a restart.
            await self._attempt.lift_conditions()
            greeted = await self._greet_in_turn(message)
            if greeted.has_failed:
                return greeted
            await self._attempt.begin_course()
            answer = await self._say(message, self._attempt.message_id("after start"), _note_task)
        return answer

    async def _greet_in_turn(self, turn: messages.TurnStartMessage) -> Answer:
        simulation = self._attempt.simulation
        summary = await summarise(simulation.admin, turn.current_time)
        message = await self._greeting(summary, turn.current_time, turn.turn_number)
        start_id = self._attempt.message_id("start", self._attempt.access.fingerprint)
        answer = await self._say(message, start_id)
        answer = await self._say_as_text(message, start_id, answer)
        if not answer.has_failed:
            simulation.note_access_sent()
        return answer

    async def _greeting(
        self, summary: messages.InitialStateSummary, current_time: datetime, resumes_turn: int | None
    ) -> messages.AssessmentStartMessage:
        access = self._attempt.access
        scenario = await self._scenarios.load_scenario(self._attempt.plan.scenario)
        return messages.AssessmentStartMessage(
            ues_url=access.address,
            api_key=access.secret,
            assessment_instructions=scenario.user_prompt,
            current_time=current_time,
            initial_state_summary=summary,
            resumes_turn=resumes_turn,
            mcp_url=access.mcp,
        )

    async def _say(self, message: messages.ToParticipant, said_as: str, on_event: OnEvent | None = None) -> Answer:
        """Send a message, unless this attempt was overtaken.

        The attempt may have been stopped for a while, so it looks at the simulation first, unless it has just claimed
        it. If an earlier attempt's simulation has changed, wait for the participant's task for the message.

        Raises:
            _CutOffError: the connection or the sending attempt was lost after the message went out, and the simulation
                has changed since. The participant may have died half-way, or continue. Sent again, the message might
                make it act twice.
            ApplicationError: the errors of ``ParticipantClient.send``. The next attempt may send the same message.
        """
        attempt, participant = self._attempt, self._participant
        if not attempt.was_just_claimed:
            current = await attempt.look()
            if not (current.is_untouched or attempt.is_own):
                has_task = await self._has_task(said_as, on_event)
                known = await participant.rejoin(notes.noted_tasks()[-1]) if has_task else None
                if known is None:
                    raise _CutOffError
                return known
        try:
            return await participant.send(message, said_as, on_event, fence=own_fence())
        except AnswerLostError:
            if notes.noted_tasks() or await self._has_task(said_as, on_event):
                raise
            if (await attempt.look()).is_untouched:
                raise
            raise _CutOffError from None

    async def _has_task(self, said_as: str, on_event: OnEvent | None) -> bool:
        """Return whether the participant has a task for a message. If so, note the task."""
        if on_event is None:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS):
                if (task_id := await self._participant.find_task(said_as)) is not None:
                    await notes.note_task(task_id)
                    return True
        return False

    async def _say_as_text(
        self, message: messages.ToParticipant, said_as: str, answer: Answer, on_event: OnEvent | None = None
    ) -> Answer:
        """Send a greeting again without its data part, if the participant failed before it did anything. Return the new
        answer, or ``answer`` if the participant failed again.
        """
        line = self._participant.line
        if not (answer.may_have_refused and line.takes_data):
            return answer
        if not (await self._attempt.look()).is_untouched:
            return answer
        line.takes_data = False
        again = await self._say(message, message_id(said_as, "text"), on_event)
        line.takes_data = again.has_failed
        return answer if again.has_failed else again

    async def _clarify(self, answer: Answer, sent: set[str]) -> Answer | None:
        """Send the clarification that an answer needs. Return the new answer, or None if ``answer`` remains the last
        one.

        ``sent`` has the kinds of clarification that this attempt has sent, and gets the new one. A clarification is
        noted before it is sent.
        """
        needed = find_clarification(self._attempt.turn, answer)
        if needed is None:
            return None
        noted = [clarification for clarification in noted_clarifications() if clarification.kind == needed.kind]
        if needed.kind in sent or any(map(notes.has_task_after, noted)):
            return None
        sent.add(needed.kind)
        notes.note(notes.ClarificationNote(clarification=noted[0] if noted else needed))
        after = await self._tell(needed, answer)
        return None if after is None or (after.has_failed and needed.kind == "unreadable") else after

    async def _tell(self, clarification: Clarification, answer: Answer) -> Answer | None:
        """Send a clarification and return the answer; None if the participant can't take one."""
        if not self._attempt.was_just_claimed:
            await self._attempt.look()
        try:
            return await self._participant.tell(
                word_clarification(clarification),
                self._attempt.message_id(clarification.kind),
                _note_task,
                fence=own_fence(),
                task_id=answer.task_id if clarification.kind == "question" else None,
            )
        except ApplicationError as error:
            if error.type != failures.PARTICIPANT_MISBEHAVED:
                raise
            return None

    async def end_earlier(self, left: Sequence[str]) -> None:
        """Make the participant end earlier tasks: those in ``left``, and those of earlier runs. The time isn't charged.

        If this attempt has made the key, end all other tasks too. Otherwise, some of them may belong to this step.
        """
        known = [*left, *await notes.tasks_of_earlier_runs()]
        lists, seconds = self._attempt.has_own_key, self._attempt.plan.turn_timeout
        note_more_wait(await end_all(self._participant, known, lists=lists, seconds=seconds))

    async def abandon(self) -> None:
        """Ask the participant to cancel this step's task."""
        if tasks := notes.noted_tasks():
            with suppress(TimeoutError):
                async with asyncio.timeout(CANCEL_SECONDS):
                    await self._participant.cancel(tasks[-1])

    async def abandon_unwanted(self) -> None:
        """Cancel this step's task if the assessment is being cancelled, or was reset or terminated. If another attempt
        waits for the same answer, leave the task alone.
        """
        details = activity.cancellation_details()
        if details is None or not notes.noted_tasks():
            return
        is_unwanted = details.cancel_requested
        if details.not_found:
            with suppress(RPCError, TimeoutError):
                async with asyncio.timeout(CANCEL_SECONDS):
                    is_unwanted = await notes.has_run_ended()
        if is_unwanted:
            await self.abandon()


class _CutOffError(Exception):
    """The participant may have acted on a message, but its answer can no longer arrive."""


async def _note_task(answer: Answer) -> None:
    await notes.note_task(answer.task_id)
