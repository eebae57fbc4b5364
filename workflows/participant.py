"""Greet a participant and let it play its turns. Retries depend on whose fault a failure was."""

from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutType
from temporalio.exceptions import TimeoutError as ActivityTimeoutError

from proctor.activities.admission.activities import ForkActivities
from proctor.activities.admission.payloads import ForkSetUp
from proctor.activities.attempts import failures
from proctor.activities.attempts.notes import find_unfinished_tasks
from proctor.activities.participant.activities import ParticipantActivities
from proctor.activities.participant.payloads import Greeted, GreetInput, ParticipantKey, TurnAnswer, TurnInput
from proctor.activities.plan import Plan
from proctor.activities.simulation.lifecycle import LifecycleActivities
from proctor.activities.simulation.payloads import Prepared
from proctor.protocol import updates
from proctor.workflows import limits
from proctor.workflows.progress import Progress
from proctor.workflows.publishing import UpdatePublisher
from proctor.workflows.steps import Steps, describe_failure
from purple_sdk.protocol.durations import format_iso8601_duration

_LOST_SENTENCE = "The evaluator's workers were lost at {}: it begins again."


async def greet(steps: Steps, publisher: UpdatePublisher, plan: Plan, prepared: Prepared, progress: Progress) -> None:
    """Publish updates on the turns that a fork inherits, then greet the participant. If workers or the simulator's
    server were lost, greet it again, up to ``limits.TURN_LOSSES`` times. Store the checkpoint, the key and the card in
    ``progress``.
    """
    for note in progress.turns:
        publisher.publish(
            updates.TurnCompletedUpdate(
                turn_number=note.turn,
                actions_taken=sum(entry.turn == note.turn for entry in progress.action_log),
                time_advanced=format_iso8601_duration(note.reached - note.began_at),
                inherited_from=plan.fork.origin.find_player(note.turn) if plan.fork else None,
            )
        )
    publisher.show("**Greeting the participant**", begins="the greeting")
    resumes, is_reset, lost = progress.turn + 1 if progress.turn else None, _is_reset(), 0
    while True:
        try:
            greeted: Greeted = await steps.do_once(
                ParticipantActivities.greet,
                GreetInput(
                    plan=plan.for_step(),
                    prepared=prepared,
                    resumes_turn=resumes,
                    is_reset=is_reset,
                    run=workflow.info().run_id,
                ),
                **limits.turn("start message", plan.turn_timeout),
            )
        except ActivityError as error:
            lost += 1
            has_moved = steps.has_moved(error)
            if lost > limits.TURN_LOSSES or not (has_moved or _was_lost_with_workers(error)):
                raise
            kind, sentence = failures.WORKERS_LOST, _LOST_SENTENCE.format("the start message")
            publisher.publish_failure(*(describe_failure(error)[:2] if has_moved else (kind, sentence)))
        else:
            progress.checkpoint, progress.key, progress.card = greeted.checkpoint, greeted.key, greeted.card
            return


async def let_play(steps: Steps, publisher: UpdatePublisher, plan: Plan, progress: Progress, turn: int) -> TurnAnswer:
    """Let the participant play a turn. Play the turn again if it was lost, or if the participant failed and the request
    allows another try. Store the key, the tries and unfinished tasks in ``progress``.
    """
    failed = lost = 0
    needs_new_key = progress.is_key_given_up or _was_reset_since(progress.key)
    while True:
        needs_new_key = needs_new_key or progress.key.simulator != steps.simulator  # another server has another address
        attempt = failed + lost + 1
        again = f" · try {attempt}" if attempt > 1 else ""
        try:
            answer: TurnAnswer = await steps.do_once(
                ParticipantActivities.purple_turn,
                TurnInput(
                    plan=plan.for_step(),
                    turn=turn,
                    attempt=attempt,
                    checkpoint=progress.checkpoint,
                    current_time=progress.current_time,
                    events_processed=progress.events_processed,
                    key=progress.key,
                    needs_new_key=needs_new_key,
                    left=progress.tasks_left,
                    run=workflow.info().run_id,
                ),
                **limits.turn(f"turn {turn}{again}", plan.turn_timeout),
            )
            progress.key, progress.is_key_given_up = answer.key, False
            progress.tasks_left = []
            return answer
        except ActivityError as error:
            kind, sentence, _ = describe_failure(error)
            steps.has_moved(error)
            if _was_lost_with_workers(error):
                kind, sentence = failures.WORKERS_LOST, _LOST_SENTENCE.format(f"turn {turn}")
            if not _has_stopped(error):
                needs_new_key = True
                progress.tasks_left += find_unfinished_tasks(error)
            lost += kind in limits.LOST
            failed += kind in limits.TRIED_AGAIN
            is_hopeless = kind not in limits.LOST | limits.TRIED_AGAIN
            if is_hopeless or failed >= plan.turn_tries or lost > limits.TURN_LOSSES:
                raise
            progress.turn_tries[str(turn)] = attempt + 1
            publisher.publish_failure(kind, sentence)


def _is_reset() -> bool:
    run = workflow.info()
    return run.run_id != run.original_execution_run_id


def _was_reset_since(key: ParticipantKey) -> bool:
    """Return whether the participant may still act for an abandoned run: this run began with a reset, and the key is
    older than the reset.
    """
    return _is_reset() and workflow.info().run_id != key.run


def note_reset(progress: Progress) -> None:
    """Note for the next run that this run is a reset whose participant has no new key yet. The next run can't see the
    reset.
    """
    progress.is_key_given_up = progress.is_key_given_up or _was_reset_since(progress.key)


def _was_lost_with_workers(problem: ActivityError) -> bool:
    """Return whether the last attempt's outcome is unknown because its worker died or lost its connection."""
    cause = problem.cause
    if isinstance(cause, ApplicationError) and cause.type == failures.WORKERS_LOST:
        return True
    return isinstance(cause, ActivityTimeoutError) and cause.type == TimeoutType.HEARTBEAT


def _has_stopped(problem: ActivityError) -> bool:
    return isinstance(problem.cause, ApplicationError) and failures.OVER in problem.cause.details


async def set_up(steps: Steps, plan: Plan, started_at: datetime) -> tuple[Progress, Prepared]:
    """Prepare the simulation. Return the progress so far, and the simulation before the participant begins."""
    options = limits.prepared(f"prepare {plan.scenario_id}")
    if plan.fork:
        fork: ForkSetUp = await steps.do(ForkActivities.set_up_fork, plan, **options)
        steps.simulator = fork.now.simulator
        return Progress.of_fork(started_at, fork), fork.now
    prepared: Prepared = await steps.do(LifecycleActivities.set_up, plan, **options)
    steps.simulator = prepared.simulator
    progress = Progress(
        started_at=started_at, prepared=prepared, checkpoint=prepared.checkpoint, current_time=prepared.current_time
    )
    return progress, prepared
