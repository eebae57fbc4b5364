"""Trials on the engine that all tests of a run share; each test has a run of its own, of which nothing may stay."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from proctor.terminal import environments, images, sweeping
from proctor.terminal.commands import Executed, execute
from proctor.terminal.engine import DefaultLimits, Engine, labelled
from proctor.terminal.references import EnvironmentRef, ImageRef
from proctor.terminal.solutions import play_solution
from proctor.terminal.task_model import TerminalTask
from proctor.terminal.tasks import load_task
from proctor.terminal.testing import TestsOutcome, run_tests
from purple_sdk.protocol.terminal import LeaveRunning, VerifierKind
from tests.terminal.writing import format_two

LIMITS = DefaultLimits(memory_mb=256, storage_mb=1000, processes=200)


class Trial:
    """A trial of a task, step by step."""

    def __init__(self, engine: Engine, run: str, folder: Path, name: str = "trial-1") -> None:
        self.engine = engine
        self.run = run
        self.name = name
        self.task: TerminalTask = load_task(folder)
        self.image: ImageRef | None = None
        self.environment: EnvironmentRef | None = None

    @property
    def ref(self) -> EnvironmentRef:
        assert self.environment is not None
        return self.environment

    async def start(self) -> EnvironmentRef:
        self.image = await images.prepare_image(self.engine, self.task, self.run)
        self.environment = await environments.start(self.engine, self.task, self.image, self.run, self.name)
        return self.environment

    async def act(self, command: str, timeout: float = 60.0) -> Executed:
        """What an agent does."""
        return await execute(self.engine, self.ref, command, timeout=timeout, user=self.task.agent_user)

    async def solve(self) -> Executed:
        return await play_solution(self.engine, self.task, self.ref)

    async def test(
        self,
        timeout: float | None = None,
        kept: LeaveRunning = "everything",
        verifier: VerifierKind = "same-container",
    ) -> TestsOutcome:
        return await run_tests(self.engine, self.task, self.ref, timeout, kept, verifier)


class Trials:
    """Makes trials of a test's own run."""

    def __init__(self, engine: Engine, run: str) -> None:
        self.engine = engine
        self.run = run

    async def of(self, folder: Path, name: str = "trial-1") -> Trial:
        """A trial whose environment stands."""
        trial = Trial(self.engine, self.run, folder, name)
        await trial.start()
        return trial


@pytest.fixture
async def engine(docker_engine: str) -> AsyncIterator[Engine]:
    engine = Engine(docker_engine, LIMITS)
    try:
        yield engine
    finally:
        await engine.aclose()


@pytest.fixture(scope="session")
def standing(
    docker_engine: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, TerminalTask, EnvironmentRef]]:
    """One environment, with a network and memory of its own, for all tests that leave it as it was."""
    folder = format_two(
        tmp_path_factory.mktemp("standing") / "standing",
        toml="[environment]\nmemory_mb = 64\nallow_internet = false",
    )
    run = f"run-{secrets.token_hex(4)}"

    async def begin() -> Trial:
        engine = Engine(docker_engine, LIMITS)
        trial = Trial(engine, run, folder)
        await trial.start()
        await engine.aclose()
        return trial

    async def end() -> None:
        engine = Engine(docker_engine, LIMITS)
        await environments.remove(engine, run, "trial-1")
        await images.remove_images(engine, run)
        await engine.aclose()

    trial = asyncio.run(begin())
    yield run, trial.task, trial.ref
    asyncio.run(end())


@pytest.fixture
def trial(engine: Engine, standing: tuple[str, TerminalTask, EnvironmentRef]) -> Trial:
    """A trial in the environment that tests share."""
    run, task, environment = standing
    trial = Trial(engine, run, task.folder)
    trial.environment = environment
    return trial


@pytest.fixture
async def trials(engine: Engine) -> AsyncIterator[Trials]:
    """A run of the test's own; what its steps leave is removed by the same means by which the evaluator does."""
    run = f"run-{secrets.token_hex(4)}"

    async def is_this(named: str, trial: str | None) -> bool:
        return named == run

    yield Trials(engine, run)
    await sweeping.sweep(engine, is_this)
    assert run not in {named for named, _ in await sweeping.runs_on(engine)}
    # An image is named by its content: what was built here may be in use by a test in another process.
    left = await engine.ask("GET", "images/json", {"filters": labelled(run)})
    assert [image for image in left if not any(tag.startswith("proctor-run:") for tag in image["RepoTags"] or [])] == []
