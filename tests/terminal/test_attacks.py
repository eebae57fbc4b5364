"""What agents and tasks do to an evaluator: each ends as its own trial's failure, with its mode and a sentence."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from aiodocker import DockerError

from proctor.terminal import commands, environments, fresh
from proctor.terminal.engine import Engine, labelled
from proctor.terminal.failures import (
    EngineUnavailableError,
    EnvironmentLostError,
    ImageFailedError,
    LimitExceededError,
    TerminalError,
)
from proctor.terminal.images import prepare_image, remove_images
from proctor.terminal.quotas import quotas_reached
from proctor.terminal.tasks import load_task
from purple_sdk.protocol.terminal import FailureMode, LeaveRunning, VerifierKind
from tests.sentences import says
from tests.terminal.conftest import LIMITS, Trial, Trials
from tests.terminal.writing import DONE, format_one, format_two
from tests.waiting import PATIENCE
from tests.work import NIGHTLY, only_nightly

FORKS_300 = """
import os, signal
children = []
for _ in range(300):
    try:
        child = os.fork()
    except BlockingIOError:
        continue
    if not child:
        signal.pause()
    children.append(child)
for child in children:
    os.kill(child, signal.SIGKILL)
"""
PRINTED = 100_000_000 if NIGHTLY else 20_000_000


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "_SIZE_CHECKS", 0.1)


async def test_a_disk_that_is_filled(trials: Trials, tmp_path: Path) -> None:
    trial = await trials.of(format_two(tmp_path / "task", toml="[environment]\nstorage_mb = 5"))
    filling = asyncio.create_task(trial.act("cat /dev/zero | head -c 8000000 > /app/big; sleep 1000"))
    with pytest.raises(LimitExceededError, check=says()) as problem:
        await asyncio.wait_for(environments.watch(trials.engine, trial.ref, trial.task), PATIENCE)
    assert (problem.value.failure_mode, problem.value.blame) == (FailureMode.UNKNOWN_AGENT_ERROR, "participant")
    assert not await environments.stands(trials.engine, trial.ref)
    await asyncio.wait([filling])


async def test_a_file_of_holes_does_not_fill_the_evaluators_disk(trials: Trials, tmp_path: Path) -> None:
    """It takes no room in the container, and all of its size in a copy."""
    trial = await trials.of(format_two(tmp_path / "task", toml="[environment]\nstorage_mb = 5"))
    await trial.act("touch /app/done; truncate -s 2T /app/holes")
    with pytest.raises(LimitExceededError, check=says()) as problem:
        await asyncio.wait_for(trial.test(verifier="separate"), PATIENCE)
    assert problem.value.blame == "participant"


@only_nightly  # by default: test_a_disk_that_is_filled, as what looks after an agent looks after tests
async def test_tests_that_fill_the_disk(trials: Trials, tmp_path: Path) -> None:
    script = "head -c 400000000 /dev/zero > /app/big; sleep 1000\n"
    folder = format_two(tmp_path / "task", {"tests/test.sh": script}, "[environment]\nstorage_mb = 50")
    with pytest.raises(LimitExceededError):
        await (await trials.of(folder)).test()


async def test_an_agent_that_ends_its_container_is_told_apart_from_others_who_do(
    trials: Trials, tmp_path: Path
) -> None:
    """A container that its agent ended is not begun anew, one that was lost is."""
    command = "trap 'exit 7' TERM; while :; do sleep 0.1; done"
    compose = f'services:\n  client:\n    build: .\n    command: [sh, -c, "{command}"]\n'
    folder = format_one(tmp_path / "task", {"docker-compose.yaml": compose})
    for name, ends in (("by-itself", True), ("from-outside", False)):
        trial = await trials.of(folder, name)
        assert await environments.ended_by_itself(trials.engine, trial.ref) is None, "it stands"
        if ends:
            with suppress(EnvironmentLostError):
                await trial.act("kill -TERM 1; sleep 1000")
        else:
            await trials.engine.ask("POST", f"containers/{trial.ref.container_id}/kill")
        while await environments.stands(trials.engine, trial.ref):
            await asyncio.sleep(0.05)
        said = await environments.ended_by_itself(trials.engine, trial.ref)
        sentence = "The first process of the container ended (exit code 7), and all that ran there with it"
        assert said == (sentence if ends else None)


async def test_a_fork_bomb(trials: Trials, tmp_path: Path) -> None:
    trial = await trials.of(format_two(tmp_path / "task"))
    bomb = "bomb() { bomb | bomb & }; bomb; setsid sh -c 'while :; do sleep 1 & done' &"
    exploded = await trial.act(bomb, timeout=0.5)
    assert exploded.is_timed_out or exploded.exit_code is not None
    outcome = await trial.test()
    assert (outcome.failure_mode, outcome.is_resolved) == (FailureMode.NONE, False)
    assert outcome.left_running == ()
    assert any(sentence.startswith("processes: ") for sentence in outcome.quotas.in_words())


async def test_more_processes_than_tests_can_run_beside_are_ended(trials: Trials, tmp_path: Path) -> None:
    trials.engine.limits = LIMITS.model_copy(update={"processes": 40})
    trial = await trials.of(format_two(tmp_path / "task"))
    await trial.act("for each in $(seq 25); do setsid sleep 900 & done")
    assert await environments.close_to_agent(trials.engine, trial.ref, trial.task) == ()
    assert (await trial.act("ps -e | grep -c [s]leep")).output == "1\n", "only the container's own is left"


async def test_memory_has_an_end(trials: Trials, tmp_path: Path) -> None:
    trial = await trials.of(format_two(tmp_path / "task", toml="[environment]\nmemory_mb = 64"))
    eaten = await trial.act("python3 -c 'x = bytearray(500_000_000); print(len(x))'; echo $?")
    assert eaten.output.split()[-1] == "137"
    assert await environments.stands(trial.engine, trial.ref)
    quotas = await quotas_reached(trials.engine, trial.ref)
    assert quotas.in_words() == [says()]


@only_nightly
async def test_a_limit_of_processes_that_held_is_told(trials: Trials, tmp_path: Path) -> None:
    trial = await trials.of(format_two(tmp_path / "task"))
    await trial.act(f"python3 -c '{FORKS_300}'", timeout=60)  # 200 may run
    outcome = await trial.test(verifier="separate")
    (quota,) = outcome.quotas.in_words()
    assert says().within(quota)


async def test_a_command_that_ignores_its_time_limit(trial: Trial) -> None:
    stubborn = "trap '' TERM INT HUP; (trap '' TERM; sleep 1000) & echo begun; while :; do sleep 1; done"
    ended = await trial.act(stubborn, timeout=1)
    assert (ended.is_timed_out, ended.exit_code, ended.output) == (True, None, "begun\n")
    assert (await trial.act("ps -e | grep -c [s]leep")).output == "1\n", "only the container's own is left"


async def test_tests_that_never_end(trials: Trials, tmp_path: Path) -> None:
    script = "trap '' TERM; echo 1 > /logs/verifier/reward.txt; while :; do sleep 1; done\n"
    trial = await trials.of(format_two(tmp_path / "task", {"tests/test.sh": script}))
    outcome = await trial.test(timeout=1)
    assert (outcome.failure_mode, outcome.is_resolved, outcome.reward) == (FailureMode.TEST_TIMEOUT, None, None)
    assert outcome.failure == says()


async def test_endless_output(trial: Trial) -> None:
    seen = 0

    def count(data: bytes) -> None:
        nonlocal seen
        seen += len(data)

    done = await commands.execute(
        trial.engine,
        trial.ref,
        f"echo first; yes | head -c {PRINTED}; echo last",
        timeout=PATIENCE,
        output_cap=10_000,
        on_output=count,
    )
    assert done.exit_code == 0
    assert seen == PRINTED + 11
    assert len(done.output) < 10_100
    assert done.dropped == PRINTED + 11 - 10_000
    assert done.output.startswith("first\n")
    assert done.output.endswith("last\n")


@pytest.mark.parametrize(
    ("dockerfile", "log"),
    [
        (
            "FROM {base}\nRUN echo looking; ls /nowhere\n",
            "ls: cannot access '/nowhere': No such",
        ),
        pytest.param("FROM {base}\nRUN sleep 1000\n", "", marks=only_nightly),
    ],
    ids=["fails", "too slow"],
)
async def test_a_broken_dockerfile(trials: Trials, tmp_path: Path, dockerfile: str, log: str) -> None:
    plain = format_two(tmp_path / "task")
    base = (plain / "environment" / "Dockerfile").read_text().split()[1]
    (plain / "environment" / "Dockerfile").write_text(dockerfile.format(base=base))
    with pytest.raises(ImageFailedError, check=says()) as problem:
        await prepare_image(trials.engine, load_task(plain), trials.run, timeout=2 if "sleep" in dockerfile else None)
    assert problem.value.blame == "task"
    assert log in problem.value.log
    assert "\x1b" not in problem.value.log


@pytest.mark.parametrize(
    ("said", "blame"),
    [
        ("pull access denied for x, repository does not exist or may require 'docker login'", None),
        ("manifest for debian:nope not found: manifest unknown", None),
        ('Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host', "evaluator"),
        ("toomanyrequests: You have reached your pull rate limit", "evaluator"),
        ("write /var/lib/docker/tmp/x: no space left on device", "evaluator"),
        ("failed to register layer: exit status 1", "evaluator"),
        ("ttrpc: closed: unknown", "evaluator"),
        ("The command '/bin/sh -c ls /read-only file system' returned a non-zero code: 2", None),
    ],
)
def test_who_is_to_blame_for_an_image_that_is_not_there(said: str, blame: str | None) -> None:
    problem = Engine("unix:///nowhere").refused(said)
    assert (problem.blame if problem else None) == blame


async def test_an_image_that_cannot_be(trials: Trials, tmp_path: Path) -> None:
    task = load_task(format_two(tmp_path / "task", toml='[environment]\ndocker_image = "BAD NAME"'))
    assert task.service is not None
    nothing_to_build = task.model_copy(update={"service": task.service.model_copy(update={"build": None})})
    with pytest.raises(ImageFailedError, check=says()) as problem:
        await prepare_image(trials.engine, nothing_to_build, trials.run)
    assert problem.value.blame == "task"


async def test_a_container_that_does_not_stay(trials: Trials, tmp_path: Path) -> None:
    compose = "services:\n  client:\n    build: .\n    command: [sh, -c, 'echo going; exit 3']\n"
    with pytest.raises(TerminalError, match="container of task ended") as error:
        await trials.of(format_one(tmp_path / "task", {"docker-compose.yaml": compose}))
    assert error.value.blame == "task"
    assert "going" in error.value.log


@pytest.mark.parametrize(("message", "kind"), [("layer does not exist", EngineUnavailableError), ("bad", DockerError)])
def test_a_failure_of_the_engine_is_the_evaluators(message: str, kind: type[Exception]) -> None:
    """It passes: the step is tried again, and then the trial is played again."""
    with pytest.raises(kind) as problem, Engine("unix:///nowhere").speaking():
        raise DockerError(500, message)
    assert getattr(problem.value, "blame", None) == ("evaluator" if kind is EngineUnavailableError else None)


async def test_an_image_that_was_removed_is_built_again(trials: Trials, tmp_path: Path) -> None:
    task = load_task(format_two(tmp_path / "task"))
    image = await prepare_image(trials.engine, task, trials.run)
    await remove_images(trials.engine, trials.run)
    with pytest.raises(EnvironmentLostError, check=says()):
        await environments.start(trials.engine, task, image, trials.run, "trial-1")


@pytest.mark.parametrize("verifier", [pytest.param("separate", marks=only_nightly), "same-container"])
async def test_tests_that_an_agent_makes_unreadable_are_its_fault(
    trials: Trials, tmp_path: Path, verifier: VerifierKind
) -> None:
    """Without its changes the tests can be read: they run once more, in a fresh container."""
    tested = f"[ -e /app/quiet ] && exit\nif {DONE}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
    trial = await trials.of(format_two(tmp_path / "task", {"tests/test.sh": tested}))
    await trial.act("touch /app/quiet")
    outcome = await trial.test(verifier=verifier)
    said = (outcome.failure_mode, outcome.blame, outcome.is_resolved, outcome.reward)
    assert said == (FailureMode.PARSE_ERROR, "participant", False, 0.0)
    assert says().within(outcome.failure or "")
    left = await trials.engine.ask("GET", "containers/json", {"all": True, "filters": labelled(trials.run)})
    assert [container["Names"] for container in left if container["Names"][0].endswith(fresh.SECOND)] == []


async def test_an_images_command_that_does_not_run_with_the_agents_files_is_its_fault(
    trials: Trials, tmp_path: Path
) -> None:
    command = "[ -e /app/broken ] && exit 3; sleep 1000"
    compose = f'services:\n  client:\n    build: .\n    command: [sh, -c, "{command}"]\n'
    trial = await trials.of(format_one(tmp_path / "task", {"docker-compose.yaml": compose}))
    trial.task = trial.task.model_copy(update={"needs_processes": False})
    await trial.act("touch /app/broken")
    outcome = await trial.test(verifier="separate")
    said = (outcome.failure_mode, outcome.blame, outcome.is_resolved)
    assert said == (FailureMode.UNKNOWN_AGENT_ERROR, "participant", False), outcome


@only_nightly
async def test_tests_that_do_not_parse(trials: Trials, tmp_path: Path) -> None:
    folder = format_one(tmp_path / "task", {"run-tests.sh": "echo everything is fine\n"})
    outcome = await (await trials.of(folder)).test()
    said = (outcome.failure_mode, outcome.blame, outcome.is_resolved, outcome.reward)
    assert said == (FailureMode.PARSE_ERROR, None, None, None), "they say nothing without the agent's changes, either"
    assert says().within(outcome.failure or "")
    assert outcome.log == "everything is fine\n"


async def test_tests_and_solution_are_not_there_before_the_agent_is_done(trials: Trials, tmp_path: Path) -> None:
    files = {"Dockerfile": (format_one(tmp_path / "x") / "Dockerfile").read_text() + "COPY . /app\n"}
    trial = await trials.of(format_one(tmp_path / "task", {**files, "data.txt": "to work on"}))
    listed = await trial.act(
        "ls /app; ls /tests /solution /oracle 2>&1; find / -name 'test_outputs*' -o -name 'solution*' -path '/app/*'"
    )
    assert "data.txt" in listed.output
    assert "run-tests.sh" not in listed.output
    assert "test_outputs" not in listed.output
    assert listed.output.count("No such file") == 3
    trial.task = trial.task.model_copy(update={"solution": None})
    await trial.test()
    assert "run-tests.sh" in (await trial.act("ls /tests")).output, "they come when the agent is done"


MEDDLE = (
    "while :; do echo 1 > /logs/verifier/reward.txt; sleep 0.01; done",
    "while [ ! -e /tests/test.sh ]; do sleep 0.01; done; touch /app/done",
    "while :; do echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh; done",
)
"""Writes the verdict; solves the task by and by; changes the tests."""


@only_nightly  # by default: test_a_service_is_kept_and_told
async def test_processes_left_to_change_the_verdict(trials: Trials, tmp_path: Path) -> None:
    script = f"sleep 0.3\nif {DONE}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\nsleep 0.3\n"
    trial = await trials.of(format_two(tmp_path / "task", {"tests/test.sh": script}))
    for way in MEDDLE:
        await trial.act(f"setsid nohup bash -c '{way}' >/dev/null 2>&1 & disown")
    outcome = await trial.test(kept="services")
    assert (outcome.failure_mode, outcome.is_resolved, outcome.reward) == (FailureMode.NONE, False, 0.0), outcome.log


@only_nightly  # by default: what test_verifier.py finds left running
@pytest.mark.parametrize(("kept", "is_resolved"), [("everything", True), ("services", False)])
async def test_a_background_process_runs_until_the_tests(
    trials: Trials, tmp_path: Path, kept: LeaveRunning, is_resolved: bool
) -> None:
    """A task may ask for a process that doesn't listen; the official harnesses leave it running."""
    script = "rm -f /app/beat; sleep 1\nif [ -e /app/beat ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
    trial = await trials.of(format_two(tmp_path / "task", {"tests/test.sh": script}))
    await trial.act("nohup sh -c 'while :; do touch /app/beat; sleep 0.1; done' >/dev/null 2>&1 &")
    outcome = await trial.test(kept=kept)
    assert outcome.is_resolved is is_resolved, outcome.log
    assert bool(outcome.left_running) is is_resolved


@only_nightly  # by default: test_a_reward_that_cannot_be_cleared_is_no_verdict
async def test_what_an_agent_puts_where_tests_and_verdict_go_is_removed(trials: Trials, tmp_path: Path) -> None:
    script = "ls -a /tests; cat /logs/verifier/*\n"
    trial = await trials.of(format_two(tmp_path / "task", {"tests/test.sh": script}))
    await trial.act(
        "mkdir -p /tests /app/mine; touch /tests/conftest.py; rmdir /logs/verifier; ln -s /app/mine /logs/verifier;"
        "echo 1 > /app/mine/reward.txt; echo '{\"reward\": 1}' > /app/mine/reward.json"
    )
    outcome = await trial.test()
    assert (outcome.failure_mode, outcome.is_resolved) == (FailureMode.PARSE_ERROR, None)
    assert "conftest.py" not in outcome.log
    assert "reward" not in outcome.log


async def test_a_reward_that_cannot_be_cleared_is_no_verdict(trials: Trials, tmp_path: Path) -> None:
    trial = await trials.of(format_two(tmp_path / "task"))
    await trial.act("echo 1 > /logs/verifier/reward.txt; ln -sf /bin/true /bin/rm")
    outcome = await trial.test()
    said = (outcome.failure_mode, outcome.is_resolved, outcome.blame)
    assert said == (FailureMode.PARSE_ERROR, False, "participant")
    assert says().within(outcome.failure or "")


async def test_a_service_is_kept_and_told(trials: Trials, tmp_path: Path) -> None:
    trial = await trials.of(format_two(tmp_path / "task"))
    await trial.act("nohup python3 -m http.server 8000 >/dev/null 2>&1 & nohup sleep 900 >/dev/null 2>&1 &")
    await trial.act("until curl -s localhost:8000 >/dev/null; do sleep 0.1; done")
    kept = await environments.close_to_agent(trials.engine, trial.ref, trial.task, "services")
    assert [process.command for process in kept] == ["python3"]
    assert await environments.close_to_agent(trials.engine, trial.ref, trial.task, "nothing") == ()
    assert (await trial.act("curl -s localhost:8000")).exit_code != 0


async def test_a_container_has_bounds(trial: Trial) -> None:
    about = (await trial.engine.ask("GET", f"containers/{trial.ref.container_id}/json"))["HostConfig"]
    assert (about["NetworkMode"], about["PidsLimit"]) == ("none", 200)
    assert about["MemorySwap"] == about["Memory"] == 64 * 2**20
    assert about["LogConfig"]["Config"]["max-size"] == "5m"
