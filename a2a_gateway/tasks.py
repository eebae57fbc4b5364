"""Assessments in Temporal as A2A tasks; the task id is the workflow id.

All data comes from a workflow's description, memo, search attributes and result, so nothing here needs a worker.
"""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import quote

from a2a.types import Artifact, Message, Task, TaskState, TaskStatus
from a2a.utils.errors import TaskNotFoundError
from google.protobuf.struct_pb2 import Struct
from pydantic import ValidationError
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHistoryEventFilterType,
)
from temporalio.exceptions import ApplicationError

from proctor.a2a_gateway.contexts import decode_context
from proctor.a2a_gateway.parts import agent_message, data_parts, json_file_part, message_from_json, text_part
from proctor.a2a_gateway.standstill import explain_standstill
from proctor.a2a_gateway.temporal import RPC_TIMEOUT
from proctor.protocol.callers import Caller
from proctor.protocol.campaigns import CampaignResults, parse_campaign_results
from proctor.protocol.runs import RunResults, in_words
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobRef, BlobStore
from proctor.workflows.names import (
    ASSESSMENT_FAILURE,
    CAMPAIGN_WORKFLOW,
    MEMO_RESULTS,
    MEMO_SUMMARY,
    PROCTOR_CONTEXT,
    PROCTOR_OWNER,
    PROCTOR_PARTICIPANT,
    PROCTOR_SCENARIO,
    PROCTOR_STATUS,
    REJECTED_FAILURE,
    TASK_WORKFLOWS,
    Status,
)
from purple_sdk.protocol.results import AssessmentResults, seed_form
from purple_sdk.protocol.terminal import TerminalResults, as_text

MEMO_MESSAGE = "message"
_LONGEST_TASK_ID = 255
log = logging.getLogger(__name__)

Results = TypeVar("Results")

_NO_DETAILS: dict[str, Any] = {}


@dataclass(frozen=True)
class Outcome:
    """The end of an assessment.

    Attributes:
        state: one of A2A's terminal states.
        sentence: the state in words, with the reason.
        results: the scores; None if there are none.
    """

    state: TaskState
    sentence: str
    results: AssessmentResults | CampaignResults | None = None


async def find_assessment(client: Client, task_id: str) -> WorkflowExecution:
    """Return the latest run of a task's workflow.

    Raises:
        TaskNotFoundError: no assessment has this id; callers can't see other workflows.
        RPCError: Temporal doesn't answer, or doesn't know the id.
    """
    if len(task_id) <= _LONGEST_TASK_ID:
        description = await client.get_workflow_handle(task_id).describe(rpc_timeout=RPC_TIMEOUT)
        if description.workflow_type in TASK_WORKFLOWS:
            return description
    raise TaskNotFoundError(f"There is no task {task_id[:_LONGEST_TASK_ID]!r}.")


async def find_own(client: Client, task_id: str, caller: Caller) -> WorkflowExecution:
    """Return the latest run of a task's workflow; other callers' tasks count as missing.

    Raises the errors of ``find_assessment``.
    """
    execution = await find_assessment(client, task_id)
    if not caller.may_see(get_owner(execution)):
        raise TaskNotFoundError(f"There is no task {task_id!r}.")
    return execution


def get_owner(execution: WorkflowExecution) -> str:
    """Return a task's owner; empty without authentication."""
    return execution.typed_search_attributes.get(PROCTOR_OWNER) or ""


def is_closed(execution: WorkflowExecution) -> bool:
    return execution.status not in (WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CONTINUED_AS_NEW)


async def wait_until_closed(client: Client, task_id: str) -> None:
    """Wait until a task is closed, without a time limit. The wait adds no event to the workflow's history.

    A reset in the Temporal UI closes a run and starts another: the task is closed when its latest run is.
    """
    handle = client.get_workflow_handle(task_id)
    while True:
        async for _ in handle.fetch_history_events(
            wait_new_event=True, event_filter_type=WorkflowHistoryEventFilterType.CLOSE_EVENT
        ):
            break
        if is_closed(await handle.describe(rpc_timeout=RPC_TIMEOUT)):
            return


async def read_task(
    client: Client, execution: WorkflowExecution, config: GreenAgentConfig, *, with_artifacts: bool = True
) -> Task:
    """Return a workflow as an A2A task.

    The status of a running task has the time of its start, and the reason if it waits. The status of a closed task has
    the time of its end.

    Args:
        with_artifacts: whether an ended task includes its results.

    Raises:
        RPCError: Temporal doesn't answer.
    """
    asked = await execution.memo_value(MEMO_MESSAGE, None)
    attributes = execution.typed_search_attributes
    task = Task(
        id=execution.id,
        context_id=decode_context(attributes.get(PROCTOR_CONTEXT)),
        metadata=task_metadata(
            execution.id,
            config,
            scenario_id=attributes.get(PROCTOR_SCENARIO),
            participant=attributes.get(PROCTOR_PARTICIPANT),
        ),
        history=[message_from_json(asked)] if asked else [],
    )
    if not is_closed(execution):
        waiting = attributes.get(PROCTOR_STATUS) == Status.SUBMITTED
        state = TaskState.TASK_STATE_SUBMITTED if waiting else TaskState.TASK_STATE_WORKING
        task.status.CopyFrom(TaskStatus(state=state, timestamp=execution.start_time))
        if why := await explain_standstill(execution, client, config):
            task.status.message.CopyFrom(standing_message(task, why))
        return task
    outcome = await read_outcome(client, execution, config)
    task.status.CopyFrom(
        TaskStatus(
            state=outcome.state,
            message=closing_message(task, outcome),
            timestamp=execution.close_time or datetime.now(UTC),
        )
    )
    if with_artifacts and outcome.results is not None:
        task.artifacts.append(results_artifact(outcome.results))
    return task


def submitted_task(task_id: str, message: Message, config: GreenAgentConfig) -> Task:
    """Return a task that ``message`` has just started."""
    return Task(
        id=task_id,
        context_id=message.context_id,
        status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED, timestamp=datetime.now(UTC)),
        history=[message],
        metadata=task_metadata(task_id, config),
    )


def task_metadata(task_id: str, config: GreenAgentConfig, **known: str | None) -> Struct:
    """Return the workflow's address for people, and known facts about the assessment."""
    metadata = Struct()
    metadata.update({name: value for name, value in known.items() if value is not None})
    if config.temporal_ui_url:
        base = f"{config.temporal_ui_url.rstrip('/')}/namespaces/{quote(config.temporal_namespace, safe='')}"
        metadata["temporal_workflow"] = f"{base}/workflows/{quote(task_id, safe='')}"
    return metadata


def standing_message(task: Task, why: str) -> Message:
    """Return the message of an unchanged status, for a task that waits."""
    return agent_message(f"{task.id}-stands", task.id, task.context_id, [text_part(why)])


def closing_message(task: Task, outcome: Outcome) -> Message:
    return agent_message(f"{task.id}-end", task.id, task.context_id, [text_part(outcome.sentence)])


def results_artifact(results: AssessmentResults | CampaignResults) -> Artifact:
    """Return the artifact of a task. It has the result in words, as a data part, and as a file part with the exact
    JSON.

    The data part of an assessment's result has the form of ``seed_form``. A result that doesn't fit into a data part
    becomes JSON text, for callers that keep neither prose nor files.
    """
    exact, name = results.model_dump_json(), str(results.message_type)
    data = seed_form(results) if isinstance(results, AssessmentResults) else results.model_dump(mode="json")
    if isinstance(results, TerminalResults):
        about, words = f"The trials of {results.dataset}.", as_text(results)
    elif isinstance(results, RunResults):
        about, words = "The assessments of a campaign.", in_words(results)
    else:
        about, words = f"The scored result of {results.day}.", results_sentence(results)
    return Artifact(
        artifact_id=name,
        name=name,
        description=about,
        parts=[
            text_part(words),
            *(data_parts(data) or [text_part(json.dumps(data))]),
            json_file_part(exact, f"{name}.json"),
        ],
    )


def results_sentence(results: AssessmentResults) -> str:
    overall = results.scores.overall
    is_whole = results.total_points in (0, overall.max_score)
    judged = "points" if is_whole else f"judged points ({results.total_points} in all)"
    return (
        f"{results.participant} earned {overall.score_text} of {overall.max_score} {judged} on {results.day} "
        f"in {results.turns_taken} {'turn' if results.turns_taken == 1 else 'turns'}."
    )


async def read_outcome(client: Client, execution: WorkflowExecution, config: GreenAgentConfig) -> Outcome:
    """Return how a closed workflow ended.

    Raises:
        RPCError: Temporal doesn't answer.
        OSError: the blob store, which has large results, doesn't answer.
    """
    if execution.workflow_type == CAMPAIGN_WORKFLOW:
        return await _outcome_of_campaign(client, execution, config)
    handle = client.get_workflow_handle(execution.id, run_id=execution.run_id, result_type=AssessmentResults)
    try:
        results = await handle.result(follow_runs=False, rpc_timeout=RPC_TIMEOUT)
    except WorkflowFailureError as error:
        outcome = _outcome_of_failure(execution, error)
        if execution.status == WorkflowExecutionStatus.CANCELED:
            return replace(outcome, results=await _results_so_far(execution, config, AssessmentResults.model_validate))
        return outcome
    except (BlobNotFoundError, BlobDamagedError, ValidationError) as error:
        return Outcome(
            TaskState.TASK_STATE_COMPLETED, f"The assessment was completed, but its result can't be read: {error}"
        )
    return Outcome(TaskState.TASK_STATE_COMPLETED, results_sentence(results), results)


async def _outcome_of_campaign(client: Client, execution: WorkflowExecution, config: GreenAgentConfig) -> Outcome:
    """Return how a campaign ended; its results are in the store in any case."""
    handle = client.get_workflow_handle(execution.id, run_id=execution.run_id, result_type=dict)
    sentence = await execution.memo_value(MEMO_SUMMARY, "The campaign was completed.", type_hint=str)
    outcome = Outcome(TaskState.TASK_STATE_COMPLETED, sentence)
    try:
        await handle.result(follow_runs=False, rpc_timeout=RPC_TIMEOUT)
    except WorkflowFailureError as error:
        outcome = _outcome_of_failure(execution, error)
    return replace(outcome, results=await _results_so_far(execution, config, parse_campaign_results))


async def _results_so_far(
    execution: WorkflowExecution, config: GreenAgentConfig, read: Callable[[dict[str, Any]], Results]
) -> Results | None:
    """Return the results of a task that ended without success; None if there are none, or they are lost."""
    ref = await execution.memo_value(MEMO_RESULTS, None, type_hint=BlobRef)
    if ref is None:
        return None
    try:
        return read(json.loads(await BlobStore(config.storage_url).get(ref)))
    except (BlobNotFoundError, BlobDamagedError, ValueError) as error:
        log.warning("the results so far of %s can't be read: %s", execution.id, error)
        return None


def _outcome_of_failure(execution: WorkflowExecution, failure: WorkflowFailureError) -> Outcome:
    match execution.status:
        case WorkflowExecutionStatus.CANCELED:
            return Outcome(TaskState.TASK_STATE_CANCELED, "The assessment was cancelled.")
        case WorkflowExecutionStatus.TERMINATED:
            return Outcome(
                TaskState.TASK_STATE_CANCELED, f"The assessment was terminated by an operator ({failure.cause})."
            )
        case WorkflowExecutionStatus.TIMED_OUT:
            return Outcome(TaskState.TASK_STATE_FAILED, "The assessment took longer than it may and was ended.")
    causes = list(_chain(failure.cause))
    for cause in causes:
        if isinstance(cause, ApplicationError) and cause.type == REJECTED_FAILURE:
            return Outcome(TaskState.TASK_STATE_REJECTED, cause.message)
        if isinstance(cause, ApplicationError) and cause.type == ASSESSMENT_FAILURE:
            return Outcome(TaskState.TASK_STATE_FAILED, cause.message, _read_results(cause))
    return Outcome(TaskState.TASK_STATE_FAILED, f"The evaluator failed: {causes[-1]}")


def _chain(failure: BaseException | None) -> Iterator[BaseException]:
    while failure is not None:
        yield failure
        failure = failure.__cause__


def _read_results(failure: ApplicationError) -> AssessmentResults | None:
    try:
        return AssessmentResults.model_validate(failure.details[0] if failure.details else _NO_DETAILS)
    except ValidationError:
        return None
