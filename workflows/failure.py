"""The cause of a failure, unwrapped from Temporal's exceptions: the one reader of those that reach the workflow.

A remote activity's failure arrives as the cause of an ``ActivityError``; a local activity's arrives bare; a deadline is
Python's ``TimeoutError``; and a defect of the workflow's own code is any exception at all. All of them end an
assessment in the same way: with a type and a sentence.
"""

from typing import NamedTuple

from temporalio import exceptions

from activities.attempts import failures


class Failure(NamedTuple):
    """A failure's type (see ``activities.attempts.failures``), a sentence, and whether it is a defect of ours."""

    kind: str
    sentence: str
    is_defect: bool = False


def failure_of(problem: BaseException) -> Failure:
    """The type and the sentence of anything that an assessment can fail of."""
    if isinstance(problem, TimeoutError):
        return Failure(failures.DEADLINE, "The assessment took longer than it may: its deadline has passed.")
    step: str | None = None
    cause: BaseException | None = problem
    if isinstance(problem, exceptions.ActivityError):
        step, cause = problem.activity_type, problem.cause
    if isinstance(cause, exceptions.ApplicationError):
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
