"""Assessments that were rehearsed and really archived: by the activity that archives those of a deployment."""

import json
from collections.abc import Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import Any

from proctor.activities.archive.assessments import ArchiveActivities
from proctor.activities.archive.payloads import ArchiveInput, as_lines
from proctor.local.audit import players
from proctor.local.court import Court
from proctor.local.doing import do
from proctor.local.rehearsal import RehearsedAssessment, Script
from proctor.protocol.archive import RESULT, RUNS, UPDATES, ArchiveEntry
from proctor.protocol.judgements import Judgement
from proctor.protocol.runs import RunResults
from proctor.scenarios.kit.making.days import Day
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import Archive, open_archive
from purple_sdk.protocol.provenance import Provenance
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.protocol.statistics import Points, Run
from purple_sdk.ues import AsyncUESClient, UESError


def with_lapses(day: Day, rate: float, play: int = 0) -> Script:
    """A player of a family's day that slips at each point with a probability; at a rate of 0 it does all right."""
    player = players.graded(day, rate, play)

    async def script(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        with suppress(UESError):  # a family has noise; the audit counts turns from 0
            await player(turn - 1, now, ues)

    return script


class Archived(RehearsedAssessment):
    """Plays, and archives what it played."""

    async def play_and_archive(
        self, scenario_id: str, script: Script, seed: int, *, campaign: str | None = None, agent: str = "", **how: Any
    ) -> AssessmentResults:
        began_at = datetime.now(UTC)
        results, _ = await self.play(scenario_id, script, seed, **how)
        provenance = Provenance(started_at=began_at, ended_at=datetime.now(UTC))
        results = results.model_copy(update={"provenance": provenance})
        assert self.plan is not None
        config, store = self.parts.config, self.parts.store
        archiving = ArchiveActivities(config, store, self.parts.make_scrubbing().make_scrubber)
        payload = ArchiveInput(
            plan=self.plan.model_copy(update={"participant": agent or self.plan.participant}),
            context_id="",
            message={},
            results=results,
            updates=[],
            turns=self.notes,
            turn_notes=self.turn_notes,
            campaign=campaign,
        )
        await do(archiving.archive, payload)
        return results


def archive_campaign(
    config: GreenAgentConfig, campaign: str, played: Sequence[AssessmentResults], agent: str, failed: int = 0
) -> ArchiveEntry:
    """The entry of a campaign that has played these; and runs that their participant failed, which have no entry."""
    now = datetime.now(UTC)
    runs = [
        Run(
            run_id=result.assessment_id,
            agent=agent,
            scenario=result.scenario_id,
            difficulty=result.difficulty,
            seed=result.seed,
            overall=Points(score=result.scores.overall.score, max_score=result.scores.overall.max_score),
        )
        for result in played
    ]
    runs += [
        Run(run_id=f"failed-{n}", agent=agent, scenario=runs[0].scenario, status="failed", failed_by_participant=True)
        for n in range(failed)
    ]
    results = RunResults(
        campaign_id=campaign,
        status="completed",
        agents={agent: "http://nobody"},
        cells=[],
        summaries=[],
        comparisons=[],
        items=[],
        started_at=now,
        ended_at=now,
        config={},
    )
    entry = ArchiveEntry(
        kind="campaign",
        campaign_kind="assessments",
        id=campaign,
        status="completed",
        scenario_id=", ".join(dict.fromkeys(run.scenario for run in runs)),
        participant=agent,
        started_at=now,
        ended_at=now,
    )
    files = {RESULT: results.model_dump_json().encode(), RUNS: as_lines(runs), UPDATES: b""}
    return open_archive(config).write(entry, files, {})


async def judged_again(config: GreenAgentConfig, entry: ArchiveEntry) -> Judgement:
    """An entry judged again by its frozen evaluators."""
    async with aclosing(Court(config, open_archive(config), is_current=False, judge=None)) as court:
        return await court.judge(entry)


def entries_in(archive: Archive) -> list[dict[str, Any]]:
    """All entries, as JSON: to see that nothing of them has changed."""
    return [json.loads(entry.model_dump_json()) for entry in archive.entries()]
