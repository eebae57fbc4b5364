"""Every timeout and every retry of the workflows, in one place."""

from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy

from proctor.activities.attempts import failures
from proctor.activities.plan import Plan
from proctor.workflows.names import JUDGING_QUEUE, WAITING_QUEUE

HEARTBEAT = timedelta(seconds=4)
"""After so long without a sign of life an attempt counts as lost, and the next one starts."""

_WAITING = timedelta(seconds=10)
"""The same for an attempt that waits for a participant or a model: a worker may have a thousand of them, and each sign
of life is a request to Temporal.
"""

_SUMMING_UP = timedelta(seconds=60)
"""The same for the sum of a campaign, which keeps a worker's Python busy: and its signs of life wait with it."""

HISTORY_EVENTS = 2_000
"""Longest history of a run before the assessment continues as new, well below the some 4,000 at which Temporal suggests
it: a worker that takes over replays the run, at about a thousand events per second.
"""

CAMPAIGN_EVENTS = 1_000
"""The same for a campaign, beside what its cells at play take: some 1,600 events are replayed per second."""

_EVENTS_AT_PLAY = 8
"""The most events that a campaign's next run needs to find one of its running cells."""

WORKFLOW_TASK = timedelta(seconds=6)
"""How long a worker may take over one step of a workflow, local activities not counted: it reports on those while they
run. A worker that is killed in a step is noticed after this time, where Temporal's own default is 10 s.
"""

CAMPAIGN_TASK = timedelta(seconds=10)
"""The same for a campaign: its cells continue meanwhile, and a busy worker has time to replay it."""

WITH_MODEL_SECONDS = 24 * 3600.0
"""For an activity that asks a model. Each of its requests has its own time limit, and their number is limited. Their
waiting time at a slow server is unknown. Missing heartbeats reveal a lost worker.
"""

EVALUATORS_SECONDS = 3600.0
"""How long a judgement by an evaluator may take with all waiting for others' judgements; its own time is limited by
``evaluator_timeout``.
"""

LOCAL_JUDGEMENT = timedelta(seconds=10)
"""How long a judgement by a local activity may take with all waiting for others. It is short: until it ends, the
workflow holds one of the worker's slots for workflow tasks.
"""


def _retry(first: float, longest: float, attempts: int = 0) -> RetryPolicy:
    """Pauses of ``first`` seconds and then each twice as long, up to ``longest``; 0 attempts are without limit."""
    return RetryPolicy(
        initial_interval=timedelta(seconds=first),
        maximum_interval=timedelta(seconds=longest),
        maximum_attempts=attempts,
    )


_PATIENT = _retry(0.2, 10, 12)
"""Outlasts about a minute without simulator, store or worker."""

_MODELS = _retry(1, 30, 13)
"""Outlasts four minutes of a model API that is overloaded or out of quota. No pause is so long that progress would have
nothing to report for a minute.
"""

_PARTICIPANT = _retry(0.3, 5, 8)
"""Gives a participant some 20 seconds to come back: frameworks for agents take long to import."""

_SUMMARY_CHARACTERS = 100
"""Each takes at most four bytes."""

_AGAIN = RetryPolicy(initial_interval=timedelta(milliseconds=200), maximum_attempts=3)
"""For an attempt whose worker has died."""

_WEBHOOK = _retry(1, 600, 15)
"""Outlasts about an hour in which a webhook takes nothing."""

_FOREVER = _retry(0.2, 10)
"""For waiting, which nothing but the end of what is waited for ends."""

_ENGINE = _retry(0.3, 10, 30)
"""Outlasts some four minutes without a Docker engine."""

HOST_GONE = timedelta(minutes=3)
"""After this time without a worker a host is given up, with the environments on it."""

ENVIRONMENT_LOSSES = 10
"""How often a trial's environment may be lost before the trial fails; no fault of the participant's."""

TURN_LOSSES = 10
"""How often a turn may be lost with the simulator, or with workers, before the assessment fails; no fault of the
participant's.
"""

LOST = {failures.SIMULATION_LOST, failures.WORKERS_LOST, failures.HOST_LOST}
"""How a turn fails by no fault of the participant's."""

TRIED_AGAIN = {failures.PARTICIPANT_FAILED, failures.TURN_TIMEOUT}
"""Failures of a turn after which it may be played again."""


def quick(summary: str) -> dict[str, Any]:
    """Options of a *local* activity: some milliseconds' work on simulation or files, where a trip over a task queue
    (some 30 ms) would be most of the time. It has no heartbeat; the workflow task that it runs in has.
    """
    return _options(summary, _PATIENT, timedelta(minutes=1), None)


def prepared(summary: str) -> dict[str, Any]:
    """Options of an activity that may move a whole mailbox."""
    return _options(summary, _PATIENT, timedelta(minutes=5))


def campaign_events(at_once: int) -> int:
    """The longest history of a campaign's run that plays at most ``at_once`` cells at a time."""
    return CAMPAIGN_EVENTS + _EVENTS_AT_PLAY * at_once


def summed_up(summary: str, cells: int) -> dict[str, Any]:
    """Options of the activity that reads the results of ``cells`` cells, and sums them up."""
    return _options(summary, _PATIENT, timedelta(minutes=5) + cells * timedelta(seconds=0.1), _SUMMING_UP)


def turn(summary: str, turn_timeout: float) -> dict[str, Any]:
    """Options of an activity that waits for the participant, who may take ``turn_timeout`` seconds, and as long to end
    what it was at before.
    """
    return _options(
        summary,
        _PARTICIPANT,
        timedelta(seconds=2 * turn_timeout + 90),
        _WAITING,
        schedule_to_close_timeout=timedelta(seconds=3 * turn_timeout + 240),
        task_queue=_beside(WAITING_QUEUE),
    )


def model(summary: str, seconds: float) -> dict[str, Any]:
    """Options of an activity that may take ``seconds``, and is tried again as long as a model may be away."""
    return _options(summary, _MODELS, timedelta(seconds=seconds))


def asking(plan: Plan) -> dict[str, Any]:
    """Options of an activity that may ask models: when it is cancelled, its failure is waited for (seconds: until its
    next heartbeat), since that says what was asked.
    """
    if plan.offline:
        return {}
    return {"cancellation_type": workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED}


def thinking(plan: Plan, summary: str) -> dict[str, Any]:
    """Options of an activity that may think with a model; offline it is quick work."""
    if plan.offline:
        return model(summary, plan.judge_timeout)
    options = {"task_queue": plan.models_task_queue, "heartbeat_timeout": _WAITING}
    return model(summary, WITH_MODEL_SECONDS) | options | asking(plan)


def judged(plan: Plan, summary: str) -> dict[str, Any]:
    """Options of a judgement by a scenario's own code, with all waiting for others' judgements."""
    seconds = max(plan.judge_timeout, EVALUATORS_SECONDS if plan.offline else WITH_MODEL_SECONDS)
    return model(summary, seconds) | {"task_queue": _beside(JUDGING_QUEUE)} | asking(plan)


def judged_here(summary: str) -> dict[str, Any]:
    """Options of a judgement by a *local* activity, at one attempt: an ordinary activity is behind it."""
    return _options(summary, RetryPolicy(maximum_attempts=1), LOCAL_JUDGEMENT, None)


def summary(*words: str) -> str:
    """An event's summary, cut to a length that Temporal takes: at most 400 bytes."""
    return " · ".join(words)[:_SUMMARY_CHARACTERS]


def parting(summary: str) -> dict[str, Any]:
    """Options of an activity that must not keep an assessment from ending; it ends after two seconds in any case."""
    return _options(summary, _AGAIN, timedelta(seconds=10))


def for_participant(summary: str) -> dict[str, Any]:
    """The same for one that waits for the participant."""
    return parting(summary) | {"task_queue": _beside(WAITING_QUEUE)}


def kept(summary: str) -> dict[str, Any]:
    """Options of a *local* activity that puts something away on the way out."""
    return _options(summary, _AGAIN, timedelta(seconds=10), None)


def notified(summary: str) -> dict[str, Any]:
    """Options of an activity that follows a whole assessment for a webhook; after a day it is started again."""
    return _options(summary, _WEBHOOK, timedelta(days=1), _WAITING)


def joined(summary: str) -> dict[str, Any]:
    """Options of an activity that waits for a workflow, for as long as that takes; workers come and go meanwhile."""
    return _options(summary, _FOREVER, timedelta(days=30), _WAITING, task_queue=_beside(WAITING_QUEUE))


def on_engine(summary: str, seconds: float) -> dict[str, Any]:
    """Options of an activity on a host with a Docker engine, which may take ``seconds``; a host whose workers are all
    gone for ``HOST_GONE`` is given up.
    """
    return on_any_engine(summary, seconds) | {"schedule_to_start_timeout": HOST_GONE}


def on_any_engine(summary: str, seconds: float) -> dict[str, Any]:
    """The same on the first host that takes it; it is waited for as long as that takes."""
    return _options(summary, _ENGINE, timedelta(seconds=seconds))


def terminal_agent(summary: str, seconds: float) -> dict[str, Any]:
    """Options of an activity that waits for an agent in a terminal, which may work for ``seconds``."""
    return _options(
        summary,
        _PARTICIPANT,
        timedelta(seconds=seconds + 90),
        schedule_to_close_timeout=timedelta(seconds=2 * seconds + 600),
        schedule_to_start_timeout=HOST_GONE,
    )


def swept(summary: str) -> dict[str, Any]:
    """Options of an activity that removes leftovers; if it fails, the next clean-up does it."""
    return _options(
        summary,
        _PATIENT,
        timedelta(seconds=60),
        schedule_to_close_timeout=timedelta(minutes=3),
        schedule_to_start_timeout=timedelta(seconds=20),
    )


def _options(
    summary: str, retry: RetryPolicy, longest: timedelta, heartbeat: timedelta | None = HEARTBEAT, **more: Any
) -> dict[str, Any]:
    beating = {} if heartbeat is None else {"heartbeat_timeout": heartbeat}
    return {
        "start_to_close_timeout": longest,
        "retry_policy": retry,
        "summary": summary[:_SUMMARY_CHARACTERS],
        **beating,
        **more,
    }


def _beside(queue: str) -> str:
    return workflow.info().task_queue + queue
