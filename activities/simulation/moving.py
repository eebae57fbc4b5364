"""Moves an assessment to another server when its simulator's server is lost, if there are several.

A step that can't reach its server fails finally and names another server, which the workflow remembers. No attempt of a
step ever changes its server, so all attempts at the old server are outdated.
"""

from typing import Any

from temporalio.exceptions import ApplicationError
from temporalio.worker import ExecuteActivityInput

from proctor.activities.attempts import failures, patience
from proctor.activities.attempts.around import Proceed
from proctor.activities.attempts.elapsed import since_scheduled
from proctor.activities.attempts.notes import with_tasks
from proctor.activities.plan import OfAssessment, Plan
from proctor.activities.simulation.simulations import Simulations
from purple_sdk.ues import UESConnectionError, UESTimeoutError

MOVES_AFTER = 5.0
"""Seconds of absence after which another server replaces a lost one. A server that restarts is back by then."""

MOVED_TO, LOST = "moved_to", "lost"
"""Keys in a failure's details: for the server on which to continue, and for the lost one."""


class Moving:
    """A guard: steps whose server is lost fail finally if another server answers."""

    def __init__(self, simulations: Simulations) -> None:
        self._simulations = simulations

    async def __call__(self, input: ExecuteActivityInput, proceed: Proceed) -> Any:  # noqa: A002
        plan = next((argument.plan for argument in input.args if isinstance(argument, OfAssessment)), None)
        if plan is None or not self._simulations.are_on_several_servers:
            return await proceed()
        token = patience.WITHOUT_SIMULATOR.set(MOVES_AFTER)
        try:
            return await proceed()
        except Exception as error:
            if not _is_for_want_of_a_simulator(error) or since_scheduled().total_seconds() < MOVES_AFTER:
                raise
            moved = await self._moved_error(plan, error)
            if moved is None:
                raise
            raise moved from error
        finally:
            patience.WITHOUT_SIMULATOR.reset(token)

    async def _moved_error(self, plan: Plan, problem: Exception) -> ApplicationError | None:
        """Return the failure that names another server. None if the old server answers, or if no other server does."""
        host = self._simulations.host
        if await host.answers(plan.simulator) or (there := await host.choose(but=plan.simulator)) is None:
            return None
        lost = ApplicationError(
            "The simulator that the assessment was on doesn't answer any more: it continues at another one.",
            {MOVED_TO: there, LOST: plan.simulator},
            *(problem.details if isinstance(problem, ApplicationError) else ()),
            type=failures.HOST_LOST,
            non_retryable=True,
        )
        return with_tasks(lost)


def find_move(problem: BaseException | None) -> tuple[str | None, str] | None:
    """Return the lost and the new server that a step's failure names; None for other failures. For workflows."""
    if isinstance(problem, ApplicationError) and problem.type == failures.HOST_LOST:
        for detail in problem.details:
            if isinstance(detail, dict) and isinstance(detail.get(MOVED_TO), str):
                return detail.get(LOST), detail[MOVED_TO]
    return None


def _is_for_want_of_a_simulator(problem: Exception) -> bool:
    is_evaluators = isinstance(problem, ApplicationError) and problem.type == failures.EVALUATOR_INTERRUPTED
    return is_evaluators or isinstance(problem, UESConnectionError | UESTimeoutError)
