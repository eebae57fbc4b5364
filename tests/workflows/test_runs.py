"""Campaigns of assessments, with scripted steps: what is played, what is never played twice, limits, statistics."""

import asyncio
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from a2a.client import Client as Caller
from a2a.types import GetTaskRequest
from jsonschema import Draft202012Validator
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowFailureError

from proctor.a2a_gateway.auth.quotas import Allowance
from proctor.a2a_gateway.starting import start_assessment
from proctor.activities.attempts import failures
from proctor.activities.campaign.activities import ENDED_CELLS
from proctor.activities.campaign.plan import MEMO_LEDGER
from proctor.activities.participant.payloads import TurnInput
from proctor.protocol import callers
from proctor.protocol.archive import schemas
from proctor.settings.config import GreenAgentConfig
from proctor.statistics import summaries
from proctor.storage.archive import Archive
from proctor.storage.blobs import BlobRef, BlobStore
from proctor.storage.temporal import connect
from tests.a2a_gateway.callers import data_part, message, sdk_client, state_name
from tests.a2a_gateway.conftest import running_gateway
from tests.assessments.test_archiving import is_forgotten
from tests.sentences import says
from tests.waiting import eventually
from tests.work import only_nightly, some_of
from tests.workflows.conftest import settings
from tests.workflows.replaying import replayed
from tests.workflows.scripted import fails
from tests.workflows.scripted_runs import Ended, ScriptedRun, play, request


@dataclass(frozen=True)
class Finished:
    """A campaign that was played before any test: its settings, its steps, its end, and how many runs replayed."""

    config: GreenAgentConfig
    scripted: ScriptedRun
    ended: Ended
    replayed: int


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def finished(temporal: str, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Two agents, one scenario, two seeds, each twice."""
    config = settings(temporal, tmp_path_factory.mktemp("finished"))
    client = await connect(config)
    scripted = ScriptedRun(config)
    async with (
        scripted.worker(client, config.task_queue),
        running_gateway(config) as gateway,
        sdk_client(gateway.url, streaming=False) as caller,
    ):
        ended = await play(caller, request(scenarios=["day"], seeds=[1, 2], repeats=2, at_once=3))
    return Finished(config, scripted, ended, await replayed(client, ended.id))


def test_every_agent_plays_every_scenario_with_every_seed_as_often_as_asked(finished: Finished) -> None:
    ended, scripted = finished.ended, finished.scripted
    assert ended.state == "completed"
    assert set(scripted.played.values()) == {2}
    assert len(scripted.played) == 4
    results = ended.results
    assert [cell.status for cell in results.cells] == ["completed"] * 8
    assert len({cell.task_id for cell in results.cells}) == 8
    assert all(f"-{cell.scenario_id}-" in cell.task_id for cell in results.cells)
    by_agent = {row.agent: row for row in results.summaries if row.of == "overall" and row.scenario is None}
    assert (by_agent["good"].percent.mean, by_agent["poor"].percent.mean) == (100, 30)  # type: ignore[union-attr]
    assert by_agent["poor"].counts.runs == 4
    (comparison,) = results.comparisons
    assert (comparison.pairs, comparison.difference.mean) == (4, 70)  # type: ignore[union-attr]
    assert (results.tokens, results.cost) == (800, 4.0)
    assert ended.updates[-1]["tally"]["done"] == 8
    assert (ended.updates[-1]["tally"]["cost_known"], results.cost_known) == (8, 8)
    assert finished.replayed == 1


async def test_a_campaign_is_archived_with_what_its_statistics_are_of(finished: Finished) -> None:
    config, ended = finished.config, finished.ended
    archive = Archive(config.archive_url)
    entry = archive.find(ended.id)
    assert (entry.kind, entry.campaign_kind, entry.status, entry.scenario_id) == (
        "campaign", "assessments", "completed", "day",
    )  # fmt: skip
    assert entry.tally is not None
    assert (entry.tally.done, entry.tally.failed, entry.earned, entry.cost) == (8, 0, 0.65, 4.0)
    assert archive.campaign_results(entry) == ended.results
    assert summaries(archive.runs(entry)) == ended.results.summaries
    assert [update.data for update in archive.updates(entry)] == ended.updates[1:]
    known = schemas()
    for name in entry.files:
        content, schema = archive.read(entry, name).decode(), Draft202012Validator(known[name])
        for document in content.splitlines() if name.endswith("l") else [content]:
            schema.validate(json.loads(document))
    assert {given.campaign for given in finished.scripted.inputs["archive"]} == {ended.id}

    client = await connect(config)
    await client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(
            namespace=client.namespace, workflow_execution=WorkflowExecution(workflow_id=ended.id)
        )
    )
    await eventually(lambda: is_forgotten(client, ended.id))
    async with running_gateway(config) as gateway, sdk_client(gateway.url, streaming=False) as caller:
        found = Ended(await caller.get_task(GetTaskRequest(id=ended.id, history_length=10_000)))
    assert (found.state, found.sentence, found.results) == (ended.state, ended.sentence, ended.results)
    assert found.updates == ended.updates


async def test_an_assessment_of_a_campaign_is_a_task_like_any_other(finished: Finished) -> None:
    async with running_gateway(finished.config) as gateway, sdk_client(gateway.url, streaming=False) as caller:
        for cell in finished.ended.results.cells:
            task = await caller.get_task(GetTaskRequest(id=cell.task_id))
            assert state_name(task.status.state) == "completed"
            assert [artifact.name for artifact in task.artifacts] == ["assessment_results"]


async def test_who_failed_by_its_own_fault_is_not_played_again_and_others_are(
    caller: Caller, scripted: ScriptedRun
) -> None:
    simulator_is_away: Counter[str] = Counter()

    async def turn(given: TurnInput) -> None:
        about = scripted.plans[given.plan.assessment_id]
        if about.participant == "poor" and about.scenario_id == "day":
            raise failures.PARTICIPANT_MISBEHAVED.final("poor answers with a poem.")
        if about.scenario_id == "night" and not simulator_is_away[about.participant]:
            simulator_is_away[about.participant] += 1
            raise failures.SERVER_FAILED.final("The server can't be started.")

    scripted.replacements["purple_turn"] = turn
    ended = await play(caller, request(seeds=[1], tries=3))
    cells = {(cell.agent, cell.scenario_id): cell for cell in ended.results.cells}
    poor = cells["poor", "day"]
    assert (poor.status, poor.failed_by_participant, poor.plays) == ("failed", True, 1)
    assert poor.failure == "poor answers with a poem."
    assert [(cells[agent, "night"].status, cells[agent, "night"].plays) for agent in ("good", "poor")] == [
        ("completed", 2),
        ("completed", 2),
    ]
    row = next(row for row in ended.results.summaries if (row.agent, row.scenario, row.of) == ("poor", None, "overall"))
    assert (row.counts.runs, row.counts.judged, row.counts.failed_by_participant) == (2, 1, 1)
    assert (row.passes.runs, row.passes.passed) == (2, 0)  # type: ignore[union-attr]
    judged = 100 * (cells["poor", "night"].score or 0) / (cells["poor", "night"].max_score or 1)
    assert (row.percent.mean, row.percent_judged) == (judged / 2, judged)  # type: ignore[union-attr]
    tally = ended.updates[-1]["tally"]
    assert (tally["scored"], tally["score"]) == (4, pytest.approx(2 * 1.0 + judged / 100))


async def lose_a_result_of(client: Client, config: GreenAgentConfig, campaign_id: str) -> None:
    """Remove what the ledger of an ended campaign names first, as a pruning may."""
    described = await client.get_workflow_handle(campaign_id).describe()
    store = BlobStore(config.storage_url)
    ledger = ENDED_CELLS.validate_json(await store.get(await described.memo_value(MEMO_LEDGER, type_hint=BlobRef)))
    lost = ledger[0].outcome.result
    assert lost is not None
    Path(config.storage_url, lost.sha256[:2], lost.sha256[2:]).unlink()


async def test_a_campaign_that_grows_plays_only_what_is_new(
    caller: Caller, client: Client, config: GreenAgentConfig, scripted: ScriptedRun
) -> None:
    first = await play(caller, request("good", scenarios=["day"], seeds=[1, 2]))
    await lose_a_result_of(client, config, first.id)
    scripted.played.clear()
    second = await play(caller, request("good", scenarios=["day"], seeds=[1, 2, 3], grows=first.id))
    assert len(second.results.cells) == 3
    (kept,) = [cell for cell in second.results.cells if cell.taken_over]
    assert kept.task_id in {cell.task_id for cell in first.results.cells}
    assert {seed for _, _, seed in scripted.played} == {1, 2, 3} - {kept.seed}, "what was pruned is played again"
    scripted.played.clear()
    third = await play(caller, request("good", scenarios=["day"], seeds=[3], max_turns=1, grows=second.id))
    assert sum(scripted.played.values()) == 1, "other settings are another assessment"
    assert third.results.missing == 0


async def test_nobody_grows_what_is_another_callers(
    client: Client, config: GreenAgentConfig, scripted: ScriptedRun
) -> None:
    async def ended(owner: str, **more: Any) -> str:
        asked = data_part(request("good", scenarios=["day"], seeds=[1], **more))
        who = callers.Caller(name=owner)
        started = await start_assessment(client, message(asked).message, config.task_queue, who, Allowance(config))
        await client.get_workflow_handle(started.task_id).result()
        return started.task_id

    hers = await ended("alice")
    for stranger in ("bob", ""):
        with pytest.raises(WorkflowFailureError) as problem:
            await ended(stranger, grows=hers)
        assert says("config.grows", hers=hers).within(str(problem.value.cause))
    await ended("alice", grows=hers)
    assert sum(scripted.played.values()) == 1


async def test_a_limit_of_costs_is_not_passed(caller: Caller, scripted: ScriptedRun) -> None:
    ended = await play(caller, request(seeds=list(range(1, 11)), at_once=2, max_cost=1.0))
    assert ended.state == "completed"
    results = ended.results
    assert results.cost is not None
    assert results.cost <= 1.0
    assert len(results.cells) == 2
    assert results.missing == 38
    assert results.stopped == says()
    assert "Stopped at" in ended.sentence


@only_nightly  # by default: test_limits_of_tokens_and_time_hold
async def test_the_forecast_of_a_cell_is_by_agent_and_scenario(caller: Caller, scripted: ScriptedRun) -> None:
    """With one average for both agents (1.0), the fifth play of ``good`` would start at 8.1 and end at 10.0 of 9.5."""
    scripted.price = lambda agent, _: 1.9 if agent == "good" else 0.1
    ended = await play(caller, request(scenarios=["day"], seeds=list(range(1, 11)), at_once=1, max_cost=9.5))
    assert 8.0 <= (ended.results.cost or 0) <= 9.5
    assert re.search(r"good · day.* 1\.9 .* 8.* 9\.5 ", ended.results.stopped or "")


@only_nightly  # by default: test_limits_of_tokens_and_time_hold
async def test_after_a_limit_is_passed_nothing_is_begun(caller: Caller, scripted: ScriptedRun) -> None:
    """What one costs can't be known before: the spend after a limit is at most what was under way then."""
    scripted.price = lambda _, seed: 0.01 if seed <= 1 else 3.0  # cheap at first, and dear then
    ended = await play(caller, request(seeds=list(range(1, 11)), at_once=3, max_cost=2.0))
    results = ended.results
    assert results.cost
    assert results.stopped == says(over=f"{results.cost - 2:.4g}")
    tallies = [update["tally"] for update in ended.updates if "tally" in update]
    passed = next(tally for tally in tallies if (tally.get("cost") or 0) > 2.0)
    assert len(results.cells) <= passed["done"] + passed["running"] <= 8
    assert (results.cost or 0) <= passed["cost"] + 3.0 * passed["running"]
    assert results.missing == 40 - len(results.cells)


@pytest.mark.parametrize(
    ("limit", "most"),
    [
        ({"max_tokens": 200}, 2),
        ({"max_hours": 1e-6}, 2),
    ],
)
async def test_limits_of_tokens_and_time_hold(
    caller: Caller, scripted: ScriptedRun, limit: dict[str, float], most: int
) -> None:
    ended = await play(caller, request(seeds=list(range(1, 11)), at_once=2, **limit))
    assert len(ended.results.cells) <= most
    assert len(ended.results.cells) + ended.results.missing == 40
    assert says(over=re.compile(r"(?<=passed by )[\d.e-]+")).within(ended.results.stopped or "")
    rows = [row for row in ended.results.summaries if row.of == "overall" and row.scenario is None]
    assert [row.planned for row in rows] == [20, 20]
    assert sum(len(row.lost) for row in rows) == ended.results.missing, "each cell that was never played is named"
    assert "of 20 planned cells" in rows[0].lost_in_words()


@only_nightly  # by default: test_a_limit_of_costs_is_not_passed
async def test_a_limit_of_costs_is_not_taken_for_kept_where_a_price_is_unknown(
    caller: Caller, scripted: ScriptedRun
) -> None:
    scripted.price = lambda *_: None
    ended = await play(caller, request(seeds=[1, 2, 3], at_once=2, max_cost=2.0))
    assert len(ended.results.cells) <= 3, "those under way when the first one ended, and no more"
    assert says().within(ended.results.stopped or "")
    unlimited = await play(caller, request("good", scenarios=["day"], seeds=[1, 2]))
    assert len(unlimited.results.cells) == 2, "no limit, no stop"


async def test_at_most_so_many_at_once_with_one_participant_and_with_one_model(
    caller: Caller, scripted: ScriptedRun
) -> None:
    now: Counter[str] = Counter()
    peaks: Counter[str] = Counter()

    async def turn(given: TurnInput) -> None:
        names = (scripted.plans[given.plan.assessment_id].participant, "all")
        now.update(names)
        peaks.update({name: now[name] - peaks[name] for name in names if now[name] > peaks[name]})
        await eventually(lambda: peaks["all"] > 1)
        await asyncio.sleep(0.1)
        now.subtract(names)

    scripted.replacements["purple_turn"] = turn
    lanes = {"at_once_per_participant": 1, "at_once_per_model": 2}
    ended = await play(caller, request(scenarios=["day"], seeds=[1, 2], at_once=4, offline=False, **lanes))
    assert len(ended.results.cells) == 4
    assert (peaks["good"], peaks["poor"], peaks["all"]) == (1, 1, 2)


async def test_those_that_failed_by_the_participants_fault_are_played_again_where_that_is_asked_for(
    caller: Caller, scripted: ScriptedRun
) -> None:
    failed: Counter[str] = Counter()

    async def turn(given: TurnInput) -> None:
        name = scripted.plans[given.plan.assessment_id].participant
        failed[name] += 1
        if failed[name] == 1:
            raise failures.PARTICIPANT_MISBEHAVED.final(f"{name} answers with a poem.")

    scripted.replacements["purple_turn"] = turn
    ended = await play(caller, request("good", scenarios=["day"], seeds=[1], tries=2, play_again="failed"))
    assert [(cell.status, cell.plays) for cell in ended.results.cells] == [("completed", 2)]


async def test_shards_share_out_the_cells(caller: Caller, scripted: ScriptedRun) -> None:
    for index in range(2):
        await play(caller, request("good", seeds=[1], shard_index=index, num_shards=2))
    assert len(scripted.played) == 2
    assert set(scripted.played.values()) == {1}
    # A platform that splits a run into more parts than there are cells takes any other end for a failure.
    empty = await play(caller, request(seeds=[1], shard_index=4, num_shards=5, num_instances=9))
    assert (empty.state, empty.results.cells) == ("completed", [])
    assert set(scripted.played.values()) == {1}


async def test_a_bad_request_is_rejected_with_a_sentence(caller: Caller, scripted: ScriptedRun) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"seeds": [1, 1]}, "config.seeds"),
        ({"repeats": 0}, "config.repeats"),
        ({"repeats": 10_000, "seeds": list(range(100))}, "100,000"),
        ({"shard_index": 3, "num_shards": 3}, "shard"),
        ({"grows": "nobody"}, "config.grows"),
    ]
    for changes, fact in some_of(cases, 3):
        ended = await play(caller, request(**changes))
        assert ended.state == "rejected"
        assert fact in ended.sentence
    assert not scripted.played


async def test_a_campaign_that_is_judged_by_a_broken_evaluator_says_so_of_each_cell(
    caller: Caller, scripted: ScriptedRun
) -> None:
    scripted.replacements["judge_criterion"] = fails(failures.EVALUATOR_FAILED, "The evaluator has a bug.")
    ended = await play(caller, request("good", scenarios=["day"], seeds=[1], tries=1))
    (cell,) = ended.results.cells
    assert says().within(cell.failure or "")
    assert not cell.failed_by_participant
    assert {row.percent for row in ended.results.summaries} == {None}
