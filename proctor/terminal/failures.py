"""How steps of a terminal trial fail: each class says whose fault it is, and the failure mode of its trial."""

from typing import ClassVar

from purple_sdk.protocol.terminal import Blame, FailureMode


class TerminalError(Exception):
    """A step that failed; the message is a sentence that says what was wrong and what to do.

    Attributes:
        blame: whose fault it is; the evaluator's own failures may be gone at the next attempt.
        failure_mode: the trial's result if it can't continue.
    """

    blame: ClassVar[Blame] = "evaluator"
    failure_mode: ClassVar[FailureMode] = FailureMode.UNKNOWN

    def __init__(self, sentence: str, log: str = "") -> None:
        super().__init__(sentence)
        self.log = log


class TaskError(TerminalError):
    """The task's files can't be played as they are; the message names file, field, value and remedy."""

    blame = "task"


class ImageFailedError(TerminalError):
    """The task's image can't be built (its Dockerfile fails, or takes too long); ``log`` is the build's last lines."""

    blame = "task"


class RegistryUnavailableError(TerminalError):
    """An image can't be fetched for no fault of its task's: the registry is out of reach, or asks to wait."""


class EnvironmentFailedError(TerminalError):
    """The task's containers don't start, or never become healthy."""

    blame = "task"


class SolutionFailedError(TerminalError):
    """The task's own solution is missing or can't be read."""

    blame = "task"


class LimitExceededError(TerminalError):
    """The agent went over a limit that ends the trial, such as the task's storage; its container is stopped."""

    blame = "participant"
    failure_mode = FailureMode.UNKNOWN_AGENT_ERROR


class ContainerEndedError(TerminalError):
    """The container's first process ended while the tests ran: by what the agent left there, or by the tests' doing."""

    blame = "participant"
    failure_mode = FailureMode.UNKNOWN_AGENT_ERROR


class EnvironmentLostError(TerminalError):
    """The trial's container is gone (the engine was restarted, or the container was removed): begin from the image."""


class EngineUnavailableError(TerminalError):
    """The engine doesn't answer, or can't do what is asked just now: it may at the next attempt."""
