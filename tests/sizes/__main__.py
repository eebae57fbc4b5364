"""The long form: hundreds of turns and a great mailbox, each to its end, with the sizes that they come to in Temporal.

python -m tests.sizes [300-turns] [1000-turns] [50-MB]
"""

import asyncio
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from proctor.storage.temporal import connect
from purple_sdk.ues import AsyncUESClient
from tests.assessments.packages import edited, write_package
from tests.assessments.scripts import ask_ben
from tests.histories.reading import runs_of
from tests.sizes.following import Size, follow, size_of, turns_in
from tests.sizes.mailboxes import filled
from tests.stack import Script, Stack, running_stack, serving

MEGABYTE = 1_000_000

PATIENT: dict[str, str | None] = {"AGENTBEATS_GREEN_EVALUATOR_TIMEOUT": "300"}
"""Settings for a machine that has other things to do, too: to load fifty megabytes takes some seconds of processor."""


async def writes_now_and_then(turn: int, ues: AsyncUESClient, now: datetime) -> None:
    """Asks Ben in every tenth turn, and reads what is unread in every turn."""
    if turn % 10 == 1:
        await ask_ben(ues)
    unread = await ues.email.query(is_read=False)
    if mails := [mail["message_id"] for mail in unread["emails"]]:
        await ues.email.read(message_ids=mails)


@dataclass(frozen=True)
class Case:
    """One long assessment: how its scenario differs from the tiny one, and what its participant does."""

    name: str
    turns: int
    mailbox: int = 0
    script: Script = writes_now_and_then
    worker_at_most: int | None = None
    """Bytes of memory that a worker may hold by itself."""
    stored_at_most: int | None = None
    """Bytes that the store may hold: the mailbox is in the scenario's frozen files, and in the checkpoints' parts."""

    def write(self, directory: Path) -> None:
        """Write its scenario."""
        step = int(12 * 3600 / self.turns)

        def change(scenario: dict[str, Any]) -> None:
            scenario.update(default_time_step=f"PT{step}S")

        files = {"initial_state.json": edited("initial_state.json", filled(self.mailbox))} if self.mailbox else {}
        write_package(directory, self.name, change=change, files=files)


CASES = (
    Case("300-turns", 300),
    Case("1000-turns", 1000),
    Case("50-MB", 4, mailbox=50 * MEGABYTE, worker_at_most=250 * MEGABYTE, stored_at_most=60 * MEGABYTE),
)


async def play(stack: Stack, case: Case) -> bool:
    """Play one, print what it came to; whether all is as it should be."""
    began = time.monotonic()
    async with serving(case.script) as url:
        followed = await follow(stack, url, case.name, max_turns=case.turns)
    took = time.monotonic() - began
    runs = await runs_of(await connect(stack.config), followed.task_id)
    sizes = [size_of(run) for run in runs]
    largest = Size(*(max(getattr(size, part) for size in sizes) for part in Size.__dataclass_fields__))
    results = followed.results
    complaints = []
    if followed.state != "completed" or results is None:
        complaints.append(f"it {followed.state}: {followed.sentence}")
    else:
        writes = [entry.turn for entry in results.action_log if entry.action == "email.send"]
        if results.turns_taken != case.turns or turns_in(runs) != case.turns:
            complaints.append(f"{results.turns_taken} turns, {turns_in(runs)} scheduled")
        if writes != list(range(1, case.turns + 1, 10)):
            complaints.append(f"mails were sent in turns {writes}")
        if results.action_report.unreported or results.action_report.never_happened:
            complaints.append("the action report differs from the action log")
    if case.worker_at_most is not None and peak(stack, "worker") > case.worker_at_most:
        complaints.append(f"the worker alone took {peak(stack, 'worker') / MEGABYTE:.0f} MB")
    if case.stored_at_most is not None and size_on_disk(stack, "storage") > case.stored_at_most:
        complaints.append(f"the store holds {size_on_disk(stack, 'storage') / MEGABYTE:.0f} MB")
    if followed.sequences != list(range(len(followed.sequences))):
        complaints.append("updates are missing or told twice")
    print(
        f"{case.name:10}  {took:6.1f} s  {len(runs)} runs  {len(followed.sequences)} updates  largest history: "
        f"{largest.events} events, {largest.size / MEGABYTE:.2f} MB  largest payload: {largest.largest_payload} bytes "
        f"inline, {largest.largest_reference / MEGABYTE:.2f} MB by reference  {memory(stack)}"
    )
    for complaint in complaints:
        print(f"{case.name:10}  WRONG: {complaint}")
    return not complaints


def memory(stack: Stack) -> str:
    """What the services hold in memory, each with all that it has started, and held at most themselves."""
    held = []
    for name in ("temporal", "ues", "worker", "gateway"):
        if (pid := stack.supervisor.find_pid(name)) is None:
            held.append(f"{name} is away")
            continue
        process = psutil.Process(pid)
        now = sum(member.memory_info().rss for member in (process, *process.children(recursive=True)))
        held.append(f"{name} {now / MEGABYTE:.0f} MB (alone at most {peak(stack, name) / MEGABYTE:.0f})")
    on_disk = ", ".join(f"{name} {size_on_disk(stack, name) / MEGABYTE:.1f} MB" for name in ("storage", "archive"))
    return f"memory: {', '.join(held)}; on disk: {on_disk}, all {size_on_disk(stack) / MEGABYTE:.0f} MB"


def size_on_disk(stack: Stack, name: str = "") -> int:
    """Bytes of a state folder, or of a folder in it."""
    return sum(file.stat().st_size for file in (stack.local.state / name).rglob("*") if file.is_file())


def peak(stack: Stack, name: str) -> int:
    """The most memory that a service has held by itself."""
    status = Path(f"/proc/{stack.supervisor.find_pid(name)}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


async def play_all(stack: Stack, cases: list[Case]) -> bool:
    return all([await play(stack, case) for case in cases])


def main(names: list[str]) -> int:
    cases = [case for case in CASES if not names or case.name in names]
    with tempfile.TemporaryDirectory(prefix="proctor-sizes-") as folder:
        for case in cases:
            case.write(Path(folder))
        with running_stack(Path(folder), is_durable=True, environment=PATIENT) as stack:
            return 0 if asyncio.run(play_all(stack, cases)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
