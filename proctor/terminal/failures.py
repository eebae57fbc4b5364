"""Errors of the steps of a terminal trial. Each class has the party to blame, and the trial's failure mode."""

from typing import ClassVar

from purple_sdk.protocol.terminal import Blame, FailureMode


class TerminalError(Exception):
    """A step that failed; the message is a sentence that says what was wrong and what to do.

    Attributes:
        blame: the party at fault; the evaluator's own failures may be gone at the next attempt.
        failure_mode: the trial's result if it can't continue.
    """

    blame: ClassVar[Blame] = "evaluator"
    failure_mode: ClassVar[FailureMode] = FailureMode.UNKNOWN

    def __init__(self, sentence: str, log: str = "") -> None:
        super().__init__(sentence)
        self.log = log


class TaskError(TerminalError):
    """The task's files can't be played. The message names file, field, value and remedy."""

    blame = "task"


class ImageFailedError(TerminalError):
    """The task's image can't be built (its Dockerfile fails, or takes too long); ``log`` has the build's last lines."""

    blame = "task"


class RegistryUnavailableError(TerminalError):
    """An image can't be fetched, because the registry is out of reach or asks to wait. The task isn't at fault."""


class EnvironmentFailedError(TerminalError):
    """The task's containers don't start, or never become healthy."""

    blame = "task"


class SolutionFailedError(TerminalError):
    """The task's own solution is missing or can't be read."""

    blame = "task"


class LimitExceededError(TerminalError):
    """The agent exceeded a limit that ends the trial, such as the task's storage; its container is stopped."""

    blame = "participant"
    failure_mode = FailureMode.UNKNOWN_AGENT_ERROR


class ContainerEndedError(TerminalError):
    """The container's first process ended while the tests ran, because of the agent's leftovers or of the tests."""

    blame = "participant"
    failure_mode = FailureMode.UNKNOWN_AGENT_ERROR


class EnvironmentLostError(TerminalError):
    """The trial's container was removed, or its engine was restarted. The trial must begin again from the image."""


class EngineUnavailableError(TerminalError):
    """The engine doesn't answer, or can't carry out the request now. The next attempt may succeed."""
