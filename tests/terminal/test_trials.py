"""A trial from its image to its verdict, on a real engine; what a lost worker began, the next one goes on with."""

import asyncio
import re
import secrets
from pathlib import Path
from typing import Any

import pytest

from proctor.terminal import contexts, environments, images, sweeping
from proctor.terminal import engine as engine_module
from proctor.terminal.collecting import collect
from proctor.terminal.copying import copy_into, copy_out
from proctor.terminal.engine import Engine, labelled
from proctor.terminal.failures import EngineUnavailableError, EnvironmentLostError
from proctor.terminal.tasks import find_tasks, load_task
from purple_sdk.protocol.terminal import FailureMode
from tests.docker_engine import BASE_IMAGE, TASKS, own_engine
from tests.sentences import says
from tests.terminal.conftest import Trial, Trials
from tests.terminal.writing import format_one, format_two
from tests.work import NIGHTLY, only_nightly

SHORT = ("two-services",)
"""Tasks of our own that are played here in every run; all are in ``make nightly``, and in the tests of whole runs."""


@pytest.mark.parametrize("folder", find_tasks(TASKS, None if NIGHTLY else SHORT), ids=lambda folder: folder.name)
async def test_a_tasks_own_solution_solves_it(trials: Trials, folder: Path) -> None:
    trial = await trials.of(folder)
    solved = await trial.solve()
    assert not solved.is_timed_out, solved.output
    outcome = await trial.test()
    assert outcome.failure_mode == FailureMode.NONE, outcome.log
    assert outcome.is_resolved, outcome.log
    assert outcome.reward == 1
    labels = labelled(trials.run, trial.name)
    containers = await trials.engine.ask("GET", "containers/json", {"filters": labels})
    assert len(containers) == 2 if folder.name == "two-services" else 1
    await environments.remove(trials.engine, trials.run, trial.name)
    assert await trials.engine.ask("GET", "containers/json", {"all": True, "filters": labels}) == []
    assert await trials.engine.ask("GET", "networks", {"filters": labels}) == []


@only_nightly
@pytest.mark.parametrize("folder", find_tasks(TASKS, None), ids=lambda folder: folder.name)
async def test_doing_nothing_solves_nothing(trials: Trials, folder: Path) -> None:
    outcome = await (await trials.of(folder)).test()
    assert (outcome.failure_mode, outcome.is_resolved, outcome.reward) == (FailureMode.NONE, False, 0.0), outcome.log


@only_nightly  # by default: tests/terminal/test_parsers.py
async def test_a_verifier_may_give_a_fraction(trials: Trials) -> None:
    trial = await trials.of(TASKS / "partial-credit")
    await trial.act(
        "printf '#!/bin/sh\\ncase $1 in 1) echo I;; 4) echo IV;; 9) echo IX;; esac' > roman; chmod +x roman"
    )
    outcome = await trial.test()
    assert (outcome.failure_mode, outcome.is_resolved, outcome.reward) == (FailureMode.NONE, False, 0.25)
    assert outcome.rewards["digits"] == 1


async def test_an_image_is_built_once_for_all_who_need_it(
    trials: Trials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = format_two(tmp_path / "task", {"environment/Dockerfile": "FROM scratch\nCOPY data /data\n"})
    (folder / "environment" / "data").write_text("x")
    task = load_task(folder)
    packed: list[str] = []
    pack = contexts.with_label

    def noting(*arguments: object) -> object:
        packed.append("built")
        return pack(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(contexts, "with_label", noting)
    refs = await asyncio.gather(*(images.prepare_image(trials.engine, task, trials.run) for _ in range(4)))
    assert len({ref.name for ref in refs}) == 1
    assert packed == ["built"]
    (folder / "environment" / "data").write_text("y")
    assert await images.prepare_image(trials.engine, task, trials.run) not in refs


async def test_runs_that_end_together_leave_no_image(trials: Trials, tmp_path: Path) -> None:
    """Each of two runs uses the image that one of them has built; neither leaves it to the other one."""
    task = load_task(_task_of_one_file(tmp_path / "task"))
    other = f"{trials.run}-b"
    refs = [await images.prepare_image(trials.engine, task, run) for run in (trials.run, other)]
    await asyncio.gather(*(images.remove_images(trials.engine, run) for run in (trials.run, other)))
    assert await _names_like(trials.engine, refs[0].name) == []


async def test_a_removal_that_was_killed_between_two_names_is_finished(
    trials: Trials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = await images.prepare_image(trials.engine, load_task(_task_of_one_file(tmp_path / "task")), trials.run)
    ask, deleted = trials.engine.ask, 0

    async def dying(method: str, path: str, *arguments: Any, **named: Any) -> Any:
        nonlocal deleted
        if method == "DELETE" and path.startswith("images/") and (deleted := deleted + 1) == 2:
            raise asyncio.CancelledError
        return await ask(method, path, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(trials.engine, "ask", dying)
        with pytest.raises(asyncio.CancelledError):
            await images.remove_images(trials.engine, trials.run)
    assert len(await _names_like(trials.engine, ref.name)) == 1
    assert (trials.run, None) in await sweeping.list_runs(trials.engine)
    await images.remove_images(trials.engine, trials.run)
    assert await _names_like(trials.engine, ref.name) == []


async def test_an_image_that_a_container_still_uses_is_removed_later(trials: Trials, tmp_path: Path) -> None:
    trial = await trials.of(format_two(tmp_path / "task", {"environment/Dockerfile": f"FROM {BASE_IMAGE}\nRUN true\n"}))
    assert trial.image is not None
    await images.remove_images(trials.engine, trials.run)
    assert await _names_like(trials.engine, trial.image.name)
    assert (trials.run, None) in await sweeping.list_runs(trials.engine), "the sweeper comes back for it"
    await environments.remove(trials.engine, trials.run, trial.name)
    await images.remove_images(trials.engine, trials.run)
    assert await _names_like(trials.engine, trial.image.name) == []


def _task_of_one_file(folder: Path) -> Path:
    made = format_two(folder, {"environment/Dockerfile": "FROM scratch\nCOPY data /data\n"})
    (made / "environment" / "data").write_text(secrets.token_hex(8))
    return made


async def _names_like(engine: Engine, name: str) -> list[str]:
    """All names of images of the same content as the one with this name."""
    listed = await engine.ask("GET", "images/json")
    return [tag for image in listed for tag in image["RepoTags"] or [] if tag.endswith(name[-32:])]


async def test_the_next_worker_goes_on_with_the_same_container(trials: Trials, tmp_path: Path) -> None:
    trial = await trials.of(format_two(tmp_path / "task"))
    first = trial.ref
    await trial.act("touch /app/done")
    await trial.act("nohup sleep 1000 >/dev/null 2>&1 &")
    assert await trial.start() == first, "what the agent started must not count as the container's own"
    outcome = await trial.test()
    assert outcome.is_resolved
    assert [process.command for process in outcome.left_running] == ["sleep"]
    assert await trial.start() != first, "a container that has seen the tests is nobody's any more"


async def test_a_container_that_stopped_is_begun_anew(trials: Trials, tmp_path: Path) -> None:
    trial = await trials.of(format_two(tmp_path / "task"))
    first = trial.ref
    await trials.engine.ask("POST", f"containers/{first.container_id}/kill")
    assert not await environments.stands(trials.engine, first)
    with pytest.raises(EnvironmentLostError):
        await trial.act("true")
    with pytest.raises(EnvironmentLostError):
        await trial.test()
    assert (await trial.start()).container_id != first.container_id
    assert (await trial.act("ls /app")).output == ""


async def test_a_half_made_container_is_no_obstacle(trials: Trials, tmp_path: Path) -> None:
    trial = await trials.of(format_one(tmp_path / "task"))
    about = await trials.engine.ask("GET", f"containers/{trial.ref.container_id}/json")
    assert about["Mounts"] == [], "nothing of the host is mounted, though the compose file asks for folders for logs"
    await environments.remove(trials.engine, trials.run, trial.name)
    left = {"Image": trial.image.name if trial.image else "", "Cmd": ["sleep", "1"]}  # not even labelled
    await trials.engine.ask("POST", "containers/create", {"name": trial.ref.container}, left)
    await trial.start()
    assert (await trial.act("echo $TEST_DIR; ls -d /logs /agent-logs")).output.split() == [
        "/tests",
        "/agent-logs",
        "/logs",
    ]


async def test_only_what_is_over_is_swept(trials: Trials, tmp_path: Path) -> None:
    folder = format_two(tmp_path / "task")
    kept, dead = await trials.of(folder, "kept"), await trials.of(folder, "dead")

    async def is_over(run: str, trial: str | None) -> bool:
        return (run, trial) == (trials.run, "dead")

    assert (trials.run, "dead") in await sweeping.list_runs(trials.engine)
    await sweeping.sweep(trials.engine, is_over)
    assert await environments.stands(trials.engine, kept.ref)
    assert not await environments.stands(trials.engine, dead.ref)
    assert (trials.run, "dead") not in await sweeping.list_runs(trials.engine)


async def test_files_go_in_and_out(trial: Trial) -> None:
    engine = trial.engine
    await copy_into(engine, trial.ref, {"a.txt": b"one", "b/c.txt": b"two"}, "/srv/deep/down")
    assert (await trial.act("cat /srv/deep/down/b/c.txt")).output == "two"
    await trial.act("ln -s /etc/passwd /srv/deep/down/link; head -c 5000 /dev/zero > /srv/deep/down/z")
    files = await copy_out(engine, trial.ref, "/srv/deep/down", 100_000)
    assert set(files) == {"a.txt", "b/c.txt", "z"}
    assert files["a.txt"] == b"one"
    assert len((await copy_out(engine, trial.ref, "/srv/deep/down/z", 2000)).get("z", b"")) <= 2000
    assert await copy_out(engine, trial.ref, "/nowhere") == {}
    await trial.act("echo working > /logs/agent/a.log")
    collected = await collect(engine, trial.task, trial.ref)
    assert [(file.name, file.content) for file in collected] == [("agent/a.log", b"working\n")]


async def test_an_engine_that_is_not_there_is_named() -> None:
    engine = Engine("unix:///nowhere/docker.sock")
    of_the_client = re.compile(r"\(Cannot .*\]\)")
    with pytest.raises(EngineUnavailableError, check=says("docker.sock", why=of_the_client)):
        await engine.check()
    await engine.aclose()


@pytest.mark.skipif(not NIGHTLY, reason="starts an engine of its own; part of make nightly")
async def test_an_engine_that_dies_freezes_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with own_engine() as docker:
        engine = Engine(docker.url)
        trials = Trials(engine, "run")
        try:
            trial = await trials.of(format_two(tmp_path / "task"))
            first = trial.ref
            docker.kill()
            with pytest.raises(EngineUnavailableError):
                await trial.act("true")
            docker.start()
            assert await environments.ended_by_itself(engine, first) is None, "that was nobody's doing in there"
            assert (await trial.start()).container_id != first.container_id
            await trial.solve()
            assert (await trial.test()).is_resolved
            again = await trials.of(format_two(tmp_path / "task"), "trial-2")
            monkeypatch.setattr(engine_module, "ANSWERS_WITHIN", 2.0)
            with docker.frozen(), pytest.raises(EngineUnavailableError):
                await again.act("true")
            assert (await again.act("echo awake")).output == "awake\n"
        finally:
            await engine.aclose()
