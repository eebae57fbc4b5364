"""Every timeout and every retry of the workflows, in one place."""

from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy

from proctor.activities.attempts import failures
from proctor.activities.plan import Plan
from proctor.workflows.names import JUDGING_QUEUE, WAITING_QUEUE

HEARTBEAT = timedelta(seconds=4)
"""After this time without a heartbeat an attempt counts as lost, and the next one starts."""

_WAITING = timedelta(seconds=10)
"""``HEARTBEAT`` for an attempt that waits for a participant or a model. A worker may have a thousand such attempts, and
each heartbeat is a request to Temporal.
"""

_SUMMING_UP = timedelta(seconds=60)
"""``HEARTBEAT`` for summing up a campaign, which keeps a worker's Python busy and so delays the heartbeats."""

HISTORY_EVENTS = 2_000
"""The most events in the history of an assessment's run. After more events, the assessment continues as new. Temporal
suggests to continue as new at some 4,000 events. This limit is far lower because a worker that takes over replays the
run, at about a thousand events per second.
"""

CAMPAIGN_EVENTS = 1_000
"""``HISTORY_EVENTS`` for a campaign, without the events of its running cells. A worker replays some 1,600 events of a
campaign per second.
"""

_EVENTS_AT_PLAY = 8
"""The most events that a campaign's next run needs to find one of its running cells."""

WORKFLOW_TASK = timedelta(seconds=6)
"""How long a worker may take for one step of a workflow. Local activities don't count: the worker reports their
progress. A worker that is killed in a step is noticed after this time. Temporal's default is 10 s.
"""

CAMPAIGN_TASK = timedelta(seconds=10)
"""``WORKFLOW_TASK`` for a campaign. A busy worker gets more time to replay the campaign, whose cells don't wait for
it.
"""

WITH_MODEL_SECONDS = 24 * 3600.0
"""The limit for an activity that calls a model. The activity's requests are limited in number and time, but may wait
long for a slow server. Missing heartbeats reveal a lost worker.
"""

EVALUATORS_SECONDS = 3600.0
"""The limit for a judgement by an evaluator, including the wait for other judgements. ``evaluator_timeout`` limits the
evaluator's own time.
"""

LOCAL_JUDGEMENT = timedelta(seconds=10)
"""The limit for a judgement by a local activity, including the wait for other judgements. The limit is short because
the workflow holds one of the worker's slots for workflow tasks until the judgement ends.
"""


def _retry(first: float, longest: float, attempts: int = 0) -> RetryPolicy:
    """Return a policy with a first pause of ``first`` seconds. Each later pause is twice as long as the one before, up
    to ``longest``. 0 ``attempts`` means no limit.
    """
    return RetryPolicy(
        initial_interval=timedelta(seconds=first),
        maximum_interval=timedelta(seconds=longest),
        maximum_attempts=attempts,
    )


_PATIENT = _retry(0.2, 10, 12)
"""A policy that outlasts about a minute without simulator, store or worker."""

_MODELS = _retry(1, 30, 13)
"""A policy that outlasts four minutes of a model API that is overloaded or out of quota. Its pauses are short enough to
report progress every minute.
"""

_PARTICIPANT = _retry(0.3, 5, 8)
"""A policy that gives a participant some 20 seconds to come back: agent frameworks import slowly."""

_SUMMARY_CHARACTERS = 100
"""The most characters of a summary: each takes at most four bytes."""

_AGAIN = RetryPolicy(initial_interval=timedelta(milliseconds=200), maximum_attempts=3)
"""A policy of few attempts, in case a worker dies."""

_WEBHOOK = _retry(1, 600, 15)
"""A policy that outlasts about an hour in which a webhook accepts nothing."""

_FOREVER = _retry(0.2, 10)
"""The policy for waits without a time limit."""

_ENGINE = _retry(0.3, 10, 30)
"""A policy that outlasts some four minutes without a Docker engine."""

HOST_GONE = timedelta(minutes=3)
"""After this time without a worker a host is given up, with its environments."""

ENVIRONMENT_LOSSES = 10
"""How often a trial's environment may be lost, without the participant's fault, before the trial fails."""

TURN_LOSSES = 10
"""How often a turn may be lost because the simulator or workers were lost, before the assessment fails."""

LOST = {failures.SIMULATION_LOST, failures.WORKERS_LOST, failures.HOST_LOST}
"""Failures of a turn without the participant's fault."""

TRIED_AGAIN = {failures.PARTICIPANT_FAILED, failures.TURN_TIMEOUT}
"""Failures of a turn after which it may be played again."""


def quick(summary: str) -> dict[str, Any]:
    """Return options of a *local* activity: some milliseconds of work on the simulation or files. A task queue would
    add some 30 ms, more than the work takes. The activity has no heartbeat: its workflow task has one.
    """
    return _options(summary, _PATIENT, timedelta(minutes=1), None)


def prepared(summary: str) -> dict[str, Any]:
    """Return options of an activity that may move a whole mailbox."""
    return _options(summary, _PATIENT, timedelta(minutes=5))


def campaign_events(at_once: int) -> int:
    """Return the longest history of a campaign's run that plays at most ``at_once`` cells at a time."""
    return CAMPAIGN_EVENTS + _EVENTS_AT_PLAY * at_once


def summed_up(summary: str, cells: int) -> dict[str, Any]:
    """Return options of the activity that reads the results of ``cells`` cells, and sums them up."""
    return _options(summary, _PATIENT, timedelta(minutes=5) + cells * timedelta(seconds=0.1), _SUMMING_UP)


def turn(summary: str, turn_timeout: float) -> dict[str, Any]:
    """Return options of an activity that waits for the participant. The participant may take ``turn_timeout`` seconds
    for the turn, and as many to end its earlier work.
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
    """Return options of an activity that may take ``seconds`` and calls a model. It is retried as ``_MODELS`` says."""
    return _options(summary, _MODELS, timedelta(seconds=seconds))


def asking(plan: Plan) -> dict[str, Any]:
    """Return options of an activity that may call models. When the activity is cancelled, the workflow waits for its
    failure, which reports the usage. The wait takes seconds, until the activity's next heartbeat.
    """
    if plan.offline:
        return {}
    return {"cancellation_type": workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED}


def thinking(plan: Plan, summary: str) -> dict[str, Any]:
    """Return options of an activity that may use a model. Offline, no model is called, and ``judge_timeout`` is the
    limit.
    """
    if plan.offline:
        return model(summary, plan.judge_timeout)
    options = {"task_queue": plan.models_task_queue, "heartbeat_timeout": _WAITING}
    return model(summary, WITH_MODEL_SECONDS) | options | asking(plan)


def judged(plan: Plan, summary: str) -> dict[str, Any]:
    """Return options of a judgement by a scenario's own code. Its limit includes the wait for other judgements."""
    seconds = max(plan.judge_timeout, EVALUATORS_SECONDS if plan.offline else WITH_MODEL_SECONDS)
    return model(summary, seconds) | {"task_queue": _beside(JUDGING_QUEUE)} | asking(plan)


def judged_here(summary: str) -> dict[str, Any]:
    """Return options of a judgement by a *local* activity with one attempt: an ordinary activity is the fallback."""
    return _options(summary, RetryPolicy(maximum_attempts=1), LOCAL_JUDGEMENT, None)


def summary(*words: str) -> str:
    """Return an event's summary, cut to the length that Temporal accepts: at most 400 bytes."""
    return " · ".join(words)[:_SUMMARY_CHARACTERS]


def parting(summary: str) -> dict[str, Any]:
    """Return options of an activity that must not delay an assessment's end. The activity itself waits at most two
    seconds.
    """
    return _options(summary, _AGAIN, timedelta(seconds=10))


def for_participant(summary: str) -> dict[str, Any]:
    """Return the options of ``parting`` for an activity that waits for the participant."""
    return parting(summary) | {"task_queue": _beside(WAITING_QUEUE)}


def kept(summary: str) -> dict[str, Any]:
    """Return options of a *local* activity that stores something at the end."""
    return _options(summary, _AGAIN, timedelta(seconds=10), None)


def notified(summary: str) -> dict[str, Any]:
    """Return options of an activity that follows a whole assessment for a webhook; it is started again every day."""
    return _options(summary, _WEBHOOK, timedelta(days=1), _WAITING)


def joined(summary: str) -> dict[str, Any]:
    """Return options of an activity that waits for a workflow without a time limit. Workers may come and go during the
    wait.
    """
    return _options(summary, _FOREVER, timedelta(days=30), _WAITING, task_queue=_beside(WAITING_QUEUE))


def on_engine(summary: str, seconds: float) -> dict[str, Any]:
    """Return options of an activity on a host with a Docker engine, which may take ``seconds``. The host is given up
    after ``HOST_GONE`` without a worker.
    """
    return on_any_engine(summary, seconds) | {"schedule_to_start_timeout": HOST_GONE}


def on_any_engine(summary: str, seconds: float) -> dict[str, Any]:
    """Return the options of ``on_engine`` for the first host that takes the activity. The wait for a host is
    unlimited.
    """
    return _options(summary, _ENGINE, timedelta(seconds=seconds))


def terminal_agent(summary: str, seconds: float) -> dict[str, Any]:
    """Return options of an activity that waits for an agent in a terminal, which may work for ``seconds``."""
    return _options(
        summary,
        _PARTICIPANT,
        timedelta(seconds=seconds + 90),
        schedule_to_close_timeout=timedelta(seconds=2 * seconds + 600),
        schedule_to_start_timeout=HOST_GONE,
    )


def swept(summary: str) -> dict[str, Any]:
    """Return options of an activity that removes leftovers. If it fails, the next clean-up removes them."""
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
