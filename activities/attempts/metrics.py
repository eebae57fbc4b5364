"""Metrics of workers, and the guard that counts attempts. Labels have few values."""

import time
from typing import Any

from prometheus_client import Counter, Histogram
from temporalio import activity
from temporalio.worker import ExecuteActivityInput

from proctor.activities.attempts import failures
from proctor.activities.attempts.around import Proceed
from proctor.activities.plan import OfTurn
from proctor.observing import tracing
from proctor.observing.logs import about
from proctor.observing.metrics import SECONDS

ASSESSMENTS_ENDED = Counter(
    "proctor_assessments_ended", "Assessments and trials that were archived, by how they ended.", ["kind", "status"]
)
TURN_SECONDS = Histogram(
    "proctor_turn_seconds", "How long participants take for a turn that they complete.", buckets=SECONDS
)
JUDGE_SECONDS = Histogram("proctor_judge_seconds", "How long it takes to judge a criterion.", buckets=SECONDS)
RESPOND_SECONDS = Histogram(
    "proctor_respond_seconds", "How long a character takes to decide whether to answer, and what.", buckets=SECONDS
)
FAILED_ATTEMPTS = Counter(
    "proctor_attempts_failed", "Attempts of activities that failed, by what they failed of.", ["activity", "cause"]
)
FENCES_REFUSED = Counter(
    "proctor_fences_refused", "Attempts from the past that were kept from acting: another one had taken over."
)
MODEL_CALLS = Counter("proctor_model_calls", "Calls of models.", ["model", "outcome"])
MODEL_TOKENS = Counter("proctor_model_tokens", "Tokens that models were sent and answered with.", ["model", "type"])
MODEL_COST = Counter(
    "proctor_model_cost", "What models cost by the operator's table of prices, in its currency.", ["model", "currency"]
)
MODEL_SECONDS = Histogram("proctor_model_call_seconds", "How long calls of models take.", ["model"], buckets=SECONDS)

_MEASURED = {"purple_turn": TURN_SECONDS, "judge_criterion": JUDGE_SECONDS, "respond": RESPOND_SECONDS}
_ENDS = frozenset({"archive", "archive_trial"})


async def observing(input: ExecuteActivityInput, proceed: Proceed) -> Any:  # noqa: A002
    """Guard: count the attempt, and add its context to its log lines."""
    info = activity.info()
    kind, began = info.activity_type, time.perf_counter()
    turn = next((argument.turn for argument in input.args if isinstance(argument, OfTurn)), None)
    if tracing.is_tracing():
        turns = {} if turn is None else {"proctor.turn": turn}
        tracing.note({"proctor.task": info.workflow_id or "", "proctor.attempt": info.attempt, **turns})
    with about(task=info.workflow_id, turn=turn, step=kind, attempt=info.attempt):
        try:
            result = await proceed()
        except Exception as error:
            cause = failures.get_kind(error)
            FAILED_ATTEMPTS.labels(kind, cause).inc()
            if cause == failures.OVERTAKEN:
                FENCES_REFUSED.inc()
            raise
    if kind in _MEASURED:
        _MEASURED[kind].observe(time.perf_counter() - began)
    elif kind in _ENDS:
        _count_ended(kind, input.args[0])
    return result


def _count_ended(kind: str, payload: Any) -> None:
    """Count an archived assessment or trial. If Temporal never learns that the attempt succeeded, the retry counts
    again.
    """
    if kind == "archive":
        ASSESSMENTS_ENDED.labels("assessment", str(payload.results.status)).inc()
    else:
        ASSESSMENTS_ENDED.labels("trial", str(payload.status)).inc()
