"""The activity that archives a campaign at its end: its results, and the runs that all its statistics are of."""

import asyncio
from collections.abc import Callable

from temporalio import activity

from activities.archive.lines import as_lines, updates_in
from activities.attempts.fencing import own_fence
from activities.attempts.patience import patiently
from activities.attempts.scrubbing import Scrubber
from activities.campaign.plan import CampaignArchiveInput
from proctor_protocol.archive import RESULT, RUNS, UPDATES, ArchiveEntry
from proctor_settings.config import GreenAgentConfig
from proctor_storage.archive import open_archive
from proctor_storage.blobs import BlobStore


class CampaignArchiving:
    """Writes what stays of a campaign; its assessments and trials have entries of their own, which name it."""

    def __init__(self, config: GreenAgentConfig, store: BlobStore, scrubber: Callable[[str], Scrubber]) -> None:
        self._store = store
        self._scrubber = scrubber
        self._archive = open_archive(config)

    @activity.defn
    async def archive_campaign(self, payload: CampaignArchiveInput) -> None:
        """Archive a campaign that has ended; a second call writes the same entry again."""
        entry = self._entry(payload)
        await patiently(lambda: asyncio.to_thread(self._write, entry, payload))

    def _entry(self, payload: CampaignArchiveInput) -> ArchiveEntry:
        plan, info = payload.plan, activity.info()
        return ArchiveEntry(
            kind="campaign",
            id=plan.campaign_id,
            fence=own_fence(),
            run_id=info.workflow_run_id,
            campaign_kind=plan.kind,
            tally=payload.tally,
            context_id=payload.context_id,
            owner=payload.owner,
            status=payload.status,
            sentence=payload.failure or payload.summed.sentence,
            scenario_id=plan.title,
            participant=plan.participant,
            participant_url=plan.participant_url,
            earned=payload.summed.score,
            seconds=(payload.ended_at - payload.started_at).total_seconds(),
            cost=payload.tally.cost,
            started_at=payload.started_at,
            ended_at=payload.ended_at,
            temporal_namespace=info.workflow_namespace,
            message=payload.message,
        )

    def _write(self, entry: ArchiveEntry, payload: CampaignArchiveInput) -> None:
        files = {
            RESULT: self._store.get_blocking(payload.summed.results),
            UPDATES: as_lines(updates_in(payload.updates)),
        }
        if payload.summed.runs is not None:
            files[RUNS] = self._store.get_blocking(payload.summed.runs)
        clean = self._scrubber(entry.id).written
        self._archive.write(entry, {name: clean(content) for name, content in files.items()}, {})
