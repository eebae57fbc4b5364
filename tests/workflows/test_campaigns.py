"""Campaigns of terminal trials, with scripted steps: what is played, how often, how many at once, and every way out."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from a2a.client import Client as Caller
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest, Part
from google.protobuf.json_format import MessageToDict
from temporalio import activity
from temporalio.client import Client

from proctor.activities.attempts import failures
from proctor.activities.campaign.activities import keep_cells
from proctor.activities.campaign.plan import Cell, CellList
from proctor.activities.plan import TRIAL_WORKFLOW
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import Archive
from proctor.storage.blobs import BlobStore
from proctor.terminal import plan as trial_plan
from proctor.terminal.plan import Collected, CollectInput, StepInput, TrialPlan, Worked
from proctor.workflows import limits, names
from purple_sdk.protocol.results import Doubt
from purple_sdk.protocol.terminal import Blob, FailureMode, TerminalResults
from tests.a2a_gateway.callers import data_part, message, send, state_name
from tests.sentences import says
from tests.waiting import eventually
from tests.workflows.replaying import replayed
from tests.workflows.scripted_trials import ScriptedTrials

STEPS = ["prepare_image", "start_environment", "hand_over", "run_trial_tests", "collect_logs", "take_down_trial"]


@pytest_asyncio.fixture
async def trials(client: Client, config: GreenAgentConfig) -> AsyncIterator[ScriptedTrials]:
    scripted = ScriptedTrials(config)
    async with scripted.worker(client, config.task_queue):
        yield scripted


def request(*task_ids: str, **config: Any) -> dict[str, Any]:
    return {
        "config": {
            "benchmark": "terminal-bench",
            "dataset": "scripted",
            "agent": "null",
            "task_ids": list(task_ids),
            **config,
        }
    }


class Ended:
    """A campaign's task, as somebody sees it after the end."""

    def __init__(self, task: Any) -> None:
        self.id = task.id
        self.state = state_name(task.status.state)
        self.sentence = " ".join(part.text for part in task.status.message.parts)
        raw = [part.raw for artifact in task.artifacts for part in artifact.parts if part.HasField("raw")]
        self.results = TerminalResults.model_validate_json(raw[0]) if raw else None
        parts = [part for said in task.history[1:] for part in said.parts]
        self.updates = [MessageToDict(part.data) for part in parts if part.HasField("data")]
        self.sentences = [part.text for part in parts if part.HasField("text")]


async def look(caller: Caller, task_id: str) -> Ended:
    return Ended(await caller.get_task(GetTaskRequest(id=task_id, history_length=10_000)))


async def play(caller: Caller, asked: Any) -> Ended:
    part = Part(text=asked) if isinstance(asked, str) else data_part(asked)
    task = await send(caller, message(part))
    return await look(caller, task.id)


async def test_every_attempt_is_a_trial_and_the_artifact_sums_them_up(
    caller: Caller, client: Client, trials: ScriptedTrials
) -> None:
    ended = await play(caller, request("easy", "hard", n_attempts=2, n_concurrent_trials=2))
    assert ended.state == "completed"
    assert trials.of("easy") == STEPS * 2 or sorted(trials.of("easy")) == sorted(STEPS * 2)
    results = ended.results
    assert results is not None
    assert (results.n_tasks, results.n_trials, results.accuracy) == (2, 4, 0.5)
    assert (results.resolved_ids, results.unresolved_ids) == (["easy", "easy"], ["hard", "hard"])
    assert [(k, share.value) for k, share in results.pass_at_k.items()] == [(1, 0.5), (2, 0.5)]
    assert results.failure_modes == {"none": 4}
    phases = {"build", "start", "agent", "tests", "logs", "stop"}
    assert [set(trial.phases) for trial in results.results] == [phases] * 4
    told = [update["message_type"] for update in ended.updates]
    assert told == ["update_campaign_started", *["update_cell_ended"] * 4, "update_campaign_ended"]
    tally = ended.updates[-1]["tally"]
    assert (tally["total"], tally["done"], tally["running"], tally["succeeded"]) == (4, 4, 0, 2)
    assert ended.sentences[-1] == says("50.0%")
    assert await replayed(client, ended.id) == 1
    assert await replayed(client, f"{ended.id}.easy.1") == 1

    async def is_listed_without_its_trials() -> bool:
        listed = await caller.list_tasks(ListTasksRequest(page_size=100))
        return [task.id for task in listed.tasks if task.id.startswith(ended.id)] == [ended.id]

    await eventually(is_listed_without_its_trials)


SEEDS_WORDS = (
    'Launch terminal-bench evaluation for agent at http://localhost:8001.\n<task_config>\n{"task_ids": ["easy"], '
    '"white_agent_url": "http://localhost:8001", "n_attempts": 1, "n_concurrent_trials": 1}\n</task_config>'
)


async def test_a_run_by_the_seeds_words_and_its_trials_are_archived_with_what_the_agent_did(
    caller: Caller, config: GreenAgentConfig, trials: ScriptedTrials
) -> None:
    store, archive = BlobStore(config.storage_url), Archive(config.archive_url)
    command = {"at": "2026-03-01T10:00:00Z", "kind": "command", "command": "ls", "output": "a\x1b[0m" * 40_000}
    lines = json.dumps(command).encode() + b"\n{half a li"
    files = {"sessions/transcript.jsonl": lines, "sessions/agent.cast": b"{}", "../../../x": b"1" * 3_000_000}

    async def collected(given: CollectInput) -> Collected:
        blobs = [(name, await store.put(content)) for name, content in files.items()]
        return Collected(files=[Blob(name=n, sha256=ref.sha256, size=ref.size) for n, ref in blobs], seconds=0)

    trials.replacements["collect_logs"] = collected
    ended = await play(caller, SEEDS_WORDS)
    assert ended.results is not None
    assert ended.results.resolved_ids == ["easy"]
    campaign, trial = archive.find(ended.id), archive.find(f"{ended.id}.easy.1")
    assert (campaign.kind, campaign.campaign_kind, campaign.status) == ("campaign", "terminal-bench", "completed")
    assert archive.campaign_results(campaign) == ended.results
    assert [(run.scenario, run.percent) for run in archive.runs(campaign)] == [("easy", 100)]
    assert (trial.kind, trial.campaign, trial.scenario_id, trial.status) == ("trial", ended.id, "easy", "completed")
    assert (trial.score_text, trial.max_score, trial.share) == ("1", 1, 1.0)
    assert archive.trial_result(trial).task_id == "easy"
    (told,) = archive.transcript(trial)
    assert (told.command, len(told.output)) == ("ls", 100_000)
    assert set(trial.files) == {"result.json", "updates.jsonl", "transcript.jsonl", "recording.cast", "logs/x"}
    assert trial.files["logs/x"].size < 600_000


async def test_a_bad_request_is_rejected_with_a_sentence(caller: Caller, trials: ScriptedTrials) -> None:
    ended = await play(caller, {"config": {"benchmark": "terminal-bench", "dataset": "d", "n_attempts": 0}})
    assert ended.state == "rejected"
    assert "config.n_attempts is 0" in ended.sentence


async def test_at_most_so_many_are_at_play_and_lanes_have_limits_of_their_own(
    caller: Caller, trials: ScriptedTrials
) -> None:
    alone: list[int] = []

    async def tested(given: StepInput) -> None:
        trials.replacements["count"] = trials.replacements["run_trial_tests"]
        if given.plan.task_id == "alone":
            alone.append(1)
            await asyncio.sleep(0.05)
            assert len(alone) == 1
            alone.pop()

    trials.replacements["run_trial_tests"] = tested
    ended = await play(caller, request("alone", "easy", n_attempts=2, n_concurrent_trials=3))
    assert ended.results is not None
    assert ended.results.n_resolved == 4
    assert trials.most_at_once <= 3


async def test_what_fails_by_the_evaluators_fault_is_played_again_and_what_others_do_is_not(
    caller: Caller, trials: ScriptedTrials
) -> None:
    async def prepare(plan: TrialPlan) -> None:
        if plan.task_id == "unlucky" and plan.play < 3:
            raise failures.UNKNOWN.final("The host has hiccups.")
        if plan.task_id == "broken":
            raise _of_task("The Dockerfile of broken can't be built.")

    trials.replacements["prepare_image"] = prepare
    ended = await play(caller, request("unlucky", "broken", "easy", tries=3, n_concurrent_trials=1))
    assert ended.state == "completed"
    assert ended.results is not None
    by_task = {trial.task_id: trial for trial in ended.results.results}
    assert (by_task["unlucky"].is_resolved, by_task["unlucky"].tries) == (True, 3)
    broken = by_task["broken"]
    assert (broken.is_resolved, broken.blame, broken.failure_mode) == (None, "task", FailureMode.UNKNOWN)
    assert broken.failure == says()
    assert trials.of("broken") == ["prepare_image"]
    assert [update["again"] for update in ended.updates if update["message_type"] == "update_cell_ended"].count(
        True
    ) == 2


async def test_a_lost_environment_begins_again_from_the_image(caller: Caller, trials: ScriptedTrials) -> None:
    lost: list[int] = []

    async def hand_over(given: StepInput) -> None:
        if not lost:
            lost.append(given.number)
            raise failures.ENVIRONMENT_LOST.final("The container stands no more.")

    trials.replacements["hand_over"] = hand_over
    ended = await play(caller, request("easy"))
    assert ended.results is not None
    assert ended.results.n_resolved == 1
    assert trials.of("easy") == [*STEPS[:3], "take_down_trial", *STEPS]


async def test_what_goes_wrong_in_a_trial_is_told_of_it(caller: Caller, trials: ScriptedTrials) -> None:
    """An agent that fails is tested all the same. One that ended its own container is not, nor is it played again."""

    async def hand_over(given: StepInput) -> Worked | None:
        if given.plan.task_id == "mute":
            raise failures.PARTICIPANT_FAILED.final("The participant failed: no idea.")
        if given.plan.task_id == "ended":
            now, mode = activity.info().started_time, FailureMode.UNKNOWN_AGENT_ERROR
            return Worked(failure_mode=mode, failure="It ended.", is_over=True, started_at=now, ended_at=now)
        return None

    async def run_tests(given: StepInput) -> trial_plan.Tested | None:
        now = activity.info().started_time
        if given.plan.task_id != "slow":
            return None
        return trial_plan.Tested(
            failure_mode=FailureMode.TEST_TIMEOUT, failure="Too slow.", blame="task", started_at=now, ended_at=now
        )

    trials.replacements |= {"hand_over": hand_over, "run_trial_tests": run_tests}
    ended = await play(caller, request("mute", "ended", "slow"))
    assert ended.results is not None
    told = {trial.task_id: (trial.is_resolved, trial.failure_mode, trial.failure) for trial in ended.results.results}
    assert told == {
        "mute": (True, "unknown_agent_error", says()),
        "ended": (None, "unknown_agent_error", "It ended."),
        "slow": (None, "test_timeout", "Too slow."),
    }
    assert ended.results.failure_modes == {"unknown_agent_error": 2, "test_timeout": 1}
    assert trials.of("ended") == [step for step in STEPS if step != "run_trial_tests"]


async def test_doubtful_verdicts_are_counted_and_the_accuracy_has_a_second_value(
    caller: Caller, trials: ScriptedTrials
) -> None:
    doubt = Doubt(item="/conftest.py", statement="The agent changed pytest's settings.", reason="It was there.")

    async def run_tests(given: StepInput) -> trial_plan.Tested:
        now, is_doubtful = activity.info().started_time, given.plan.task_id == "moved"
        return trial_plan.Tested(
            failure_mode=FailureMode.NONE,
            is_resolved=given.plan.task_id != "hard",
            reward=float(given.plan.task_id != "hard"),
            verifier="same-container",
            doubts=[doubt] if is_doubtful else [],
            started_at=now,
            ended_at=now,
        )

    trials.replacements["run_trial_tests"] = run_tests
    ended = await play(caller, request("moved", "easy", "hard"))
    results = ended.results
    assert results is not None
    assert (results.n_doubtful, results.accuracy, results.accuracy_without_doubtful) == (1, 0.666667, 0.5)
    assert results.accuracy_if_settled == (0.333333, 0.666667)
    assert [bool(trial.doubts) for trial in results.results] == [False, False, True]
    assert says("50.0%", "33.3%", "66.7%").within(ended.sentence)


async def test_a_campaign_is_cancelled_as_a_whole_and_keeps_what_has_ended(
    caller: Caller, client: Client, config: GreenAgentConfig, trials: ScriptedTrials
) -> None:
    async def hand_over(given: StepInput) -> Worked | None:
        if given.plan.task_id == "endless":
            await asyncio.Event().wait()
        return None

    trials.replacements["hand_over"] = hand_over
    asked = message(data_part(request("easy", "endless", "later", n_concurrent_trials=1)))
    asked.configuration.return_immediately = True
    task = await send(caller, asked)
    await eventually(lambda: ("hand_over", "endless") in trials.calls)
    await caller.cancel_task(CancelTaskRequest(id=task.id))
    await eventually(lambda: ("take_down_trial", "endless") in trials.calls)

    async def is_over() -> bool:
        return (await look(caller, task.id)).state == "canceled"

    await eventually(is_over)
    ended = await look(caller, task.id)
    assert ended.results is not None
    assert (ended.results.status, ended.results.resolved_ids, ended.results.n_missing) == ("canceled", ["easy"], 2)
    assert trials.of("later") == []
    described = await client.get_workflow_handle(f"{task.id}.endless.1").describe()
    assert described.status is not None
    assert described.status.name == "CANCELED"
    archive = Archive(config.archive_url)
    statuses = {entry.id.removeprefix(task.id): (entry.kind, entry.status) for entry in archive.entries()}
    assert statuses == {
        "": ("campaign", "canceled"),
        ".easy.1": ("trial", "completed"),
        ".endless.1": ("trial", "canceled"),
    }
    assert await replayed(client, task.id) == 1


async def test_a_long_campaign_continues_as_new_and_plays_nothing_twice(
    caller: Caller, client: Client, trials: ScriptedTrials, monkeypatch: Any
) -> None:
    monkeypatch.setattr(limits, "CAMPAIGN_EVENTS", 15)
    tasks = [f"task-{number}" for number in range(4)]
    ended = await play(caller, request(*tasks, n_concurrent_trials=2))
    assert ended.results is not None
    assert ended.results.n_resolved == len(tasks)
    assert sorted(about for step, about in trials.calls if step == "run_trial_tests") == sorted(tasks)
    assert len([u for u in ended.updates if u["message_type"] == "update_cell_ended"]) == len(tasks)
    assert await replayed(client, ended.id) > 1


async def test_a_campaign_grows_while_it_runs(
    caller: Caller, client: Client, config: GreenAgentConfig, trials: ScriptedTrials
) -> None:
    go_on = asyncio.Event()

    async def hand_over(given: StepInput) -> None:
        await go_on.wait()

    trials.replacements["hand_over"] = hand_over
    asked = message(data_part(request("easy")))
    asked.configuration.return_immediately = True
    task = await send(caller, asked)
    await eventually(lambda: ("hand_over", "easy") in trials.calls)
    files = (await BlobStore(config.storage_url).put(b"")).model_dump(mode="json")
    more = Cell(
        cell_id="more.1",
        label="more 1",
        workflow=TRIAL_WORKFLOW,
        given={
            "task_id": "more",
            "trial_name": "more.1",
            "files": files,
            "attempt": 1,
            "agent_seconds": 60,
            "test_seconds": 60,
        },
    )
    grown: CellList = await keep_cells(BlobStore(config.storage_url), [more])
    await client.get_workflow_handle(task.id).signal(names.GROW_SIGNAL, grown)
    await eventually(lambda: ("hand_over", "more") in trials.calls)
    go_on.set()

    async def is_over() -> bool:
        return (await look(caller, task.id)).state == "completed"

    await eventually(is_over)
    ended = await look(caller, task.id)
    assert ended.results is not None
    assert ended.results.resolved_ids == ["easy", "more"]


def _of_task(sentence: str) -> Exception:
    from temporalio.exceptions import ApplicationError

    details = {"blame": "task", "failure_mode": "unknown", "log": "step 3 failed"}
    return ApplicationError(sentence, details, type=failures.TRIAL_FAILED, non_retryable=True)
