"""Runs of terminal trials as campaigns: what is planned of which files, with scripted steps."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from a2a.client import Client as Caller
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from proctor.activities.admission.activities import AdmissionActivities
from proctor.activities.admission.payloads import AdmitInput
from proctor.activities.attempts import failures
from proctor.activities.campaign.assessments import AssessmentRuns
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.service.live_terminals import find_recordings
from proctor.service.running import UnderWay
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import Archive
from proctor.storage.blobs import BlobStore
from proctor.terminal import plan as trial_plan
from proctor.terminal.datasets import DatasetSource, KnownDataset, KnownDatasets, datasets_home
from proctor.terminal.plan import StepInput, Worked
from proctor.terminal.results import folder_of_run, write_results
from proctor.terminal.runs import TerminalRuns
from proctor.viewer.live import RunningDetails
from proctor.viewer.pages import Pages
from purple_sdk.protocol.provenance import ModelUse
from purple_sdk.protocol.request import BadRequestError
from purple_sdk.protocol.terminal import Blob, FailureMode, TerminalResults, TrialResult
from tests.a2a_gateway.conftest import Gateway
from tests.cli.commands import Sandbox
from tests.sentences import says
from tests.terminal.writing import format_one
from tests.waiting import eventually
from tests.work import only_nightly
from tests.workflows.scripted_trials import ScriptedTrials
from tests.workflows.test_campaigns import play

DEFAULTS = {"task_ids": ["easy"], "agents": {"white_agent": "http://white.example"}, "n_attempts": 2}


@pytest.fixture
def config(config: GreenAgentConfig, tmp_path: Path) -> GreenAgentConfig:
    """Of an evaluator with a dataset of three tasks, ``small``."""
    for name in ("easy", "hard", "plain"):
        format_one(tmp_path / "datasets" / "small" / name)
    return config.model_copy(
        update={
            "datasets_dir": str(tmp_path / "datasets"),
            "containers_task_queue": config.task_queue,
            "state": str(tmp_path / "state"),
            "terminal_defaults": json.dumps({"dataset_name": "core", "dataset_path": "/x/small", **DEFAULTS}),
            "terminal_results_dir": str(tmp_path / "eval_results"),
        }
    )


@pytest_asyncio.fixture
async def trials(client: Client, config: GreenAgentConfig) -> AsyncIterator[ScriptedTrials]:
    """A worker that plans for real and plays by script."""
    scripted = ScriptedTrials(config)
    async with scripted.worker(client, config.task_queue, TerminalRuns):
        yield scripted


def asked(participants: dict[str, str] | None = None, **config: Any) -> dict[str, Any]:
    chosen = {"benchmark": "terminal-bench", "dataset": "small", "task_ids": ["easy", "hard"], **config}
    return {"participants": participants or {}, "config": chosen}


async def test_a_pulled_dataset_is_played_as_it_was_pinned(
    caller: Caller, config: GreenAgentConfig, trials: ScriptedTrials
) -> None:
    known = KnownDatasets(datasets_home(config.state))
    source = DatasetSource(kind="folder", location="elsewhere")
    tasks = sorted((Path(config.datasets_dir) / "small").iterdir())
    pinned = known.install(KnownDataset(name="core", version="1.0", source=source), tasks)
    ended = await play(caller, asked(dataset="core", agent="null", task_ids=["*"]))
    assert ended.results is not None, ended.sentence
    assert (ended.results.dataset, ended.results.dataset_hash) == ("core@1.0", pinned.sha256)
    (known.folder(pinned) / "hard" / "solution.sh").write_text("changed\n")
    ended = await play(caller, asked(dataset="core@1.0", agent="null"))
    assert ended.state == "rejected"
    assert says("1.0").within(ended.sentence)
    assert "datasets pull core@1.0" in ended.sentence
    ended = await play(caller, asked(dataset="core@2", agent="null"))
    assert says("core@2", "1.0").within(ended.sentence)


AGENTS = {"mine": "http://mine.example", "theirs": "http://theirs.example", "oracle": "oracle"}
TOKENS = {"input_tokens": 60, "output_tokens": 40}


def solved_by(trials: ScriptedTrials, **solves: set[str]) -> None:
    """Each agent resolves these tasks, and no other; each trial costs 1 and takes 100 tokens."""

    async def tested(given: StepInput) -> trial_plan.Tested:
        now = datetime.now(UTC)
        is_resolved = given.plan.task_id in solves[given.plan.participant]
        return trial_plan.Tested(failure_mode=FailureMode.NONE, is_resolved=is_resolved, started_at=now, ended_at=now)

    async def worked(given: StepInput) -> Worked:
        now = datetime.now(UTC)
        usage = [] if given.plan.agent != "a2a" else [ModelUse(model="m", cost=1.0, **TOKENS)]
        return Worked(failure_mode=FailureMode.NONE, usage=usage, started_at=now, ended_at=now)

    trials.replacements |= {"run_trial_tests": tested, "hand_over": worked}


async def test_several_agents_are_told_apart_and_compared(
    caller: Caller, config: GreenAgentConfig, trials: ScriptedTrials, tmp_path: Path
) -> None:
    """By the names that the request gives them: in results, words, pages, and by ``proctor compare``."""
    solved_by(trials, mine={"easy"}, oracle={"easy", "hard"})
    agents = {name: AGENTS[name] for name in ("mine", "oracle")}
    ended = await play(caller, asked(agents, n_attempts=2))
    results = ended.results
    assert results is not None, ended.sentence
    assert results.agents == agents
    assert (results.n_tasks, results.n_trials, results.n_resolved) == (2, 8, 6)
    scores = {result.agent: result for result in results.by_agent}
    assert {name: (result.n_resolved, result.n_trials) for name, result in scores.items()} == {
        "mine": (2, 4),
        "oracle": (4, 4),
    }
    # Both attempts at each task agree: two independent trials, of which all succeeded. The quantile of Beta(2, 3/4):
    assert scores["oracle"].accuracy.low == pytest.approx(0.19183, abs=1e-5)
    assert scores["oracle"].accuracy.high == 1
    assert (scores["mine"].cost, scores["mine"].tokens, scores["oracle"].cost) == (4.0, 400, None)
    found = {(comparison.first, comparison.second): comparison for comparison in results.comparisons}
    difference = found["mine", "oracle"].difference
    assert difference is not None
    assert (difference.mean, found["mine", "oracle"].pairs) == (-50, 4)
    for said in ("mine resolved 2 of 4 trials of small (accuracy 50.0%).", "oracle resolved 4 of 4 trials of small"):
        assert said in ended.sentence
    labels = {update["label"] for update in ended.updates if update["message_type"] == "update_cell_ended"}
    assert "mine · easy · attempt 1 of 2" in labels
    archive = Archive(config.archive_url)
    trial = archive.find(next(result.trial_id for result in results.results if result.participant == "mine"))
    assert (trial.role, trial.participant_url) == ("mine", AGENTS["mine"])
    page = Pages(archive).campaign(archive.find(results.run_id))
    assert all(f"<bdi>{name}</bdi>" in page for name in agents)
    for second in ("mine", AGENTS["mine"]):
        done = Sandbox(tmp_path).call("compare", "oracle", second, "--archive", config.archive_url)
        assert done.returncode == 0, done.stderr
        assert f"oracle less {second}: +50.0 points" in done.stdout
        assert "over 4 pairs" in done.stdout


@only_nightly  # by default: tests/statistics
async def test_trials_of_other_files_are_no_pairs(
    caller: Caller, config: GreenAgentConfig, trials: ScriptedTrials, tmp_path: Path
) -> None:
    solved_by(trials, mine={"easy"}, theirs={"easy"})
    await play(caller, asked({"mine": AGENTS["mine"]}, task_ids=["easy"]))
    (Path(config.datasets_dir) / "small" / "easy" / "task.yaml").write_text("instruction: Another one.\n")
    await play(caller, asked({"theirs": AGENTS["theirs"]}, task_ids=["easy"]))
    done = Sandbox(tmp_path).call("compare", "mine", "theirs", "--archive", config.archive_url)
    assert says().within(done.stdout)


@only_nightly  # by default: test_runs.py has the same of campaigns
async def test_a_run_that_grows_plays_only_what_is_new(
    caller: Caller, config: GreenAgentConfig, trials: ScriptedTrials
) -> None:
    solved_by(trials, mine={"easy"}, theirs={"easy", "hard"})
    mine = {"mine": AGENTS["mine"]}
    first = await play(caller, asked(mine))
    trials.calls.clear()
    both = {**mine, "theirs": AGENTS["theirs"]}
    second = await play(caller, asked(both, n_attempts=2, grows=first.id))
    assert second.results is not None, second.sentence
    played = [
        (result.participant, result.task_id, result.attempt)
        for result in second.results.results
        if not result.taken_over
    ]
    assert len(played) == len([step for step, _ in trials.calls if step == "hand_over"]) == 6
    assert ("mine", "easy", 1) not in played
    assert [(result.agent, result.n_resolved, result.n_trials) for result in second.results.by_agent] == [
        ("mine", 2, 4),
        ("theirs", 4, 4),
    ]
    # Another file, another address and another setting are other trials.
    (Path(config.datasets_dir) / "small" / "easy" / "solution.sh").write_text("true\n")
    third = await play(caller, asked(both, grows=second.id))
    assert third.results is not None
    assert {result.task_id for result in third.results.results if not result.taken_over} == {"easy"}
    for changed in (asked({"mine": "http://moved.example"}), asked(mine, verifier="same-container")):
        changed["config"]["grows"] = third.id
        other = await play(caller, changed)
        assert other.results is not None
        assert not any(result.taken_over for result in other.results.results)
    nothing = await play(caller, asked(mine, grows="nothing"))
    assert says("config.grows").within(nothing.sentence)


@only_nightly  # by default: test_runs.py has the same of campaigns
async def test_limits_keep_trials_from_being_begun(caller: Caller, trials: ScriptedTrials) -> None:
    solved_by(trials, mine={"easy"}, oracle=set())
    mine = {"mine": AGENTS["mine"]}
    ended = await play(caller, asked(mine, n_attempts=5, n_concurrent_trials=1, max_cost=3.5))
    results = ended.results
    assert results is not None, ended.sentence
    assert (results.n_trials, results.n_missing, results.cost, results.tokens) == (3, 7, 3.0, 300)
    assert says("3.5").within(results.stopped or "")
    assert (results.stopped or "") in ended.sentence
    few = await play(caller, asked(mine, n_attempts=5, n_concurrent_trials=1, max_tokens=250))
    assert few.results is not None
    assert few.results.n_trials == 2
    trials.replacements.pop("hand_over")
    silent = await play(caller, asked(mine, n_attempts=5, n_concurrent_trials=1, max_cost=3.5))
    assert silent.results is not None
    assert silent.results.n_trials == 1
    assert says().within(silent.results.stopped or "")
    free = await play(caller, asked({"oracle": "oracle"}, max_cost=3.5))
    assert free.results is not None
    assert (free.results.n_trials, free.results.stopped) == (2, None)


async def test_bad_agents_are_named(caller: Caller, trials: ScriptedTrials) -> None:
    for participants, fact in (
        ({"mine": "not an address"}, "not an address"),
        ({" ": "oracle"}, "1 to 100"),
        ({"n" * 101: "oracle"}, "1 to 100"),
        ({}, "participants"),
    ):
        ended = await play(caller, asked(participants))
        assert ended.state == "rejected"
        assert ended.sentence == says(fact)


async def launched(gateway: Gateway, text: str) -> tuple[int, dict[str, Any]]:
    """The seed's message, as `curl` sends it."""
    async with httpx.AsyncClient(timeout=120) as http:
        answer = await http.post(f"{gateway.url}agent/messages", json={"message": {"parts": [{"text": text}]}})
    return answer.status_code, answer.json()


async def test_the_seeds_message_plays_what_the_settings_say(
    gateway: Gateway, trials: ScriptedTrials, tmp_path: Path
) -> None:
    """Word by word, and with one setting of its own; each run's folder is there when it is answered."""
    code, said = await launched(gateway, "Launch terminal-bench evaluation...")
    assert code == 200, said
    results = TerminalResults.model_validate(said["result"]["parts"][1]["data"])
    assert (results.dataset, results.agents) == ("small", DEFAULTS["agents"])
    assert [(trial.task_id, trial.attempt) for trial in results.results] == [("easy", 1), ("easy", 2)]
    (folder,) = (tmp_path / "eval_results").iterdir()
    assert folder.name.startswith("green_agent_eval_")
    assert json.loads((folder / "run_metadata.json").read_text())["uuid"] == results.run_id
    assert len(list((folder / "easy").iterdir())) == 2
    flat = {"dataset_name": "core", "task_ids": ["hard"], "white_agent_url": "http://other.example", "n_attempts": 1}
    code, said = await launched(gateway, f"Launch terminal-bench evaluation {json.dumps(flat)}")
    results = TerminalResults.model_validate(said["result"]["parts"][1]["data"])
    assert (results.dataset, results.agents) == ("small", {"white_agent": "http://other.example"})
    assert [(trial.task_id, trial.attempt) for trial in results.results] == [("hard", 1)]
    assert len(list((tmp_path / "eval_results").iterdir())) == 2


@only_nightly  # by default: test_the_seeds_message_plays_what_the_settings_say
async def test_other_datasets_are_named_as_the_seeds_callers_do(gateway: Gateway, trials: ScriptedTrials) -> None:
    for flat, played in (
        ({"dataset_path": "/anywhere/small/"}, 3),  # without the settings' task_ids, which are of another dataset
        ({"dataset_name": "small", "dataset_version": "0.1.1"}, 3),
        ({"dataset_name": "small", "agent": "oracle", "n_tasks": 1}, 1),
    ):
        code, said = await launched(
            gateway, f"Launch terminal-bench evaluation {json.dumps({**flat, 'n_attempts': 1})}"
        )
        assert code == 200, said
        results = TerminalResults.model_validate(said["result"]["parts"][1]["data"])
        assert (results.dataset, results.n_trials) == ("small", played)
    code, said = await launched(gateway, 'Launch terminal-bench evaluation {"dataset_name": "terminal-bench-core"}')
    assert code == 422
    assert "datasets add" in said["error"]["message"]


async def test_each_agent_has_a_folder_of_its_own(tmp_path: Path) -> None:
    trials = [
        TrialResult(trial_id=name, trial_name="t.1-of-1.r", participant=name, task_id="t", attempt=1)
        for name in ("a/b", "a:b", "..")
    ]
    results = TerminalResults(run_id="r", dataset="d", participant="p", status="completed", n_tasks=1, n_attempts=1,
        n_trials=3, n_resolved=0, n_unresolved=3, accuracy=0, agents=dict.fromkeys(("a/b", "a:b", ".."), "oracle"),
        results=trials)  # fmt: skip

    async def fetch(_file: Blob) -> bytes:
        raise AssertionError

    (tmp_path / "run").mkdir()
    assert await write_results(tmp_path / "run", results, fetch) == []
    written = [json.loads(file.read_text())["participant"] for file in (tmp_path / "run").glob("*/t/*/results.json")]
    assert sorted(written) == ["..", "a/b", "a:b"]


def test_a_run_that_is_summed_up_again_writes_the_same_folder(tmp_path: Path) -> None:
    results = TerminalResults(run_id="a", dataset="d", participant="p", status="completed", n_tasks=0, n_attempts=1,
        n_trials=0, n_resolved=0, n_unresolved=0, accuracy=0)  # fmt: skip
    other = results.model_copy(update={"run_id": "b"})
    folders = []
    for run in (results, results, other):
        folders.append(folder_of_run(tmp_path, "green_agent_eval_1", run))
        (folders[-1] / "run_metadata.json").write_text(json.dumps({"uuid": run.run_id}))
    assert [folder.name for folder in folders] == ["green_agent_eval_1", "green_agent_eval_1", "green_agent_eval_1_2"]


async def test_an_evaluator_of_terminal_tasks_alone_refuses_assessments(config: GreenAgentConfig) -> None:
    config = config.model_copy(update={"card_subject": "terminal-bench"})
    store = BlobStore(config.storage_url)
    parts = (config, store, Scenarios(config, store))
    request = {"participants": {"personal_assistant": "http://a.example"}, "config": {"scenario_id": "day"}}
    given = AdmitInput(task_id="t", request=request)
    with pytest.raises(ApplicationError, check=says()) as refused:
        await ActivityEnvironment().run(AdmissionActivities(*parts).admit, given)
    assert refused.value.type == failures.REJECTED
    with pytest.raises(BadRequestError, check=says()):
        await AssessmentRuns(*parts).plan("c", {**request, "config": {"scenarios": ["day"]}})


async def test_a_runs_page_says_what_runs_and_shows_its_terminals(
    caller: Caller, config: GreenAgentConfig, trials: ScriptedTrials
) -> None:
    """While two agents are at work: their trials by name, what each is at, and what it has entered."""
    may_end, recordings = asyncio.Event(), find_recordings(config.state)

    async def worked(given: StepInput) -> None:
        recorder = recordings.of_agent(given.plan.trial_id)
        recorder.note("command", command=f"echo {given.plan.participant}", output="<b>hello</b>", exit_code=0)
        recorder.typed(f"echo {given.plan.participant}")
        recorder.printed(b"\x1b[31m<b>hello</b>\x1b[0m\n")
        await may_end.wait()

    trials.replacements["hand_over"] = worked
    live, pages = UnderWay(config), Pages(Archive(config.archive_url))
    agents = {"mine": "http://a.example", "other <b>*one*</b>": "http://b.example"}
    playing = asyncio.create_task(play(caller, asked(agents, task_ids=["easy"])))
    try:
        await eventually(lambda: at_work(live, 2))
        story = await at_work(live, 2)
        assert story is not None
        assert {cell.label for cell in story.cells} == {f"{agent} · easy · attempt 1 of 1" for agent in agents}
        page = pages.running(story)
        (step,) = {cell.step for cell in story.cells}
        assert step is not None
        assert step == says()
        assert page.count(step) == 2
        cells = [(await live.connected()).get_workflow_handle(cell.id or "") for cell in story.cells]
        summaries = [await (await cell.describe()).static_summary() for cell in cells]
        assert r"other \<b\>\*one\*\</b\> · easy · attempt 1 of 1" in summaries
        cell = next(candidate for candidate in story.cells if candidate.label.startswith("mine · easy"))
        assert f'href="/view/{cell.id}"' in page
        trial = await live.details(cell.id or "")
        assert trial is not None
        assert (trial.running.kind, trial.running.campaign) == ("trial", story.running.id)
        assert trial.step == says()
        page = pages.running(trial)
        assert 'data-page="running"' in page
        assert "$ echo mine" in page
        assert "&lt;b&gt;hello&lt;/b&gt;" in page
        assert "\x1b" not in page
        elsewhere = UnderWay(config.model_copy(update={"state": "/nowhere"}))
        there = await elsewhere.details(cell.id or "")
        assert there is not None
        assert says().within(pages.running(there))
    finally:
        may_end.set()
        ended = await playing
    assert ended.state == "completed"
    assert await live.details(cell.id or "") is None


async def at_work(live: UnderWay, count: int) -> RunningDetails | None:
    """The campaign that runs, once so many of its cells are at a step."""
    running = await live.running()
    story = await live.details(running[0].id) if running else None
    return story if story and sum(cell.step == "the agent is at work" for cell in story.cells) == count else None
