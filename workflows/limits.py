"""Every timeout and every retry of the workflows, in one place."""

from datetime import timedelta
from typing import Any

from temporalio.common import RetryPolicy

from activities import failures
from activities.plan import Plan

HEARTBEAT = timedelta(seconds=2)
"""After so long without a sign of life an attempt counts as lost, and the next one starts."""

HISTORY_EVENTS = 2_000
"""Longest history of a run before the assessment continues as new, well below the some 4,000 at which Temporal suggests
it: a worker that takes over replays the run, at about a thousand events per second.
"""

EVALUATORS_SECONDS = 3600.0
"""How long a judgement by an evaluator may take with all waiting for others' judgements; its own time is limited by
``evaluator_timeout``.
"""

_PATIENT = RetryPolicy(
    initial_interval=timedelta(milliseconds=200),
    backoff_coefficient=2,
    maximum_interval=timedelta(seconds=10),
    maximum_attempts=12,
)
"""Outlasts about a minute without simulator, store or worker."""

_MODELS = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    backoff_coefficient=2,
    maximum_interval=timedelta(minutes=1),
    maximum_attempts=10,
)
"""Outlasts several minutes of a model API that is overloaded or out of quota."""

_PARTICIPANT = RetryPolicy(
    initial_interval=timedelta(milliseconds=300),
    backoff_coefficient=2,
    maximum_interval=timedelta(seconds=5),
    maximum_attempts=6,
)
"""Gives a participant about nine seconds to come back."""

_AGAIN = RetryPolicy(initial_interval=timedelta(milliseconds=200), maximum_attempts=3)
"""For an attempt whose worker has died."""

_WEBHOOK = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    backoff_coefficient=2,
    maximum_interval=timedelta(minutes=10),
    maximum_attempts=15,
)
"""Outlasts about an hour in which a webhook takes nothing."""

TURN_LOSSES = 10
"""How often a turn may be lost with the simulator, or with workers, before the assessment fails; no fault of the
participant's.
"""

LOST = {failures.SIMULATION_LOST, failures.WORKERS_LOST}
"""How a turn fails by no fault of the participant's."""

TRIED_AGAIN = {failures.PARTICIPANT_FAILED, failures.TURN_TIMEOUT}
"""Failures of a turn after which it may be played again."""


def quick(summary: str) -> dict[str, Any]:
    """Options of a *local* activity: some milliseconds' work on simulation or files, where a trip over a task queue
    (some 30 ms) would be most of the time. It has no heartbeat; the workflow task that it runs in has.
    """
    return {"start_to_close_timeout": timedelta(minutes=1), "retry_policy": _PATIENT, "summary": summary}


def prepared(summary: str) -> dict[str, Any]:
    """Options of an activity that may move a whole mailbox."""
    return {
        "start_to_close_timeout": timedelta(minutes=5),
        "heartbeat_timeout": HEARTBEAT,
        "retry_policy": _PATIENT,
        "summary": summary,
    }


def turn(summary: str, turn_timeout: float) -> dict[str, Any]:
    """Options of an activity that waits for the participant, who may take ``turn_timeout`` seconds."""
    return {
        "start_to_close_timeout": timedelta(seconds=turn_timeout + 90),
        "schedule_to_close_timeout": timedelta(seconds=2 * turn_timeout + 240),
        "heartbeat_timeout": HEARTBEAT,
        "retry_policy": _PARTICIPANT,
        "summary": summary,
    }


def model(summary: str, seconds: float) -> dict[str, Any]:
    """Options of an activity that may call a model, which may take ``seconds``."""
    return {
        "start_to_close_timeout": timedelta(seconds=seconds),
        "heartbeat_timeout": HEARTBEAT,
        "retry_policy": _MODELS,
        "summary": summary,
    }


def thinking(plan: Plan, summary: str) -> dict[str, Any]:
    """Options of an activity that may think with a model; offline it is quick work."""
    options = model(summary, plan.judge_timeout)
    if not plan.offline:
        options["task_queue"] = plan.models_task_queue
    return options


def parting(summary: str) -> dict[str, Any]:
    """Options of an activity that must not keep an assessment from ending; it ends by itself after two seconds."""
    return {
        "start_to_close_timeout": timedelta(seconds=10),
        "heartbeat_timeout": HEARTBEAT,
        "retry_policy": _AGAIN,
        "summary": summary,
    }


def kept(summary: str) -> dict[str, Any]:
    """Options of a *local* activity that puts something away on the way out."""
    return {"start_to_close_timeout": timedelta(seconds=10), "retry_policy": _AGAIN, "summary": summary}


def notified(summary: str) -> dict[str, Any]:
    """Options of an activity that follows a whole assessment for a webhook; after a day it is taken up anew."""
    return {
        "start_to_close_timeout": timedelta(days=1),
        "heartbeat_timeout": timedelta(seconds=10),
        "retry_policy": _WEBHOOK,
        "summary": summary,
    }
