"""A small workflow in the place of the real one: same name, same input, same ways to end, no world to act on.

What it does stands in the request's ``config``:

* ``turns``: how many turns to play
* ``hold``: wait for the signal ``begin`` first, as behind another assessment of the context
* ``pauses``: after which turns to wait for the signal ``go_on``
* ``renew``: after which turn to continue as a new run
* ``end``: ``complete``, ``fail``, or ``break``
* ``note``: a value that the update of an action carries
* ``tell_run``: take the run's id for that value
* ``bulk``: characters that the result has besides
"""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from pydantic import TypeAdapter
from temporalio import activity, workflow
from temporalio.contrib.workflow_streams import WorkflowStream, WorkflowStreamState
from temporalio.exceptions import ApplicationError

from proctor.protocol.updates import (
    ActionObservedUpdate,
    AssessmentCompletedUpdate,
    AssessmentStartedUpdate,
    TaskUpdate,
    TurnCompletedUpdate,
)
from proctor.workflows.inputs import AssessmentInput
from proctor.workflows.names import (
    ASSESSMENT_FAILURE,
    ASSESSMENT_WORKFLOW,
    PROCTOR_PARTICIPANT,
    PROCTOR_SCENARIO,
    PROCTOR_STATUS,
    REJECTED_FAILURE,
    UPDATES_TOPIC,
    Status,
)
from proctor.workflows.publishing import record
from purple_sdk.protocol.request import AssessmentRequest, BadRequestError, parse_request, read_text
from purple_sdk.protocol.results import AssessmentResults, CriterionResult, assessment_results

STREAM_STATE: TypeAdapter[WorkflowStreamState | None] = TypeAdapter(WorkflowStreamState | None)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BIG_SCORE_DETAIL = 2**60 + 1


def results_of(task_id: str, turns: int, *, failure: str | None = None, bulk: int = 0) -> AssessmentResults:
    """The result that the stand-in gives; one of its numbers is too large for a protobuf ``Struct``."""
    criterion = CriterionResult(
        criterion_id="c1",
        name="Everything",
        dimension="accuracy",
        score=7,
        max_score=10,
        explanation="Seven of ten." + "x" * bulk,
        details={"exactly": BIG_SCORE_DETAIL},
        judged_by="evaluator:everything",
    )
    return assessment_results(
        assessment_id=task_id,
        scenario_id="email_triage_basic",
        participant="http://participant",
        status="failed" if failure else "completed",
        duration_seconds=1.5,
        turns_taken=turns,
        criteria_results=[criterion],
        action_log=[],
        failure=failure,
    )


def _renewed(given: AssessmentInput, turns: int, stream: WorkflowStreamState) -> list[AssessmentInput]:
    carried = {"stream": STREAM_STATE.dump_python(stream), "turns": turns}
    return [given.model_copy(update={"carried": carried})]


@activity.defn
async def play() -> None:
    """One turn of a quick participant."""
    await asyncio.sleep(0.02)


@workflow.defn(name=ASSESSMENT_WORKFLOW)
class StandIn:
    """See the module."""

    @workflow.init
    def __init__(self, given: AssessmentInput) -> None:
        carried = given.carried or {}
        self._stream = WorkflowStream(STREAM_STATE.validate_python(carried.get("stream")))
        self._played: int = carried.get("turns", 0)
        self._began = False
        self._turns_to_pass = 0

    @workflow.signal
    def begin(self) -> None:
        self._began = True

    @workflow.signal
    def go_on(self) -> None:
        self._turns_to_pass += 1

    @workflow.run
    async def run(self, given: AssessmentInput) -> AssessmentResults:
        try:
            request = parse_request(given.request)
        except BadRequestError as problem:
            workflow.upsert_search_attributes([PROCTOR_STATUS.value_set(Status.REJECTED)])
            raise ApplicationError(str(problem), type=REJECTED_FAILURE, non_retryable=True) from None
        raw: Any = read_text(given.request) if isinstance(given.request, str) else given.request
        script = raw["config"]
        turns = script.get("turns", 2)
        if not self._played:
            await self._open(request, given.task_id, hold=script.get("hold", False))
        for turn in range(self._played + 1, turns + 1):
            await self._turn(turn, script)
            if turn == script.get("renew"):
                await self._stream.continue_as_new(partial(_renewed, given, turn))
        try:
            return self._end(given.task_id, turns, script)
        finally:
            if script.get("end") != "break":  # whoever listens then gets the last updates without asking again
                self._stream.detach_pollers()
                await workflow.wait_condition(workflow.all_handlers_finished)

    async def _open(self, request: AssessmentRequest, task_id: str, *, hold: bool) -> None:
        if hold:
            await workflow.wait_condition(lambda: self._began)
        workflow.upsert_search_attributes(
            [
                PROCTOR_STATUS.value_set(Status.WORKING),
                PROCTOR_SCENARIO.value_set(request.config.scenario_id),
                PROCTOR_PARTICIPANT.value_set(request.require_participant()[1]),
            ]
        )
        self._publish(
            AssessmentStartedUpdate(
                assessment_id=task_id,
                scenario_id=request.config.scenario_id,
                participant_url=request.require_participant()[1],
                start_time=NOON,
            )
        )

    async def _turn(self, turn: int, script: dict[str, Any]) -> None:
        self._publish(
            ActionObservedUpdate(
                turn_number=turn,
                timestamp=NOON,
                action="email.mark_read",
                parameters={"note": workflow.info().run_id if script.get("tell_run") else script.get("note")},
                success=True,
            )
        )
        self._publish(TurnCompletedUpdate(turn_number=turn, actions_taken=1, time_advanced="PT1H"))
        await workflow.execute_activity(play, start_to_close_timeout=timedelta(seconds=60))
        if turn in script.get("pauses", []):
            await workflow.wait_condition(lambda: self._turns_to_pass > 0)
            self._turns_to_pass -= 1

    def _end(self, task_id: str, turns: int, script: dict[str, Any]) -> AssessmentResults:
        end = script.get("end", "complete")
        if end == "break":
            raise ApplicationError("the evaluator has a defect", non_retryable=True)
        self._publish(
            AssessmentCompletedUpdate(
                reason="scenario_complete",
                total_turns=turns,
                total_actions=turns,
                duration_seconds=1.5,
                overall_score=7,
                max_score=10,
            )
        )
        if end == "fail":
            workflow.upsert_search_attributes([PROCTOR_STATUS.value_set(Status.FAILED)])
            sentence = "The participant at http://participant is gone."
            results = results_of(task_id, turns, failure=sentence)
            raise ApplicationError(
                sentence, results.model_dump(mode="json"), type=ASSESSMENT_FAILURE, non_retryable=True
            )
        workflow.upsert_search_attributes([PROCTOR_STATUS.value_set(Status.COMPLETED)])
        return results_of(task_id, turns, bulk=script.get("bulk", 0))

    def _publish(self, update: TaskUpdate) -> None:
        self._stream.topic(UPDATES_TOPIC).publish(record(update))
