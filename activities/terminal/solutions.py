"""A task's own solution, played in its container: for checking tasks, and the evaluator."""

from activities.terminal.commands import Executed
from activities.terminal.engine import Engine
from activities.terminal.references import EnvironmentRef
from activities.terminal.tasks import TerminalTask


async def play_solution(
    engine: Engine, task: TerminalTask, environment: EnvironmentRef, timeout: float | None = None
) -> Executed:
    """Copy a task's solution in and run it; ``is_timed_out`` says that it took longer than it may.

    Raises:
        SolutionFailedError: the task has none.
        EnvironmentLostError: the container stands no more.
    """
    raise NotImplementedError
