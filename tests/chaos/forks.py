"""``python -m tests.chaos.forks``: forks of a day at each of its turns, three times each, while workers are killed.

The original's files have to stay byte for byte as they are, and the blobs of its checkpoints; no inherited turn may be
played, by the participant's own log, and no action may count twice: each fork has to come to the original's result,
since seed and participant are the same. Then the same with a participant that decides everything in one turn,
now this way and now that way: that turn has to be found.
"""

import argparse
import asyncio
import hashlib
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.protocol.runs import RunCell, RunResults
from proctor.storage.archive import Archive
from purple_sdk.protocol.results import AssessmentResults
from tests.assessments.packages import write_package
from tests.assessments.scripts import BEN, ask_ben
from tests.chaos.campaigns import play
from tests.stack import Stack, assess, running_stack, serving

DECISION = 5
"""The turn in which ``Undecided`` decides, in a day that is long enough."""


@dataclass
class Diligent:
    """Asks Ben in turn 2, passes his answers on, and writes to him now and then; ``log`` has (simulation, turn)."""

    log: list[tuple[str, int]] = field(default_factory=list)

    async def __call__(self, turn: int, ues: Any, now: Any) -> None:
        self.log.append((simulation_of(ues), turn))
        if turn == 2:
            await ask_ben(ues)
        if turn % 4 == 0:
            await ues.email.send(to_addresses=[BEN], subject=f"Turn {turn}", body_text="Is lunch still fine?")
        await tell_answers(ues)


@dataclass
class Undecided(Diligent):
    """Asks Ben in turn ``decision``, or never: every other time, of the forks that began with the same turn."""

    decision: int = DECISION
    times: Counter[int] = field(default_factory=Counter)
    asks: dict[str, bool] = field(default_factory=dict)

    async def __call__(self, turn: int, ues: Any, now: Any) -> None:
        simulation = simulation_of(ues)
        self.log.append((simulation, turn))
        if turn == self.decision:
            first = next(played for where, played in self.log if where == simulation)
            if simulation not in self.asks:  # a turn may have to begin anew after a kill
                self.times[first] += 1
                self.asks[simulation] = self.times[first] % 2 == 1
            if self.asks[simulation]:
                await ask_ben(ues)
        await tell_answers(ues)


def simulation_of(ues: Any) -> str:
    """The id of the simulation that a participant's client is for."""
    return str(ues.base_url).rstrip("/").rpartition("/")[2]


async def tell_answers(ues: Any) -> None:
    """Pass on what Ben has answered, once each."""
    told = {str(message["content"]) for message in (await ues.chat.query())["messages"]}
    for mail in (await ues.email.query())["emails"]:
        if mail["from_address"] == BEN and (text := f"Ben says: {mail['body_text']}") not in told:
            told.add(text)
            await ues.chat.send(role="assistant", content=text)


def turns_in(log: list[tuple[str, int]], simulation: str) -> list[int]:
    """The turns that were played in a simulation; one that had to begin anew after a kill (docs/FENCES.md) is one."""
    return sorted({turn for where, turn in log if where == simulation})


def files_of(stack: Stack, task_id: str) -> dict[str, str]:
    """Every file of an archived assessment, and every checkpoint of it, with the hash of its bytes."""
    archive = Archive(stack.config.archive_url)
    entry = archive.get(task_id)
    assert entry is not None
    store = Path(stack.config.storage_url)
    (folder,) = Path(stack.config.archive_url).glob(f"*/{task_id}.*")
    paths = [*folder.iterdir()]
    for record in archive.state_records(entry):
        assert record.checkpoint is not None
        paths.append(store / record.checkpoint.sha256[:2] / record.checkpoint.sha256[2:])
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)}


def outcome(results: AssessmentResults) -> dict[str, Any]:
    """What an equal seed and an equal participant have to make equal."""
    own = {"assessment_id", "participant", "duration_seconds", "provenance", "forked_from", "participant_usage"}
    return results.model_dump(mode="json", exclude=own)


class Kills:
    """Kills the worker again and again, each time that so many turns more have begun: soon or late in one of them."""

    def __init__(self, stack: Stack, every: int) -> None:
        self.count = 0
        self._stack = stack
        self._every = every

    @asynccontextmanager
    async def going_on(self, log: list[tuple[str, int]]) -> AsyncIterator[None]:
        """Until the end of the block; ``log`` is the participant's."""
        killing = asyncio.create_task(self._kill(log))
        try:
            yield
        finally:
            killing.cancel()
            await asyncio.gather(killing, return_exceptions=True)

    async def _kill(self, log: list[tuple[str, int]]) -> None:
        begun = len(log)
        while True:
            await asyncio.sleep(0.02)
            if len(log) < begun + self._every:
                continue
            begun = len(log)
            await asyncio.sleep(0.1 * (self.count % 5))
            if pid := self._stack.supervisor.find_pid("worker"):
                os.kill(pid, signal.SIGKILL)
                self.count += 1


async def fork_everywhere(
    stack: Stack,
    task_id: str,
    url: str,
    kills: Kills,
    log: list[tuple[str, int]],
    turns: list[int] | str,
    repeats: int,
    at_once: int,
) -> RunResults:
    """All forks, while workers are killed."""
    async with kills.going_on(log):
        return await play(
            stack, {"same": url}, fork_of=task_id, from_turns=turns, repeats=repeats, at_once=at_once, turn_timeout=300
        )


def problems_of(
    stack: Stack, original: AssessmentResults, forks: RunResults, log: list[tuple[str, int]], expected: int
) -> list[str]:
    """What is wrong with forks that should all come to the original's result."""
    archive, found = Archive(stack.config.archive_url), []
    if len(forks.cells) != expected:
        found.append(f"{len(forks.cells)} forks, not {expected}")
    for cell in forks.cells:
        name = f"from turn {cell.from_turn}, repeat {cell.repeat}"
        entry = archive.get(cell.task_id)
        if entry is None or cell.status != "completed" or cell.plays != 1:
            found.append(f"{name}: {cell.status}, played {cell.plays} times: {cell.failure}")
            continue
        played = turns_in(log, cell.task_id)
        own = list(range(cell.from_turn or 1, original.turns_taken + 1))
        if played != own:
            found.append(f"{name}: the participant has played {played}, not {own}")
        results = archive.results(entry)
        if outcome(results) != outcome(original):
            found.append(f"{name}: another result, {entry.score_text}/{entry.max_score}")
        origin = results.forked_from
        if origin is None or (origin.task_id, origin.turn) != (original.assessment_id, cell.from_turn):
            found.append(f"{name}: it says that it comes from {origin}")
    return found


def print_table(forks: RunResults, log: list[tuple[str, int]]) -> None:
    """Forks by turn."""
    by_turn: dict[int, list[RunCell]] = {}
    for cell in forks.cells:
        by_turn.setdefault(cell.from_turn or 0, []).append(cell)
    print(f"{len(log) - len(set(log))} turns had to begin anew after a kill")
    print("from turn  forks  turns played  points")
    for turn, cells in sorted(by_turn.items()):
        turns = sorted({len(turns_in(log, cell.task_id)) for cell in cells})
        points = sorted({f"{cell.score}/{cell.max_score}" for cell in cells})
        print(f"{turn:>9}  {len(cells):>5}  {', '.join(map(str, turns)):>12}  {', '.join(points)}")


async def disturbed(repeats: int, at_once: int, every: int, day: int) -> list[str]:
    """Play it all, days of so many turns; what was wrong."""
    with tempfile.TemporaryDirectory(prefix="proctor-forks-") as folder:
        write_package(Path(folder), "tiny")
        with running_stack(Path(folder)) as stack:
            participant, kills = Diligent(), Kills(stack, every)
            async with serving(participant) as url:
                original = (await assess(stack, url, "tiny", max_turns=day)).results
                assert original is not None
                before, began = files_of(stack, original.assessment_id), time.monotonic()
                participant.log.clear()
                forks = await fork_everywhere(
                    stack, original.assessment_id, url, kills, participant.log, "every", repeats, at_once
                )
            print(f"{len(forks.cells)} forks in {time.monotonic() - began:.0f} s, worker killed {kills.count} times")
            print_table(forks, participant.log)
            problems = problems_of(stack, original, forks, participant.log, repeats * original.turns_taken)
            if files_of(stack, original.assessment_id) != before:
                problems.append("files of the original are not as they were")
            else:
                print(f"the original: {len(before)} files as they were")
            if not kills.count:
                problems.append("nothing was killed")
            problems += await undecided(stack, kills, repeats, at_once, day)
    return problems


async def undecided(stack: Stack, kills: Kills, repeats: int, at_once: int, day: int) -> list[str]:
    """Fork somebody who decides in one turn; what was wrong."""
    decision = min(DECISION, day - 1)
    participant = Undecided(decision=decision)
    async with serving(participant) as url:
        original = (await assess(stack, url, "tiny", max_turns=day)).results
        assert original is not None
        turns = sorted({1, decision - 1, decision, decision + 1, day} - {0})
        forks = await fork_everywhere(
            stack, original.assessment_id, url, kills, participant.log, turns, repeats, at_once
        )
    print_table(forks, participant.log)
    (spread,) = forks.forks
    for turn in spread.turns:
        decided = "" if turn.decided is None else f"  decided {turn.decided:.0%}"
        print(f"from turn {turn.turn}: {turn.forks} forks, mean {turn.mean:.1f}, variance {turn.variance:.1f}{decided}")
    print(f"decided in turn {spread.deciding}")
    return [] if spread.deciding == decision else [f"turn {spread.deciding} decided, not {decision}"]


def main() -> int:
    """Read the command line and play."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.forks", description="Fork a day while workers die.")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=6)
    parser.add_argument("--turns", type=int, default=12, help="of a day; 3 at least")
    parser.add_argument("--kill-every", type=int, default=6, metavar="TURNS")
    chosen = parser.parse_args()
    problems = asyncio.run(disturbed(chosen.repeats, chosen.at_once, chosen.kill_every, chosen.turns))
    for problem in problems:
        print(f"WRONG: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
