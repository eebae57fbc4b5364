"""The turns of an assessment: the participant acts, characters answer, time passes."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pydantic import JsonValue
from temporalio import workflow

from proctor.activities.archive.payloads import TurnNote
from proctor.activities.attempts import failures
from proctor.activities.characters.activities import CharacterActivities
from proctor.activities.characters.messages import OutgoingMessage, RespondInput
from proctor.activities.participant.payloads import TurnAnswer
from proctor.activities.plan import Plan
from proctor.activities.simulation import payloads
from proctor.activities.simulation.turns import TurnActivities
from proctor.protocol import updates
from proctor.workflows import limits
from proctor.workflows.archiving import reply_records
from proctor.workflows.participant import let_play
from proctor.workflows.progress import Progress
from proctor.workflows.publishing import UpdatePublisher
from proctor.workflows.steps import Steps, named
from purple_sdk.protocol.durations import format_iso8601_duration
from purple_sdk.protocol.provenance import ModelUse, added_up
from purple_sdk.protocol.results import ReportedAction, TurnModelUsage


class Meeting(NamedTuple):
    """The result of a turn for one role: the next instant of its clock, and the messages that arrive."""

    to: datetime
    arrivals: list[OutgoingMessage]


class Exchange:
    """One turn of the roles that play it. Each role meets the other roles once, or leaves."""

    def __init__(self, roles: Sequence[str]) -> None:
        self._roles = list(roles)
        self._awaited = set(roles)
        self._sent: dict[str, list[payloads.Sent]] = {}
        self._ends: list[datetime] = []
        self._settled: list[datetime] = []

    def leave(self, role: str, sent: Iterable[payloads.Sent] = ()) -> None:
        """Remove a role that has ended its assessment or failed, so the other roles don't wait for it. Its ``sent``
        messages still arrive.
        """
        if role in self._awaited:
            self._sent[role] = list(sent)
            self._awaited.discard(role)

    async def meet(self, role: str, sent: Iterable[payloads.Sent], ends: datetime, settled_at: datetime) -> Meeting:
        """Wait until every other role has called this method or left.

        Args:
            role: the calling role.
            sent: its participant's messages to users of other roles.
            ends: the planned end of the role's turn. The earliest end counts for all roles, to keep their clocks equal.
            settled_at: the instant of the role's simulation. The returned instant is never earlier than any role's.
        """
        self._ends.append(ends)
        self._settled.append(settled_at)
        self.leave(role, sent)
        await workflow.wait_condition(lambda: not self._awaited)
        arrivals = [
            delivery.message for other in self._roles for delivery in self._sent.get(other, ()) if delivery.role == role
        ]
        return Meeting(max(min(self._ends), *self._settled), arrivals)


_LONGEST_TEXT = 400
_LONGEST_LIST = 20
_LONGEST_NOTES = 200
"""The most characters of a turn's notes that the update of each action repeats."""


class Turns:
    """The turns that the scenario's time allows. Each turn is recorded in the progress."""

    def __init__(self, steps: Steps, publisher: UpdatePublisher, plan: Plan, progress: Progress) -> None:
        self.exchange: Exchange | None = None
        """The meeting with the other participants of the turn; None for a single participant."""
        self._steps = steps
        self._publisher = publisher
        self._plan = plan
        self._progress = progress

    def is_another_due(self) -> bool:
        """Return whether there is time for another turn and the participant has not ended the assessment."""
        plan, progress = self._plan, self._progress
        return (
            not progress.early_completion and progress.turn < plan.max_turns and progress.current_time < plan.end_time
        )

    async def play_next(self) -> None:
        self._publisher.turn = self._progress.turn + 1
        await self._play(self._publisher.turn)
        self._publisher.turn = None

    async def _play(self, turn: int) -> None:
        plan, progress, began_at = self._plan, self._progress, self._progress.current_time
        self._publisher.show(
            f"**Turn {turn}** of about {plan.expected_turns}, {began_at:%Y-%m-%d %H:%M}", begins=f"turn {turn}"
        )
        self._publisher.publish(
            updates.TurnStartedUpdate(
                turn_number=turn, current_time=began_at, events_processed=progress.events_processed
            )
        )
        answer = await let_play(self._steps, self._publisher, plan, progress, turn)
        target = plan.end_of_turn(began_at, answer.time_step)
        applied = answer.applied
        if applied is None:  # the simulator ends with its worker
            applied = await self._steps.do(
                TurnActivities.apply,
                payloads.ApplyInput(
                    plan=plan.for_step(),
                    turn=turn,
                    checkpoint=answer.checkpoint,
                    turn_start=began_at,
                ),
                **limits.prepared(f"turn {turn}"),
            )
        self._note(turn, answer, applied, target - began_at)
        progress.checkpoint = applied.checkpoint
        settled_at = applied.settled_at or began_at + payloads.TURN_SETTLES
        about: dict[str, Any] = {"turn": turn, "began_at": began_at, "moves": applied.moves, "noise": applied.noise}
        if progress.early_completion:
            progress.turns.append(TurnNote(reached=settled_at, checkpoint=applied.checkpoint, **about))
            if self.exchange:
                self.exchange.leave(plan.participant, applied.sent)
            return
        replies = await self._let_characters_reply(turn, applied)
        arrivals: list[OutgoingMessage] = []
        if self.exchange:
            target, arrivals = await self.exchange.meet(plan.participant, applied.sent, target, settled_at)
        advanced = await self._steps.do(
            TurnActivities.advance,
            payloads.AdvanceInput(
                plan=plan.for_step(),
                turn=turn,
                checkpoint=applied.checkpoint,
                replies=replies,
                to=target,
                arrivals=arrivals,
            ),
            **limits.prepared(f"turn {turn} · to {target:%H:%M}"),
        )
        progress.checkpoint = advanced.checkpoint
        progress.current_time = advanced.current_time
        progress.events_processed = applied.events_processed + advanced.events_processed
        progress.turns.append(
            TurnNote(
                reached=advanced.current_time,
                checkpoint=advanced.checkpoint,
                replies=reply_records(replies),
                events_processed=progress.events_processed,
                **about,
            )
        )
        self._publisher.publish(
            updates.SimulationAdvancedUpdate(
                turn_number=turn,
                previous_time=began_at,
                new_time=advanced.current_time,
                duration=format_iso8601_duration(advanced.current_time - began_at),
                events_processed=progress.events_processed,
            )
        )

    async def _let_characters_reply(self, turn: int, applied: payloads.TurnApplied) -> list[payloads.PlannedReply]:
        plan, progress = self._plan, self._progress

        async def reply(addressee: payloads.Addressee) -> payloads.PlannedReply | None:
            message = applied.messages[addressee.message]
            with named(f"Character {addressee.character_id}"):
                responded = await self._steps.do(
                    CharacterActivities.respond,
                    RespondInput(
                        scenario=plan.scenario,
                        seed=plan.seed,
                        turn=turn,
                        offline=plan.offline,
                        character_id=addressee.character_id,
                        message=message,
                    ),
                    **limits.thinking(plan, f"turn {turn} · {addressee.character_id}"),
                )
            usage.extend(responded.usage)
            progress.drafts = progress.drafts.add(responded.drafts)
            return None if responded.reply is None else payloads.PlannedReply(reply=responded.reply, message=message)

        usage: list[ModelUse] = []
        # Wait for all, even if one fails, to count the usage of models by all.
        is_all_counted = not plan.offline
        try:
            outcomes = await asyncio.gather(*map(reply, applied.addressed), return_exceptions=is_all_counted)
        finally:
            usage += self._steps.usage_of_failures.pop(CharacterActivities.respond.__name__, [])
            progress.characters_usage = added_up([*progress.characters_usage, *usage])
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        replies = [outcome for outcome in outcomes if isinstance(outcome, payloads.PlannedReply)]
        self._publisher.publish(
            updates.ResponsesGeneratedUpdate(
                turn_number=turn,
                responses_count=len(replies),
                characters_involved=sorted({r.reply.character_id for r in replies}),
            )
        )
        return replies

    def _note(self, turn: int, answer: TurnAnswer, applied: payloads.TurnApplied, time: timedelta) -> None:
        progress = self._progress
        progress.turn = turn
        progress.early_completion = answer.kind == "early_completion"
        progress.has_reported_all = answer.is_reported
        progress.action_log.extend(applied.actions)
        progress.reported.extend(ReportedAction(turn=turn, **reported.model_dump()) for reported in answer.reported)
        progress.participant_usage.extend(TurnModelUsage(turn=turn, **use.model_dump()) for use in answer.model_usage)
        progress.clarifications.extend(answer.clarifications)
        for clarification in answer.clarifications:
            kind = failures.PARTICIPANT_ASKED if clarification.kind == "question" else failures.ANSWER_UNREADABLE
            self._publisher.publish_failure(kind, clarification.sentence())
        if answer.notes:
            progress.turn_notes[turn] = answer.notes
        if answer.trajectory:
            progress.trajectories[turn] = answer.trajectory
        for action in applied.actions:
            self._publisher.publish(
                updates.ActionObservedUpdate(
                    turn_number=turn,
                    timestamp=action.timestamp,
                    action=action.action,
                    parameters=_trim(action.parameters),
                    success=action.success,
                    error_message=action.error_message,
                    notes=answer.notes[:_LONGEST_NOTES] if answer.notes else None,
                )
            )
        self._publisher.publish(
            updates.TurnCompletedUpdate(
                turn_number=turn,
                actions_taken=len(applied.actions),
                time_advanced=format_iso8601_duration(timedelta(0) if progress.early_completion else time),
                early_completion_requested=progress.early_completion,
            )
        )


def _trim(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}… ({len(value)} characters)"
    if isinstance(value, list):
        kept = [_trim(item) for item in value[:_LONGEST_LIST]]
        return kept if len(kept) == len(value) else [*kept, f"… ({len(value)} items)"]
    if isinstance(value, dict):
        return {key: _trim(item) for key, item in value.items()}
    return value
