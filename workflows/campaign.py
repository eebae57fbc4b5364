"""The workflow of a campaign: many cells, each played by a separate workflow that returns a ``CellOutcome``.

Cells continue while the campaign continues as new: the new run finds them by their workflows' ids. An ended cell is
never played again.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable
from typing import Any

from temporalio import exceptions, workflow
from temporalio.common import WorkflowIDReusePolicy

from proctor.activities.admission.payloads import AdmitInput
from proctor.activities.attempts import failures
from proctor.activities.attempts.markdown import as_summary
from proctor.activities.attempts.troubles import TROUBLE_SIGNAL, Trouble
from proctor.activities.campaign import plan as plans
from proctor.activities.campaign.activities import CampaignActivities
from proctor.protocol import campaigns
from proctor.workflows import limits, names
from proctor.workflows.archiving import archive_campaign
from proctor.workflows.campaign_progress import CampaignProgress, CarriedCampaign, Due
from proctor.workflows.context_queue import GRANT_SIGNAL, PlaceInContext
from proctor.workflows.ending import end, run_undisturbed
from proctor.workflows.inputs import CampaignInput
from proctor.workflows.publishing import UpdatePublisher
from proctor.workflows.steps import Failure, Steps, describe_failure

_PAGE = 100
"""The number of cells read at a time, and of outcomes on a page of the ledger."""

_SHOWN = ("status", "succeeded", "score", "failure_kind", "failure", "seconds")
"""The fields of the outcome in an update on an ended cell."""

_PROGRESS_STEPS = 20
"""The number of progress updates for callers who want milestones only."""


@workflow.defn(name=names.CAMPAIGN_WORKFLOW)
class Campaign:
    """One campaign; its id is the A2A task's id."""

    @workflow.init
    def __init__(self, payload: CampaignInput) -> None:
        carried = None if payload.carried is None else CarriedCampaign.model_validate(payload.carried)
        self._payload = payload
        self._plan: plans.CampaignPlan | None = carried.plan if carried else None
        self._progress: CampaignProgress | None = carried.progress if carried else None
        self._grown: list[plans.CellList] = []
        self._ended: plans.CampaignArchiveInput | None = None
        self._at_play: dict[asyncio.Task[plans.CellOutcome], Due] = {}
        self._publisher = UpdatePublisher(carried.stream if carried else None)
        if self._plan is not None:
            self._publisher.only_milestones = not self._plan.verbose_updates
        self._steps = Steps(self._publisher)
        self._place = PlaceInContext(self._steps, payload, is_taken=carried is not None)

    @workflow.run
    async def run(self, payload: CampaignInput) -> plans.CampaignResults:
        """Play all cells.

        Fails as ``Rejected`` for a request that can't be carried out. Fails as ``AssessmentFailed`` if the campaign
        failed.
        """
        try:
            plan = self._plan or await self._admit()
            progress = self._progress or self._open(plan)
            await self._play_all(plan, progress)
            summed = await self._sum_up("completed")
        except (Exception, asyncio.CancelledError) as error:
            if exceptions.is_cancelled_exception(error):
                await self._call_off()
                raise
            raise await self._fail(error) from None
        await self._end(names.Status.COMPLETED)
        return plans.CampaignResults(kind=plan.kind, tally=progress.tally(), summed=summed)

    @workflow.signal(name=GRANT_SIGNAL)
    async def begin(self) -> None:
        """Signal of the context's queue: no other workflow of the context is running."""
        self._place.take()

    @workflow.signal(name=TROUBLE_SIGNAL)
    async def hear_trouble(self, trouble: Trouble) -> None:
        """Signal: a step of the campaign itself fails repeatedly and is still retried."""
        self._steps.publish_trouble(trouble)

    @workflow.signal(name=names.CELL_TROUBLE_SIGNAL)
    async def hear_of_cell(self, trouble: Trouble) -> None:
        self._publisher.publish_failure(trouble.kind, trouble.sentence())

    @workflow.signal(name=names.GROW_SIGNAL)
    async def grow(self, more: plans.CellList) -> None:
        """Add cells; the sender makes sure that they are new to the campaign."""
        self._grown.append(more)

    # The parts, in order

    async def _admit(self) -> plans.CampaignPlan:
        waiting = asyncio.create_task(self._place.wait())
        try:
            plan: plans.CampaignPlan = await self._steps.do(
                CampaignActivities.plan_campaign,
                AdmitInput(task_id=self._payload.task_id, request=self._payload.request, owner=self._payload.owner),
                **limits.prepared("check the request"),
            )
        except BaseException:
            waiting.cancel()
            raise
        self._plan = plan
        self._publisher.only_milestones = not plan.verbose_updates
        workflow.upsert_memo({"scenario": plan.title, "participant": plan.participant_url or plan.participant})
        await waiting
        return plan

    def _open(self, plan: plans.CampaignPlan) -> CampaignProgress:
        participant = plan.participant_url or plan.participant
        workflow.upsert_search_attributes(names.make_search_attributes(plan.title, participant))
        self._progress = progress = CampaignProgress(started_at=workflow.now(), lists=[plan.cells])
        if plan.taken_over:
            progress.take_over(plan.taken_over)
        self._publisher.publish(
            campaigns.CampaignStartedUpdate(
                campaign_id=plan.campaign_id,
                title=plan.title,
                participant=plan.participant_url or plan.participant,
                start_time=progress.started_at,
                tally=progress.tally(),
                groups=plan.groups,
                warnings=plan.warnings,
            )
        )
        return progress

    async def _play_all(self, plan: plans.CampaignPlan, progress: CampaignProgress) -> None:
        for due in progress.at_play:  # cells of the previous run
            self._start(plan, due)
        most_events = limits.campaign_events(plan.at_once)
        while True:
            await self._fill(plan, progress)
            self._show(progress)
            if not self._at_play:
                return
            await workflow.wait_condition(self._is_news)
            for task in [task for task in self._at_play if task.done()]:
                await self._take(plan, progress, task)
            if len(progress.ended) >= _PAGE:
                progress.ledger.append(await self._keep(progress.ended))
                progress.ended = []
            run = workflow.info()
            if run.is_continue_as_new_suggested() or run.get_current_history_length() > most_events:
                await self._continue_as_new(plan, progress)

    async def _fill(self, plan: plans.CampaignPlan, progress: CampaignProgress) -> None:
        progress.lists += self._grown
        self._grown = []
        while len(self._at_play) < plan.at_once:
            is_all_begun = progress.done + len(progress.at_play) >= progress.total
            elapsed = (workflow.now() - progress.started_at).total_seconds()
            progress.stopped = None if is_all_begun else progress.limit_reached(plan, elapsed)
            if progress.stopped:
                return
            number = self._choose_next(plan, progress)
            if number is not None:
                due = progress.waiting[number]
                progress.stopped = progress.limit_in_reach(plan, elapsed, due)
                if progress.stopped:
                    return
                progress.at_play.append(progress.waiting.pop(number))
                progress.replayed += due.play > 1
                self._start(plan, due)
            elif progress.read >= progress.to_play or len(progress.waiting) >= _PAGE + plan.at_once:
                return
            else:
                progress.waiting += await self._read_more(progress)

    def _choose_next(self, plan: plans.CampaignPlan, progress: CampaignProgress) -> int | None:
        taken = Counter(lane for due in progress.at_play for lane in due.cell.lanes)
        for number, due in enumerate(progress.waiting):
            if all(taken[lane] < plan.lane_limits.get(lane.kind, plan.at_once) for lane in due.cell.lanes):
                return number
        return None

    async def _read_more(self, progress: CampaignProgress) -> list[Due]:
        start = progress.read
        for cell_list in progress.lists:
            if start < cell_list.count:
                cells = await self._steps.do_here(
                    CampaignActivities.read_cells,
                    plans.CellsInput(cells=cell_list, start=start, count=_PAGE),
                    **limits.quick("what is to be played next"),
                )
                progress.read += len(cells)
                return [Due(cell=cell) for cell in cells]
            start -= cell_list.count
        return []

    def _start(self, plan: plans.CampaignPlan, due: Due) -> None:
        self._at_play[asyncio.create_task(self._play(plan, due))] = due

    async def _play(self, plan: plans.CampaignPlan, due: Due) -> plans.CellOutcome:
        workflow_id = plans.cell_workflow_id(plan.campaign_id, due.cell.cell_id, due.play)
        try:
            outcome: plans.CellOutcome = await workflow.execute_child_workflow(
                due.cell.workflow,
                plans.CellInput(
                    campaign_id=plan.campaign_id,
                    cell=due.cell,
                    play=due.play,
                    shared=plan.shared,
                    owner=self._payload.owner,
                ),
                id=workflow_id,
                result_type=plans.CellOutcome,
                task_timeout=limits.WORKFLOW_TASK,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                cancellation_type=workflow.ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
                search_attributes=names.make_owner_attributes(self._payload.owner) if self._payload.owner else None,
                static_summary=as_summary(due.cell.label),
            )
        except exceptions.WorkflowAlreadyStartedError:
            return await self._steps.do(
                CampaignActivities.join_cell,
                plans.JoinInput(workflow_id=workflow_id),
                **limits.joined(f"{due.cell.label} was started before"),
            )
        except exceptions.ChildWorkflowError as error:
            return _lost_outcome(error)
        return outcome

    async def _take(
        self, plan: plans.CampaignPlan, progress: CampaignProgress, task: asyncio.Task[plans.CellOutcome]
    ) -> None:
        due = self._at_play.pop(task)
        try:
            outcome = task.result()
        except exceptions.FailureError as error:
            if exceptions.is_cancelled_exception(error):
                raise
            outcome = _lost_outcome(error)
        progress.note_play(due, outcome)
        is_again = outcome.may_be_played_again and due.play < plan.tries
        if is_again:
            progress.waiting.append(Due(cell=due.cell, play=due.play + 1))
        else:
            progress.note(due, outcome)
        self._publish_outcome(plan, progress, due, outcome, is_again)

    def _publish_outcome(
        self, plan: plans.CampaignPlan, progress: CampaignProgress, due: Due, outcome: plans.CellOutcome, is_again: bool
    ) -> None:
        self._publisher.publish(
            campaigns.CellEndedUpdate(
                cell_id=due.cell.cell_id,
                label=due.cell.label,
                group=due.cell.group,
                again=is_again,
                tally=progress.tally(),
                **{name: getattr(outcome, name) for name in _SHOWN},
            )
        )
        step = max(progress.total // _PROGRESS_STEPS, 1)
        if not plan.verbose_updates and not is_again and progress.done % step == 0:
            self._publisher.publish(campaigns.CampaignProgressUpdate(tally=progress.tally()))

    def _is_news(self) -> bool:
        has_room = self._plan is not None and len(self._at_play) < self._plan.at_once
        return any(task.done() for task in self._at_play) or (bool(self._grown) and has_room)

    def _show(self, progress: CampaignProgress) -> None:
        workflow.set_current_details(progress.tally().sentence())

    async def _keep(self, ended: list[plans.EndedCell]) -> Any:
        return await self._steps.do_here(
            CampaignActivities.keep_outcomes, plans.LedgerInput(ended=ended), **limits.quick("keep what has ended")
        )

    async def _continue_as_new(self, plan: plans.CampaignPlan, progress: CampaignProgress) -> None:
        """Continue in a new run, which finds the running cells by their ids."""
        for task in [task for task in self._at_play if task.done()]:
            await self._take(plan, progress, task)
        progress.lists += self._grown
        self._grown = []

        def next_run(stream: Any) -> list[CampaignInput]:
            carried = CarriedCampaign(plan=plan, progress=progress, stream=stream)
            return [self._payload.model_copy(update={"carried": carried.model_dump(mode="json")})]

        await self._publisher.stream.continue_as_new(next_run)

    async def _sum_up(self, status: plans.CellStatus, failure: str | None = None) -> plans.Summed:
        assert self._plan is not None
        assert self._progress is not None
        progress = self._progress
        elapsed = (workflow.now() - progress.started_at).total_seconds()
        summed: plans.Summed = await self._steps.do(
            CampaignActivities.sum_up_campaign,
            plans.SumUpInput(
                plan=self._plan,
                status=status,
                failure=failure,
                stopped=" ".join(filter(None, [progress.stopped, progress.limits_passed(self._plan, elapsed)])) or None,
                ledger=progress.ledger,
                ended=progress.ended,
                tally=progress.tally(),
                started_at=progress.started_at,
                ended_at=workflow.now(),
            ),
            **limits.summed_up("sum up", progress.done),
        )
        workflow.upsert_memo(
            {
                names.MEMO_SUMMARY: summed.sentence,
                names.MEMO_RESULTS: summed.results.model_dump(mode="json"),
                plans.MEMO_LEDGER: summed.ledger.model_dump(mode="json") if summed.ledger else None,
            }
        )
        self._ended = plans.CampaignArchiveInput(
            context_id=self._payload.context_id,
            owner=self._payload.owner,
            message=self._payload.message,
            plan=self._plan,
            status=status,
            failure=failure,
            summed=summed,
            tally=progress.tally(),
            updates=[],
            started_at=progress.started_at,
            ended_at=workflow.now(),
        )
        if summed.score is not None:
            workflow.upsert_search_attributes([names.PROCTOR_SCORE.value_set(summed.score)])
        self._publisher.publish(
            campaigns.CampaignEndedUpdate(
                tally=progress.tally(),
                duration_seconds=(workflow.now() - progress.started_at).total_seconds(),
                summary=summed.sentence,
            )
        )
        return summed

    # The ways out

    async def _fail(self, problem: BaseException) -> exceptions.ApplicationError:
        failure = describe_failure(problem)
        if failure.is_defect:
            workflow.logger.error("%s", failure.sentence, exc_info=problem)
        if failure.kind == failures.REJECTED:
            await self._end(names.Status.REJECTED)
            return exceptions.ApplicationError(failure.sentence, type=names.REJECTED_FAILURE, non_retryable=True)
        await run_undisturbed(self._stop_cells())
        self._publisher.publish_failure(failure.kind, failure.sentence, is_final=True)
        await self._sum_up_so_far("failed", failure)
        await self._end(names.Status.FAILED)
        return exceptions.ApplicationError(failure.sentence, type=names.ASSESSMENT_FAILURE, non_retryable=True)

    async def _call_off(self) -> None:
        """End a cancelled campaign, after its cells. The memo names the results so far."""
        await run_undisturbed(self._stop_cells())
        await self._sum_up_so_far("canceled", Failure("Canceled", "the campaign was cancelled"))
        await self._end(names.Status.CANCELED)

    async def _sum_up_so_far(self, status: plans.CellStatus, failure: Failure) -> None:
        """Publish the results so far, if there are any and they can be made."""

        async def sum_up() -> None:
            try:
                await self._sum_up(status, failure.sentence)
            except exceptions.FailureError:
                workflow.logger.exception("the results so far can't be made")

        if self._plan is not None and self._progress is not None:
            await run_undisturbed(sum_up())

    async def _stop_cells(self) -> None:
        tasks = list(self._at_play)
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        if self._plan is None or self._progress is None:
            return
        for task, outcome in zip(tasks, outcomes, strict=True):
            due = self._at_play.pop(task)
            if not isinstance(outcome, plans.CellOutcome):
                self._progress.at_play.remove(due)
                continue
            self._progress.note_play(due, outcome)
            if not outcome.may_be_played_again:
                self._progress.note(due, outcome)

    async def _end(self, status: names.Status) -> None:
        """Carry out the steps of every end: archive the results, remove leftovers on hosts, and let the next campaign
        of the context begin.
        """

        def part() -> Iterable[Awaitable[Any]]:
            archived = [] if self._ended is None else [archive_campaign(self._steps, self._ended, self._publisher)]
            if self._plan is None or self._progress is None or not self._plan.cleanup:
                return archived
            return [
                *archived,
                *(
                    workflow.execute_activity(
                        self._plan.cleanup,
                        self._plan.campaign_id,
                        task_queue=place,
                        **limits.swept("remove what the campaign left"),
                    )
                    for place in self._progress.places
                ),
            ]

        await end(self._place, self._publisher, status, part)


def _lost_outcome(problem: BaseException) -> plans.CellOutcome:
    cause = problem.cause if isinstance(problem, exceptions.ChildWorkflowError) and problem.cause else problem
    return plans.CellOutcome(
        status="failed",
        failure_kind=failures.UNKNOWN,
        failure=f"Its workflow failed: {cause}",
        may_be_played_again=True,
    )
