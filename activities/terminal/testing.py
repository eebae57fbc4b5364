"""A task's tests: brought into the container when the agent is done, run, and read."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from activities.terminal.engine import Engine
from activities.terminal.references import EnvironmentRef, Process
from activities.terminal.tasks import TerminalTask
from proctor_protocol.terminal import FailureMode


class TestsOutcome(BaseModel):
    """What the tests said.

    Attributes:
        failure_mode: ``none``, ``test_timeout`` or ``parse_error``.
        failure: the same as a sentence; None where nothing failed.
        tests: each test by name; None where that can't be said.
        reward: 0 to 1; None where the tests gave no verdict.
        is_resolved: all tests passed, or the reward is 1; None where the tests gave no verdict.
        rewards: every number of the reward file, by name.
        log: what the tests printed, capped.
        left_running: what the agent left and what was kept running, since it listens on a socket.
    """

    model_config = ConfigDict(frozen=True)

    failure_mode: FailureMode
    failure: str | None = None
    tests: Mapping[str, Literal["passed", "failed"]] | None = None
    reward: float | None = None
    is_resolved: bool | None = None
    rewards: Mapping[str, float] = Field(default_factory=dict)
    log: str = ""
    left_running: tuple[Process, ...] = ()


async def run_tests(
    engine: Engine, task: TerminalTask, environment: EnvironmentRef, timeout: float | None = None
) -> TestsOutcome:
    """Close the environment to its agent, copy the tests in, run them and read what they say.

    Args:
        timeout: seconds for the tests, in place of the task's own.

    Raises:
        EnvironmentLostError: the container stands no more.
        LimitExceededError: the container was stopped over its storage.
        EngineUnavailableError: the engine doesn't answer.
    """
    raise NotImplementedError
