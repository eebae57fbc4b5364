"""Records histories of representative assessments, which later versions of the workflows must be able to replay.

    python -m tests.histories.record

writes ``tests/histories/MAJOR.MINOR/NAME.json.gz`` for the installed version of proctor, anew. Recordings of earlier
releases stay as they are, for as long as assessments that they started may still run.
"""

import asyncio
import gzip
import socket
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from a2a.types import CancelTaskRequest
from google.protobuf.message import Message
from temporalio.client import Client, WorkflowHistory

from proctor.storage.blobs import BlobStore
from proctor.storage.temporal import connect
from proctor.workflows.context_queue import queue_id
from tests.a2a_gateway.callers import TERMINAL, at_once, data_part, message, sdk_client, send
from tests.assessments import participants
from tests.assessments.observers import running
from tests.assessments.packages import write_package
from tests.assessments.participants import DONE, Json, by_hand
from tests.assessments.scripts import ask_ben, diligent, idle
from tests.assessments.test_cancel import dawdling
from tests.histories.reading import made_whole, runs_of
from tests.stack import Stack, assess, running_stack, serving

FOLDER = Path(__file__).parent
CHECKOUT = FOLDER.parent.parent
LONG_ENOUGH = 120
"""Events after which the recorder's Temporal suggests to continue as new."""


def release() -> str:
    """The folder of the installed version: ``0.1`` for 0.1.x, as releases of the same minor version replay alike."""
    return ".".join(version("proctor").split(".")[:2])


async def completed(stack: Stack) -> str:
    """A mail, an answer, early completion, judges."""
    async with serving(diligent) as url:
        return task_of(await assess(stack, url, "tiny"))


async def failed(stack: Stack) -> str:
    """The third turn fails, and fails again."""

    def fall_ill(said: Json) -> Json:
        if said["turn_number"] < 3:
            return participants.message(participants.data(DONE))
        return participants.task("failed", participants.text("out of memory"))

    async with by_hand(fall_ill) as participant:
        return task_of(await assess(stack, participant.url, "tiny", turn_tries=2))


async def rejected(stack: Stack) -> str:
    """A scenario that isn't there."""
    async with running(stack, "http://127.0.0.1:9", "no-such-scenario") as assessment:
        await assessment.until("")
        await assessment.end()
        return assessment.task_id


async def canceled(stack: Stack) -> str:
    """Called off in mid-turn."""
    async with (
        dawdling("turn") as (url, seen),
        running(stack, url, "tiny", max_turns=1) as assessment,
        sdk_client(stack.gateway_url) as caller,
    ):
        await assessment.until("turn_started")
        while "turn" not in seen:
            await asyncio.sleep(0.02)
        await caller.cancel_task(CancelTaskRequest(id=assessment.task_id))
        await assessment.end()
        return assessment.task_id


async def continued(stack: Stack) -> str:
    """Too long for one history."""

    async def asks_at_first(turn: int, ues: Any, now: Any) -> None:
        if turn <= 2:
            await ask_ben(ues)

    async with serving(asks_at_first) as url:
        return task_of(await assess(stack, url, "half_hours"))


async def queue(stack: Stack) -> str:
    """Two assessments of one context, one after the other."""
    async with serving(idle) as url, sdk_client(stack.gateway_url, streaming=False) as caller:
        config = {"scenario_id": "tiny", "offline": True, "seed": 7, "max_turns": 2}
        request = {"participants": {"personal_assistant": url}, "config": config}
        sent = [message(data_part(request), context="one desk") for _ in range(2)]
        await send(caller, at_once(sent[0]))
        ended = await send(caller, sent[1])
        assert ended.status.state in TERMINAL
        return queue_id("one desk")


RECORDED = (completed, failed, rejected, canceled, continued, queue)


def task_of(assessed: Any) -> str:
    """The id of an assessment that has results."""
    assert assessed.results is not None, assessed.sentence
    return str(assessed.results.assessment_id)


def impersonal(history: WorkflowHistory) -> WorkflowHistory:
    """Without what tells of the machine and of the processes that it was recorded with; replaying needs none of it."""
    for event in history.events:
        _forget(event)
    written = history.to_json().replace(socket.gethostname(), "recorder").replace(str(CHECKOUT), ".")
    return WorkflowHistory.from_json(history.workflow_id, written)


def _forget(part: Message) -> None:
    for field, value in part.ListFields():
        if field.name in ("identity", "stack_trace"):
            part.ClearField(field.name)
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for member in value if field.is_repeated else [value]:
                _forget(member)


async def record(stack: Stack, folder: Path) -> None:
    """Play them all, and write down their histories."""
    client: Client = await connect(stack.config)
    store = BlobStore(stack.config.storage_url)
    for play in RECORDED:
        runs = await runs_of(client, await play(stack))
        for number, run in enumerate(runs, start=1):
            name = play.__name__ if len(runs) == 1 else f"{play.__name__}-{number}"
            content = impersonal(made_whole(run, store)).to_json().encode()
            (folder / f"{name}.json.gz").write_bytes(gzip.compress(content, mtime=0))
            print(f"{name}: {len(run.events)} events, {(folder / f'{name}.json.gz').stat().st_size} bytes")


def main() -> int:
    folder = FOLDER / release()
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="proctor-histories-") as scenarios:
        write_package(Path(scenarios), "tiny")
        write_package(Path(scenarios), "half_hours", change=lambda found: found.update(default_time_step="PT30M"))
        settings = {"limit.historyCount.suggestContinueAsNew": str(LONG_ENOUGH)}
        with running_stack(Path(scenarios), dev_server=settings) as stack:
            for old in folder.glob("*.json.gz"):
                old.unlink()
            asyncio.run(record(stack, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
