"""The store fails while assessments run: what is told, and what it takes to go on.

``python -m tests.chaos.disk`` plays one assessment for each fault of docs/operations/storage.md and prints a table. It
mounts a file system of its own, so it has to run as root.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from proctor.client.caller import Accepted, AssessmentCall, Ended, Progress
from proctor.client.replay import choose, reset, reset_points
from proctor.protocol.updates import ErrorOccurredUpdate
from proctor.storage.temporal import connect
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from tests.assessments.packages import write_package
from tests.assessments.scripts import diligent
from tests.assessments.test_replay import follow
from tests.stack import Stack, request_json, running_stack, serving

_SIZE_MB = 8
_SLOW = """
import sys, time
sys.path.insert(0, {tree!r})
import fsspec
from fsspec.implementations.local import LocalFileSystem

class Slow(LocalFileSystem):
    protocol = "slow"
    def _slowly(name):
        def call(self, *args, **kwargs):
            time.sleep(2)
            return getattr(LocalFileSystem, name)(self, *args, **kwargs)
        return call
    modified, makedirs, pipe_file, cat_file = map(_slowly, ("modified", "makedirs", "pipe_file", "cat_file"))

fsspec.register_implementation("slow", Slow)
"""


class Disk:
    """A small file system with a store on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: dict[Path, bytes] = {}

    def fill(self) -> None:
        """Leave no room at all."""
        with (self.folder / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"x" * 4096)
            except OSError:
                return

    def empty(self) -> None:
        """Take back what filled it."""
        (self.folder / "filler").unlink()

    def remount(self, how: str) -> None:
        """``ro`` or ``rw``."""
        subprocess.run(["mount", "-o", f"remount,{how}", self.folder], check=True)

    def blobs(self) -> list[Path]:
        """All blobs."""
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def truncate(self) -> None:
        """Cut every blob in two."""
        self._kept = {path: path.read_bytes() for path in self.blobs()}
        for path, content in self._kept.items():
            path.write_bytes(content[: len(content) // 2])

    def lose(self) -> None:
        """Take every blob away."""
        self._kept = {path: path.read_bytes() for path in self.blobs()}
        for path in self._kept:
            path.unlink()

    def restore(self) -> None:
        """Put every blob back as it was."""
        for path, content in self._kept.items():
            path.write_bytes(content)


@contextmanager
def small_disk() -> Iterator[Disk]:
    """Mount a file system in memory."""
    with tempfile.TemporaryDirectory(prefix="proctor-disk-") as name:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SIZE_MB}m", "tmpfs", name], check=True)
        try:
            yield Disk(Path(name))
        finally:
            subprocess.run(["umount", "-l", name], check=True)


class Run:
    """One assessment, with a fault from its second turn on until it is told, or for some seconds."""

    def __init__(self, stack: Stack, fail: Callable[[], Any] | None, mend: Callable[[], Any] | None) -> None:
        self._stack, self._fail, self._mend = stack, fail, mend
        self.task_id = self.replayed = ""
        self.told: list[str] = []
        self.mended_at = self.ended_at = 0.0
        self.results: AssessmentResults | None = None
        self.ended: Ended | None = None

    async def play(self, hold: float = 12.0, then: Callable[["Run"], Awaitable[str]] | None = None) -> "Run":
        """Play; a fault that isn't told within ``hold`` seconds is mended without. ``then`` follows a failure."""
        mending: asyncio.Task[None] | None = None

        async def script(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
            nonlocal mending
            done = await diligent(turn, ues, now)
            if turn == 2 and self._fail and mending is None:
                self._fail()
                mending = asyncio.create_task(self._mend_when_told(hold))
            return done

        async with serving(script) as url, AssessmentCall(self._stack.gateway_url, request_json(url, "tiny")) as call:
            async for event in call.events():
                if isinstance(event, Progress) and isinstance(event.update, ErrorOccurredUpdate):
                    self.told.append(event.update.error_message)
                if isinstance(event, Accepted):
                    self.task_id = event.task_id
                if isinstance(event, Ended):
                    self.ended = event
            if then is not None and self.ended and self.ended.state != "completed":
                self.replayed = await then(self)
        self.ended_at = time.monotonic()
        if mending is not None:
            await mending
        if self.ended and self.ended.results:
            self.results = AssessmentResults.model_validate_json(self.ended.results)
        return self

    async def _mend_when_told(self, hold: float) -> None:
        give_up_at = time.monotonic() + hold
        while not self.told and time.monotonic() < give_up_at:
            await asyncio.sleep(0.05)
        await asyncio.sleep(1)
        if self._mend:
            self._mend()
        self.mended_at = time.monotonic()


def same(one: AssessmentResults | None, other: AssessmentResults | None) -> str:
    """Whether two assessments came to the same."""
    if one is None or other is None:
        return "no result"
    seen = [(r.scores, [(a.turn, a.action, a.parameters) for a in r.action_log], r.turn_tries) for r in (one, other)]
    return (
        "same result"
        if seen[0] == seen[1]
        else f"different: {seen[0][0].overall} {seen[1][0].overall} {one.turn_tries}"
    )


async def replayed(stack: Stack, run: Run, undisturbed: AssessmentResults | None) -> str:
    """Go on with an assessment that has failed from the step that it failed at, as ``proctor replay TASK`` does."""
    client, task_id = await connect(stack.config), run.task_id
    point = choose(await reset_points(client, task_id), None, from_judging=False)
    began = time.monotonic()
    await reset(client, task_id, point)
    ended = await follow(stack, task_id)
    results = AssessmentResults.model_validate_json(ended.results) if ended.results else None
    seconds = time.monotonic() - began
    return f"from {point.name}, {ended.state} after {seconds:.1f} s, {same(results, undisturbed)}; {ended.sentence}"


async def table(stack: Stack, disk: Disk) -> None:
    """Play all faults, one after the other."""
    undisturbed = (await Run(stack, None, None).play()).results

    def simulator() -> None:
        pid = stack.supervisor.find_pid("ues")
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    def both(one: Callable[[], Any]) -> Callable[[], None]:
        def fail() -> None:
            one()
            simulator()

        return fail

    faults: dict[str, tuple[Callable[[], Any], Callable[[], Any] | None]] = {
        "full": (disk.fill, disk.empty),
        "read-only": (lambda: disk.remount("ro"), lambda: disk.remount("rw")),
        "every blob truncated": (disk.truncate, None),
        "every blob missing": (disk.lose, None),
        "every blob truncated, simulator killed": (both(disk.truncate), disk.restore),
        "every blob missing, simulator killed": (both(disk.lose), disk.restore),
    }

    async def put_back(failed: Run) -> str:
        disk.restore()
        return await replayed(stack, failed, undisturbed)

    for name, (fail, mend) in faults.items():
        if sys.argv[1:] and sys.argv[1] not in name:
            continue
        run = await Run(stack, fail, mend).play(then=put_back)
        state = f"{run.ended.state}" if run.ended else "?"
        went_on = f"{run.ended_at - run.mended_at:.1f} s after it was mended" if mend else "nothing to do"
        print(
            f"| {name} | {' / '.join(run.told) or 'nothing'} | {state}, {went_on}, {same(run.results, undisturbed)} |",
            flush=True,
        )
        if state != "completed" and run.ended:
            print("    ", run.ended.sentence, flush=True)
        again = await Run(stack, None, None).play()
        if run.replayed:
            print(f"    its blobs put back, and `proctor replay TASK`: {run.replayed}", flush=True)
        print(
            f"    the next assessment: {same(again.results, undisturbed)}; {again.ended and again.ended.sentence}",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as scenarios, small_disk() as disk:
        write_package(Path(scenarios), "tiny")
        if sys.argv[1:] != ["slow"]:
            with running_stack(
                Path(scenarios), environment={"AGENTBEATS_GREEN_STORAGE_URL": f"file://{disk.folder}"}
            ) as stack:
                asyncio.run(table(stack, disk))
        if sys.argv[1:] not in ([], ["slow"]):
            return
        with tempfile.TemporaryDirectory() as site:
            Path(site, "sitecustomize.py").write_text(_SLOW.format(tree=os.getcwd()))
            slow: dict[str, str | None] = {"AGENTBEATS_GREEN_STORAGE_URL": f"slow://{disk.folder}", "PYTHONPATH": site}
            with running_stack(Path(scenarios), environment=slow) as stack:
                began = time.monotonic()
                run = asyncio.run(Run(stack, None, None).play())
                seconds = time.monotonic() - began
            told = " / ".join(run.told) or "nothing"
            print(f"| 2 s a call | {told} | {run.ended and run.ended.state}, {seconds:.0f} s |")


if __name__ == "__main__":
    main()
