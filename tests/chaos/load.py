"""Judging on a machine with far too much to do: no judgement is tried twice for that.

``python -m tests.chaos.load`` plays a turn of ``email_triage_basic``, has twenty loops that do nothing as fast as they
can run beside its judging, and prints how often each of its criteria was judged. The loops end with it, or after
``SECONDS``.
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from proctor.storage.temporal import connect
from tests.assessments.observers import running
from tests.assessments.scripts import idle
from tests.histories.reading import runs_of
from tests.programs import end, program, start
from tests.stack import Stack, running_stack, serving

LOOPS = 20
SECONDS = 60
SCENARIO = "email_triage_basic"


@contextmanager
def busy_machine() -> Iterator[None]:
    """Twenty processes that want a core each."""
    loop = "import time; over = time.monotonic() + {}\nwhile time.monotonic() < over: pass"
    loops = [start(program(loop.format(SECONDS))) for _ in range(LOOPS)]
    try:
        yield
    finally:
        for process in loops:
            end(process, signal.SIGKILL)


async def judge(stack: Stack) -> tuple[str, list[HistoryEvent]]:
    """How an assessment ended that was judged on a busy machine, and its history."""
    async with serving(idle) as url, running(stack, url, SCENARIO, max_turns=1) as assessment:
        await assessment.until("evaluation_started")
        with busy_machine():
            ended = await assessment.end()
    runs = await runs_of(await connect(stack.config), assessment.task_id)
    return ended.state, [event for run in runs for event in run.events]


def attempts_of_judgements(events: list[HistoryEvent]) -> list[int]:
    """Of each criterion that an ordinary activity judged, the attempt that gave the verdict."""
    judgements = {
        event.event_id
        for event in events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
        and event.activity_task_scheduled_event_attributes.activity_type.name == "judge_criterion"
    }
    return [
        event.activity_task_started_event_attributes.attempt
        for event in events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED
        and event.activity_task_started_event_attributes.scheduled_event_id in judgements
    ]


def main() -> None:
    """Print how many of the judgements took how many attempts."""
    with running_stack() as stack:
        before = os.getloadavg()[0]
        state, events = asyncio.run(judge(stack))
        load = f"load {before:.0f} before, {LOOPS} loops beside it"
    counted = sorted(Counter(attempts_of_judgements(events)).items())
    print(f"{state}; {load}: {', '.join(f'{count} at attempt {attempt}' for attempt, count in counted)}")


if __name__ == "__main__":
    main()
