"""The steps of a workflow: activities whose troubles are published while they are retried."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from temporalio import exceptions, workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError

from proctor.activities.attempts import failures
from proctor.activities.attempts.troubles import Trouble
from proctor.activities.models.metering import find_usage
from proctor.activities.plan import OfAssessment, Plan
from proctor.activities.simulation.moving import find_move
from proctor.protocol import updates
from proctor.workflows import limits
from proctor.workflows.publishing import UpdatePublisher, next_completion
from purple_sdk.protocol.provenance import ModelUse

_UNREADABLE = "Failed decoding arguments"
"""The SDK's message if a step's input can't be read. The error's cause gives the reason, for example that the store has
lost the input.
"""


class Failure(NamedTuple):
    """A failure's type (see ``proctor.activities.attempts.failures``), a sentence, and whether the failure is our own
    defect.
    """

    kind: str
    sentence: str
    is_defect: bool = False


class NamedError(ApplicationError):
    """A failure that already has a sentence and the name of its subject."""

    def __init__(self, about: str, failure: Failure) -> None:
        sentence = failure.sentence if failure.sentence.startswith(about) else f"{about}: {failure.sentence}"
        super().__init__(sentence, type=failure.kind, non_retryable=True)


def describe_failure(problem: BaseException) -> Failure:
    """Return the type and the sentence of any failure of an assessment."""
    if isinstance(problem, NamedError):
        return Failure(problem.type or failures.UNKNOWN, problem.message)
    if isinstance(problem, TimeoutError):
        return Failure(failures.DEADLINE, "The assessment took longer than it may: its deadline has passed.")
    step: str | None = None
    cause: BaseException | None = problem
    if isinstance(problem, exceptions.ActivityError):
        step, cause = problem.activity_type, problem.cause
    if isinstance(cause, exceptions.ApplicationError):
        if cause.message == _UNREADABLE and isinstance(cause.cause, exceptions.ApplicationError):
            cause = cause.cause
        words = failures.in_words(cause.type, cause.message)
        is_bare = words != cause.message
        return Failure(cause.type or failures.UNKNOWN, f"{step or 'A step'} failed: {words}" if is_bare else words)
    if isinstance(cause or problem, exceptions.FailureError):
        return Failure(failures.UNKNOWN, f"{step or 'A step'} did not finish: {cause or problem}")
    return Failure(
        failures.UNKNOWN,
        f"The evaluator has a defect ({type(problem).__name__}: {problem}): its worker's log says where.",
        is_defect=True,
    )


@contextmanager
def named(about: str) -> Iterator[None]:
    """Name the failed step in its failure, for parallel steps. Raises NamedError; cancellations pass unchanged."""
    try:
        yield
    except FailureError as error:
        if exceptions.is_cancelled_exception(error):
            raise
        raise NamedError(about, describe_failure(error)) from error


_SAID_AGAIN = timedelta(seconds=20)
"""The time after which a trouble is published again. It is shorter than the time between two reports of one step."""

Payload = TypeVar("Payload")
Done = TypeVar("Done")


class Steps:
    """Runs a workflow's activities. Troubles of activities that are started elsewhere are not published.

    Each of several participants has its own ``Steps`` (``of_role``), since their simulations may be on different
    servers.
    """

    def __init__(self, publisher: UpdatePublisher) -> None:
        self._publisher = publisher
        self._running = _RunningSteps()
        self._role = ""
        self.simulator: str | None = None
        """The address of the assessment's simulator (``Plan.simulator``), which every step gets."""
        self.usage_of_failures: defaultdict[str, list[ModelUse]] = defaultdict(list)
        """The models' usage by steps without a result, by the names of the activities."""

    def of_role(self, publisher: UpdatePublisher, role: str) -> "Steps":
        """Return the steps of one of several participants. Troubles of all participants' steps are compared, to publish
        each trouble once.
        """
        steps = Steps(publisher)
        steps._running, steps._role = self._running, role
        return steps

    async def do(self, step: Callable[[Any, Payload], Awaitable[Done]], payload: Payload, **options: Any) -> Done:
        """Run an activity, which a worker takes from a task queue. If the simulator's server is lost, repeat the
        activity on the server that its failure names.
        """
        while True:
            try:
                return await self.do_once(step, payload, **options)
            except ActivityError as error:
                if not self.has_moved(error):
                    raise
                kind, sentence, _ = describe_failure(error)
                self._publisher.publish_failure(kind, sentence)

    async def do_once(self, step: Callable[[Any, Payload], Awaitable[Done]], payload: Payload, **options: Any) -> Done:
        """Run an activity, for callers that handle failures and repeat steps."""
        options, event = self._in_role(options), next_completion()
        with self._running.begin_step(step.__name__):
            try:
                return await workflow.execute_activity_method(step, self._with_simulator(payload), **options)
            except ActivityError as error:
                self._publisher.note_failed_step(options.get("summary", step.__name__), event)
                self.usage_of_failures[step.__name__] += find_usage(error)
                if isinstance(error.cause, ApplicationError) and error.cause.type == failures.CALLED_OFF:
                    raise asyncio.CancelledError from None
                raise

    def has_moved(self, problem: FailureError) -> bool:
        """Return whether a step failed because the simulator's server was lost. If so, the assessment is on another
        server from now on.

        Of several simultaneous steps, the first one to fail chooses the server for all.
        """
        cause = problem.cause if isinstance(problem, ActivityError) else problem  # local activities' are bare
        if (move := find_move(cause)) is None:
            return False
        lost, there = move
        if lost == self.simulator:
            workflow.logger.warning("the simulator at %s is lost: continuing at %s", self.simulator, there)
            self.simulator = there
        return True

    def placed(self, plan: Plan) -> Plan:
        return plan if plan.simulator == self.simulator else plan.model_copy(update={"simulator": self.simulator})

    def _with_simulator(self, payload: Payload) -> Payload:
        if not isinstance(payload, OfAssessment) or payload.plan.simulator == self.simulator:
            return payload
        return payload.model_copy(update={"plan": self.placed(payload.plan)})

    async def do_here(self, step: Callable[[Any, Payload], Awaitable[Done]], payload: Payload, **options: Any) -> Done:
        """Run a local activity: quick work in the worker that has this workflow task (``limits.quick``)."""
        with self._running.begin_step(step.__name__):
            options = self._in_role(options)
            return await workflow.execute_local_activity_method(step, self._with_simulator(payload), **options)

    def _in_role(self, options: dict[str, Any]) -> dict[str, Any]:
        if not self._role:
            return options
        return {**options, "summary": limits.summary(self._role, options["summary"])}

    def publish_trouble(self, trouble: Trouble) -> None:
        """Publish that a running step fails repeatedly and is still retried."""
        if self._running.is_news(trouble):
            self._publisher.publish(
                updates.ErrorOccurredUpdate(
                    error_type=trouble.kind,
                    error_message=trouble.sentence(),
                    turn_number=self._publisher.turn,
                    recoverable=True,
                    step=trouble.step,
                    attempt=trouble.attempt,
                    attempts=trouble.attempts,
                )
            )


class _RunningSteps:
    """The running steps and their published troubles. Parallel steps with the same trouble publish it once."""

    def __init__(self) -> None:
        self._steps: Counter[str] = Counter()
        self._published: dict[tuple[str, int, str], datetime] = {}

    @contextmanager
    def begin_step(self, name: str) -> Iterator[None]:
        if not self._steps[name]:
            self._published = {seen: at for seen, at in self._published.items() if seen[0] != name}
        self._steps[name] += 1
        try:
            yield
        finally:
            self._steps[name] -= 1

    def is_news(self, trouble: Trouble) -> bool:
        """Return whether a trouble should be published.

        A trouble isn't news if its step isn't running, because a reset repeats later signals. A trouble isn't news
        either if a parallel step has just failed for the same reason at the same try.
        """
        news, now = (trouble.step, trouble.attempt, trouble.answer), workflow.now()
        before = self._published.get(news)
        if not self._steps[trouble.step] or (before is not None and now - before < _SAID_AGAIN):
            return False
        self._published[news] = now
        return True
