"""Queries of Temporal for running assessments, trials and campaigns."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from proctor.a2a_gateway.standstill import why_it_waits
from proctor.a2a_gateway.subscriptions import Subscriptions, Update
from proctor.a2a_gateway.temporal import TemporalConnection
from proctor.activities.attempts.markdown import unescaped
from proctor.protocol.callers import ANYBODY, Caller
from proctor.protocol.campaigns import Tally
from proctor.service.live_terminals import find_recordings, read_terminal
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from proctor.viewer.live import Live, Running, RunningCell, RunningDetails
from proctor.workflows.names import (
    ASSESSMENT_WORKFLOW,
    CAMPAIGN_WORKFLOW,
    MEMO_CAMPAIGN,
    PROCTOR_OWNER,
    PROCTOR_PARTICIPANT,
    PROCTOR_SCENARIO,
    PROCTOR_STATUS,
    TASK_WORKFLOWS,
    TRIAL_WORKFLOW,
    Status,
)
from purple_sdk.processes.together import do_all

_SHOWN_AT_MOST = 200
_TALLIES_AT_MOST = 10  # running campaigns whose progress a list shows
_RUNS_REMEMBERED = 32
_QUERY = "WorkflowType = '{}' AND ExecutionStatus = 'Running'"
_KINDS = {ASSESSMENT_WORKFLOW: "assessment", CAMPAIGN_WORKFLOW: "campaign", TRIAL_WORKFLOW: "trial"}
_CELLS_AT_MOST = 24  # cells whose current step a campaign's page shows
_GLANCE = timedelta(seconds=1)  # limit of a worker's answer, below the viewer's own limit
_STEPS = {
    "prepare_image": "prepares the image",
    "start_environment": "starts the container",
    "hand_over": "the agent is at work",
    "run_trial_tests": "the tests run",
    "collect_logs": "collects the logs",
    "take_down_trial": "removes the container",
}


class UnderWay(Live):
    """Queries of running workflows; connects to Temporal at the first query, and again after a failure.

    All methods raise ``TemporalUnreachableError`` or ``temporalio.service.RPCError`` if Temporal doesn't answer.
    """

    def __init__(self, config: GreenAgentConfig) -> None:
        self._config = config
        self._connection = TemporalConnection(partial(connect, config))
        self._subscriptions = Subscriptions(self._connection)
        self._updates_by_id: OrderedDict[str, tuple[str, list[Update]]] = OrderedDict()

    async def connected(self) -> Client:
        return await self._connection.connect()

    async def running(self, caller: Caller = ANYBODY) -> list[Running]:
        campaigns: list[Running] = []
        async for execution in self._executions(CAMPAIGN_WORKFLOW, caller):
            is_counted = len(campaigns) < _TALLIES_AT_MOST
            latest = await self._subscriptions.read_latest(execution.id, 5) if is_counted else []
            campaigns.append(await self._running(execution, _find_tally(latest)))
        assessments = [
            await self._running(workflow) async for workflow in self._executions(ASSESSMENT_WORKFLOW, caller)
        ]
        return [*campaigns, *assessments]

    async def details(self, name: str) -> RunningDetails | None:
        """The updates of a running assessment, trial or campaign; None if none has this id."""
        execution = await self._find(name, (*TASK_WORKFLOWS, TRIAL_WORKFLOW))
        if execution is None or execution.status != WorkflowExecutionStatus.RUNNING:
            self._updates_by_id.pop(name, None)
            return None
        if execution.workflow_type == TRIAL_WORKFLOW:
            return await self._trial(execution)
        is_campaign = execution.workflow_type == CAMPAIGN_WORKFLOW
        updates = await self._updates(execution)
        tally = _find_tally(updates) if is_campaign else None
        return RunningDetails(
            running=await self._running(execution, tally),
            updates=[update.data for update in updates],
            wait_reason=why_it_waits(execution),
            cells=await self._cells(execution.id) if is_campaign else (),
        )

    async def _trial(self, execution: WorkflowExecutionDescription) -> RunningDetails:
        running = await self._running(execution)
        return RunningDetails(
            running=replace(
                running,
                scenario_id=unescaped(await execution.static_summary() or execution.id),
                status=Status.WORKING,
                campaign=execution.parent_id,
            ),
            wait_reason=why_it_waits(execution),
            step=_name_step(execution),
            terminal=await asyncio.to_thread(read_terminal, find_recordings(self._config.state), execution.id),
        )

    async def _cells(self, campaign_id: str) -> list[RunningCell]:
        client = await self.connected()
        query = f"ParentWorkflowId = '{campaign_id}' AND ExecutionStatus = 'Running'"
        cells = [cell async for cell in client.list_workflows(query, limit=_CELLS_AT_MOST, page_size=_CELLS_AT_MOST)]
        return await do_all(*(self._cell(cell) for cell in sorted(cells, key=lambda each: each.start_time)))

    async def _cell(self, listed: WorkflowExecution) -> RunningCell:
        execution = await self._find(listed.id, (listed.workflow_type,))
        if execution is None:
            return RunningCell(None, listed.id, listed.start_time)
        children = execution.raw_description.pending_children
        page = execution.id if execution.workflow_type == TRIAL_WORKFLOW else None
        return RunningCell(
            id=children[0].workflow_id if children else page,
            label=unescaped(await execution.static_summary() or execution.id),
            started_at=execution.start_time,
            step=_name_step(execution),
        )

    async def may_continue(self, name: str) -> bool:
        execution = await self._find(name)
        return execution is not None and execution.workflow_type == ASSESSMENT_WORKFLOW

    async def _executions(self, kind: str, caller: Caller) -> AsyncIterator[WorkflowExecution]:
        client = await self.connected()
        query = _QUERY.format(kind) + ("" if caller.is_admin else f" AND {PROCTOR_OWNER.name} = '{caller.name}'")
        executions = client.list_workflows(query, page_size=_SHOWN_AT_MOST, limit=_SHOWN_AT_MOST)
        async for execution in executions:
            yield execution

    async def _find(self, name: str, kinds: Sequence[str] = TASK_WORKFLOWS) -> WorkflowExecutionDescription | None:
        client = await self.connected()
        try:
            execution = await client.get_workflow_handle(name).describe()
        except RPCError as error:
            if error.status in (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT):
                return None
            raise
        return execution if execution.workflow_type in kinds else None

    async def _running(self, execution: WorkflowExecution, tally: Tally | None = None) -> Running:
        known = execution.typed_search_attributes
        return Running(
            id=execution.id,
            scenario_id=known.get(PROCTOR_SCENARIO) or "",
            participant_url=known.get(PROCTOR_PARTICIPANT) or "",
            status=known.get(PROCTOR_STATUS) or Status.SUBMITTED,
            started_at=execution.start_time,
            url=self._url(execution.id),
            owner=known.get(PROCTOR_OWNER) or "",
            kind=_KINDS[execution.workflow_type],
            campaign=await execution.memo_value(MEMO_CAMPAIGN, None, type_hint=str),
            tally=tally,
        )

    async def _updates(self, execution: WorkflowExecution) -> list[Update]:
        """All updates so far; those that were read before come from a cache."""
        run_id, known = self._updates_by_id.get(execution.id, ("", []))
        if run_id != execution.run_id:
            known = []
        since = known[-1].sequence + 1 if known else 0
        known = [*known, *await self._subscriptions.read_updates(execution.id, since, _GLANCE)]
        self._updates_by_id[execution.id] = (execution.run_id, known)
        self._updates_by_id.move_to_end(execution.id)
        while len(self._updates_by_id) > _RUNS_REMEMBERED:
            self._updates_by_id.popitem(last=False)
        return known

    def _url(self, workflow_id: str) -> str | None:
        if not self._config.temporal_ui_url:
            return None
        base = f"{self._config.temporal_ui_url.rstrip('/')}/namespaces/{self._config.temporal_namespace}"
        return f"{base}/workflows/{workflow_id}"


def _name_step(execution: WorkflowExecutionDescription) -> str | None:
    """A trial's current step, in words; None between steps, and for other workflows."""
    names = [activity.activity_type.name for activity in execution.raw_description.pending_activities]
    return next((_STEPS[name] for name in names if name in _STEPS), None)


def _find_tally(updates: list[Update]) -> Tally | None:
    """A campaign's progress, from the last update that has a tally."""
    tallies = (update.data["tally"] for update in reversed(updates) if isinstance(update.data.get("tally"), dict))
    latest = next(tallies, None)
    return None if latest is None else Tally.model_validate(latest)
