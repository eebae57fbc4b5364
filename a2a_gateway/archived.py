"""Ended tasks from the archive: Temporal may have forgotten them, and reading them needs no worker."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from a2a.types import Task, TaskState, TaskStatus
from a2a.utils.errors import InternalError
from google.protobuf.json_format import ParseError

from proctor.a2a_gateway.parts import message_from_json
from proctor.a2a_gateway.subscriptions import Update
from proctor.a2a_gateway.tasks import Outcome, closing_message, results_artifact, results_sentence, task_metadata
from proctor.protocol.archive import ArchiveEntry
from proctor.protocol.callers import ANYBODY, Caller
from proctor.protocol.campaigns import CampaignResults
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import EntryDamagedError, open_archive
from purple_sdk.protocol.results import AssessmentResults, ResultStatus

T = TypeVar("T")

_STATES: dict[ResultStatus, TaskState] = {
    "completed": TaskState.TASK_STATE_COMPLETED,
    "failed": TaskState.TASK_STATE_FAILED,
    "timeout": TaskState.TASK_STATE_FAILED,
    "canceled": TaskState.TASK_STATE_CANCELED,
}


class ArchivedTasks:
    def __init__(self, config: GreenAgentConfig) -> None:
        self._config = config
        self._archive = open_archive(config)

    async def entry(self, task_id: str, run_id: str | None = None, caller: Caller = ANYBODY) -> ArchiveEntry | None:
        """Return a task's entry. None if the task has no entry, if the entry is of another run than ``run_id``, or if
        the caller may not see it. Raises InternalError if the archive can't be read.
        """
        entry = await self._read_archive(lambda: self._archive.restrict_view(caller).get(task_id))
        if entry is None or entry.kind == "trial":  # a trial is not a caller's task
            return None
        return entry if run_id in (None, entry.run_id) else None

    async def updates(self, entry: ArchiveEntry) -> list[Update]:
        """Return all updates. Raises InternalError if they can't be read."""
        archived = await self._read_archive(lambda: self._archive.updates(entry))
        return [Update(update.sequence, update.data, update.recorded_at) for update in archived]

    async def task(self, entry: ArchiveEntry) -> Task:
        """Return the task as it ended. Raises InternalError if its updates can't be read."""
        results = await self._read_archive(lambda: self._results(entry))
        known = {"scenario_id": entry.scenario_id, "participant": entry.participant_url}
        task = Task(id=entry.id, context_id=entry.context_id, metadata=task_metadata(entry.id, self._config, **known))
        if entry.message:
            try:
                task.history.append(message_from_json(entry.message))
            except ParseError:  # it was written by another version of the protocol
                pass
        outcome = Outcome(_STATES[entry.status], _sentence(entry, results), results)
        task.status.CopyFrom(
            TaskStatus(state=outcome.state, message=closing_message(task, outcome), timestamp=entry.ended_at)
        )
        task.artifacts.append(results_artifact(results))
        return task

    def _results(self, entry: ArchiveEntry) -> AssessmentResults | CampaignResults:
        return self._archive.campaign_results(entry) if entry.kind == "campaign" else self._archive.results(entry)

    async def _read_archive(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except EntryDamagedError as error:
            raise InternalError(f"The evaluator's archive can't be read: {error}") from None


def _sentence(entry: ArchiveEntry, results: AssessmentResults | CampaignResults) -> str:
    return entry.sentence or (results_sentence(results) if isinstance(results, AssessmentResults) else entry.status)
