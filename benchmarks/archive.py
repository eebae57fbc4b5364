"""The cost of an archive with many entries: ``python -m benchmarks.archive``.

It measures time, memory and requests of a write, of ``proctor list``, the overview page and a search, the first time
and after that. It does so for a local archive and for an S3 store (moto), each in its own process. The memory is the
peak of the whole process, with Python and its imports.

The entries are made without their other files, as an evaluator would leave them; ``--earlier`` leaves out the index, as
an earlier version of proctor did. Requests to S3 are counted by the server, those to a local folder by file operations.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, cast

from proctor.protocol.archive import ENTRY, ArchiveEntry
from proctor.storage.archive import Archive
from proctor.storage.blobs import blob_ref
from proctor.storage.day_index import DayIndex
from proctor.storage.folder import Folder

A_NIGHT = 100_000
_AGENTS, _SCENARIOS = 12, 25
_WITH_FILES = 100_000
"""Up to this number of entries, a local archive has the ``entry.json`` of each. A larger one has only the index."""

_OPERATIONS = (
    *("write", "write_first", "write_once", "read", "read_all"),
    *("names", "versions", "exists", "remove", "sizes"),
)


def entries(count: int) -> Iterator[ArchiveEntry]:
    """Yield entries of nights with 100,000 each, up to today. Nine of ten belong to campaigns of 1,000 entries."""
    last = datetime.now(UTC) - timedelta(hours=1)
    for number in range(count):
        began = last - timedelta(days=number // A_NIGHT, seconds=(number % A_NIGHT) * 28_800 / A_NIGHT)
        scenario, agent = f"scenario-{number % _SCENARIOS}", f"agent-{number // 7 % _AGENTS}"
        of_campaign = number % 10 != 0
        yield ArchiveEntry(
            id=str(uuid.UUID(int=(number * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128)),
            fence=1_790_000_000_000_000 + number,
            run_id=str(uuid.uuid4()),
            campaign=f"campaign-{number // 1_000}" if of_campaign else None,
            status="failed" if number % 50 == 0 else "completed",
            scenario_id=scenario,
            scenario_name=f"The scenario number {number % _SCENARIOS}",
            role=agent,
            participant=f"The assistant of {agent}",
            participant_url=f"http://{agent}.agents.example:8001",
            seed=number % 40,
            score=number % 21,
            max_score=20,
            total_points=20,
            turns_taken=8,
            seconds=120.5 + number % 60,
            cost=0.5,
            currency="USD",
            judges=["gpt-4o"],
            started_at=began,
            ended_at=began + timedelta(seconds=180),
            files={name: blob_ref(name.encode()) for name in ("result.json", "updates.jsonl", "turns.jsonl")},
        )


def fill(url: str, count: int, *, is_earlier: bool) -> None:
    """Make an archive of ``count`` entries, without flushing each to the disk."""
    folder, index = Folder(url, "archive"), DayIndex(Folder(url, "archive"))
    is_local = "://" not in url

    def written() -> Iterator[tuple[ArchiveEntry, str]]:
        for entry in entries(count):
            at = f"{entry.started_at:%Y-%m-%d}/{entry.id}.{entry.fence}"
            content = entry.model_dump_json(indent=1).encode()
            if is_local:
                os.makedirs(f"{url}/{at}")
                if count <= _WITH_FILES:
                    Path(f"{url}/{at}/{ENTRY}").write_bytes(content)
            else:
                folder.write(f"{at}/{ENTRY}", content)
            yield entry, at

    if is_earlier:
        for _ in written():
            pass
    else:
        folder.write("index/complete.json", b'{"format": 1, "earlier": false}')
        index.write_all(written())


def measure(what: str, url: str, table: str) -> dict[str, Any]:
    counted: Counter[str] = Counter()
    for name in _OPERATIONS:
        _count(name, counted)
    work = _WORK[what](url, table)
    counted.clear()
    began, used = time.perf_counter(), time.process_time()
    work()
    status = Path("/proc/self/status").read_text().splitlines()  # getrusage includes the parent's peak
    (peak,) = [line for line in status if line.startswith("VmHWM:")]
    return {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - used,
        "megabytes": int(peak.split()[1]) / 1000,
        "operations": dict(counted),
    }


def _count(name: str, counted: Counter[str]) -> None:
    before = getattr(Folder, name)

    def counting(self: Folder, *arguments: Any, **named: Any) -> Any:
        counted[name] += len(arguments[0]) if name == "read_all" else 1
        return before(self, *arguments, **named)

    setattr(Folder, name, counting)


def _note(kinds: Counter[str], request: str) -> None:
    is_listing = request.startswith("GET") and ("prefix=" in request or "list-type" in request)
    kinds["LIST" if is_listing else request.partition(" ")[0]] += 1


def _write(url: str, table: str) -> Callable[[], object]:
    archive = Archive(url, table)

    def write() -> None:
        now = datetime.now(UTC)
        new = next(entries(1)).model_copy(
            update={"id": str(uuid.uuid4()), "fence": time.time_ns() // 1000, "started_at": now, "ended_at": now}
        )
        files = {name: os.urandom(8_000) for name in ("result.json", "updates.jsonl", "turns.jsonl", "states.jsonl")}
        archive.write(new, files, {"scenario": b"scenario" * 1_000, "initial_state": b"state" * 4_000})

    write()  # a worker's first write also checks that the index is complete
    return write


def _list(url: str, table: str) -> Callable[[], object]:
    from proctor.cli import entries as printing
    from proctor.storage.entry_table import EntryQuery

    printing._running = lambda config: []  # Temporal has its own time

    def list_entries() -> None:
        with redirect_stdout(StringIO()):
            printing.print_entries(Archive(url, table), cast("Any", None), EntryQuery(), 50, "")

    return list_entries


def _page(**params: str) -> Callable[[str, str], Callable[[], object]]:
    def opened(url: str, table: str) -> Callable[[], object]:
        from proctor.viewer.overviews import Overview
        from proctor.viewer.pages import Pages

        pages = Pages(Archive(url, table))
        return lambda: pages.overview([], Overview.of(params))

    return opened


_WORK: dict[str, Callable[[str, str], Callable[[], object]]] = {
    "write": _write,
    "list": _list,
    "overview": _page(),
    "search": _page(search="agent-7 scenario-3 failed"),
    "search by id": _page(search="abcde"),
    "overview, all": _page(all="1"),
    "its page 1,000": _page(all="1", page="1000"),
    "by cost": _page(all="1", sort="cost"),
    "by score": _page(all="1", sort="share", up="1"),
    "by agent": _page(all="1", sort="agent"),
    "one agent": _page(agent="The assistant of agent-7", exact="1"),
    "one seed, by cost": _page(seed="7", sort="cost"),
    "failed, cost from": _page(status="failed", cost="0.5"),
}


def _steps() -> Iterator[tuple[str, str]]:
    yield "write", "write"
    yield "list, first time", "list"
    for name in _WORK:
        if name != "write":
            yield name, name
    yield "write, again", "write"
    yield "list after writes", "list"


def run(count: int, url: str, *, is_earlier: bool, requests: Counter[str] | None) -> None:
    began = time.perf_counter()
    fill(url, count, is_earlier=is_earlier)
    print(f"\n{count:,} entries at {url.partition('://')[0] if '://' in url else 'a folder'}", end="")
    print(f"{', of an earlier version' if is_earlier else ''} (made in {time.perf_counter() - began:.0f} s)")
    with tempfile.TemporaryDirectory() as state:
        table = f"{state}/table.sqlite"
        for label, what in _steps():
            if requests is not None:
                requests.clear()
            command = [sys.executable, "-m", "benchmarks.archive", "--measure", what, url, table]
            taken = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            operations = dict(requests) if requests is not None else taken["operations"]
            size = os.path.getsize(table) / 1e6 if os.path.exists(table) else 0
            print(
                f"{label:20} {taken['seconds']:8.3f} s {taken['processor']:8.3f} s CPU {taken['megabytes']:6.0f} MB  "
                f"table {size:5.0f} MB  {operations}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, nargs="*", default=[1_000, 100_000])
    parser.add_argument("--s3", action="store_true")
    parser.add_argument("--earlier", action="store_true")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure)))
        return
    for count in arguments.entries:
        if arguments.s3:
            from tests import object_stores

            with object_stores.s3() as server:
                os.environ.update(server.environment)
                kinds: Counter[str] = Counter()
                server.fail = partial(_note, kinds)
                url = f"s3://{object_stores.BUCKET}/archive"
                run(count, url, is_earlier=arguments.earlier, requests=kinds)
        else:
            with tempfile.TemporaryDirectory() as place:
                run(count, f"{place}/archive", is_earlier=arguments.earlier, requests=None)


if __name__ == "__main__":
    main()
