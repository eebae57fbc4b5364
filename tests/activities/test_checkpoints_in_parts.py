"""Checkpoints in parts between the simulator and the store: what is moved, what is kept, and what a loss leaves."""

import asyncio
import itertools
import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from proctor.activities.attempts.fencing import own_fence
from proctor.activities.scenario_code.evidence import JudgeRecord, read_record
from proctor.activities.scenario_code.initial_states import at_time
from proctor.activities.scenario_code.processes import ScenarioCode
from proctor.activities.simulation.hosts import PlannedEvent, Simulation, Step
from proctor.activities.simulation.keys import host_key
from proctor.activities.simulation.lifecycle import count_items
from proctor.activities.simulation.shared_host import SharedHost
from proctor.activities.simulation.shown import Shown, below
from proctor.activities.simulation.simulations import Simulations
from proctor.activities.simulation.states import load_states, snapshot
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobRef, BlobStore, StoreUnavailableError
from tests.activities.attempts import attempt
from tests.activities.scenario_code import LIMITS, bench_of, criterion_by, nobody
from tests.programs import serving
from tests.sentences import says
from tests.sizes.mailboxes import filled

SECRET = "s" * 32
START = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
SIZE = 4_500_000
"""Bytes of mail: more parts than come along with an answer, or go along with a claim."""


@pytest.fixture(scope="module")
def simulators() -> Iterator[list[str]]:
    key = host_key(SECRET)
    with (
        serving("proctor.ues", "--port", "0", UES_HOST_KEY=key) as (one, _),
        serving("proctor.ues", "--port", "0", UES_HOST_KEY=key) as (other, _),
    ):
        yield [one, other]


class CountingStore(BlobStore):
    """Counts what is put there, and may fail at it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self.folder = folder
        self.puts: list[int] = []
        self.gets: list[int] = []
        self.fails: Callable[[bytes], bool] = lambda content: False

    async def put(self, content: bytes) -> BlobRef:
        if self.fails(content):
            raise StoreUnavailableError("the worker dies here")
        self.puts.append(len(content))
        return await super().put(content)

    async def get(self, ref: BlobRef) -> bytes:
        self.gets.append(ref.size)
        return await super().get(ref)

    def file_of(self, name: str) -> Path:
        return self.folder / name[:2] / name[2:]

    def size(self) -> int:
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


MakeWorker = Callable[..., Simulations]


@pytest.fixture
async def worker(simulators: list[str], tmp_path: Path) -> AsyncIterator[MakeWorker]:
    """Makes a worker's side of simulations: ``worker(store, 1)`` at the second simulator."""
    async with AsyncExitStack() as stack:

        def make(store: BlobStore, which: int = 0) -> Simulations:
            http = httpx.AsyncClient(timeout=120)
            stack.push_async_callback(http.aclose)
            config = GreenAgentConfig(secret=SECRET, ues_url=simulators[which])
            return Simulations(SharedHost(config, http, store), store)

        yield make


_names = itertools.count(1)


def state(size: int = SIZE) -> dict[str, Any]:
    scenario: dict[str, Any] = {"metadata": {}, "environment": {"modality_states": {"email": {}}}, "events": {}}
    filled(size)(scenario)
    return at_time(scenario, START)


async def set_up(simulations: Simulations, size: int = SIZE) -> tuple[str, BlobRef]:
    name = f"large-{next(_names)}"

    async def make() -> BlobRef:
        simulation = await simulations.create(name, 7)
        await simulation.admin.scenario.import_full(state(size))
        await simulation.admin.simulation.start()
        return await simulations.keep(simulation, everything=True)

    return name, await attempt(make)


def mails(count: int, at: datetime) -> tuple[PlannedEvent, ...]:
    data = {"operation": "receive", "from_address": "ben@work.example", "to_addresses": ["ana@home.example"]}
    texts = [{"subject": f"News {number}", "body_text": "What I wanted to say. " * 20} for number in range(count)]
    return tuple(PlannedEvent(scheduled_time=at, modality="email", data={**data, **text}) for text in texts)


async def step(simulations: Simulations, name: str, checkpoint: BlobRef, minute: int, count: int = 3) -> BlobRef:
    to = START + timedelta(minutes=minute)
    _, reached = await attempt(lambda: simulations.step(name, checkpoint, Step(events=mails(count, to), to=to)))
    return reached


async def subjects(simulations: Simulations, name: str, checkpoint: BlobRef) -> list[str]:
    simulation: Simulation = await attempt(lambda: simulations.open_for_reading(name, checkpoint, own_fence()))
    emails = (await simulation.admin.email.get_state())["emails"].values()
    return [mail["subject"] for mail in emails]


def parts_of(store: BlobStore, checkpoint: BlobRef) -> list[str]:
    manifest = json.loads(store.get_blocking(checkpoint))
    return [name for part in manifest["parts"] for name, _ in part["pages"]]


async def test_a_turn_stores_what_it_changes_and_moves_nothing_else(worker: MakeWorker, tmp_path: Path) -> None:
    store = CountingStore(tmp_path)
    simulations = worker(store)
    name, checkpoint = await set_up(simulations)
    whole = store.size()
    assert whole > SIZE / 3
    store.puts.clear()
    store.gets.clear()
    for turn in range(1, 4):
        checkpoint = await step(simulations, name, checkpoint, turn)
    assert store.size() - whole < 3 * 24 * 1024
    assert sum(store.puts) < 3 * 128 * 1024
    assert store.gets == []
    again = await set_up(simulations)
    assert again[1] != checkpoint
    assert max(store.puts) < 256 * 1024, "another one of the same mails finds them there"


async def test_another_host_that_holds_nothing_or_something_takes_what_it_lacks(
    worker: MakeWorker, tmp_path: Path
) -> None:
    store = CountingStore(tmp_path)
    here, there = worker(store, 0), worker(store, 1)
    name, first = await set_up(here)
    later = await step(here, name, first, 1)
    store.gets.clear()
    expected = await subjects(here, name, later)
    assert store.gets == []
    assert await subjects(there, name, later) == expected
    assert sum(store.gets) > SIZE, "it held nothing"
    store.gets.clear()
    last = await step(here, name, later, 2)
    assert await subjects(there, name, last) == [*expected, "News 0", "News 1", "News 2"]
    assert sum(store.gets) < 256 * 1024, "it held all but what is new"
    store.gets.clear()
    assert len(await subjects(there, name, first)) == len(expected) - 3
    assert sum(store.gets) < 256 * 1024
    assert set(load_states(store.get_blocking(last), store)["email"]["emails"]) >= {"mail-0", "mail-5"}
    read = load_states(store.get_blocking(last), store)["email"]["emails"].values()
    assert [mail["subject"] for mail in read] == [*expected, "News 0", "News 1", "News 2"]


async def test_what_is_missing_or_damaged_is_named_and_back_when_it_is_back(worker: MakeWorker, tmp_path: Path) -> None:
    store = CountingStore(tmp_path)
    here, there = worker(store, 0), worker(store, 1)
    name, checkpoint = await set_up(here)
    expected = await subjects(here, name, checkpoint)
    part = parts_of(store, checkpoint)[-1]
    file = store.file_of(part)
    content = file.read_bytes()
    for damage, problem in ((None, BlobNotFoundError), (content[:20], BlobDamagedError)):
        file.unlink(missing_ok=True)
        if damage is not None:
            file.write_bytes(damage)
        with pytest.raises(problem, check=says(sha256=checkpoint.sha256, lacking=part)):
            await subjects(there, name, checkpoint)
        with pytest.raises(problem, match=part):
            load_states(store.get_blocking(checkpoint), store)
    await set_up(here)  # whoever has its content writes it anew
    assert file.read_bytes() == content
    assert await subjects(there, name, checkpoint) == expected


async def test_who_dies_between_parts_and_manifest_leaves_no_checkpoint(worker: MakeWorker, tmp_path: Path) -> None:
    store = CountingStore(tmp_path)
    here, there = worker(store, 0), worker(store, 1)
    name, first = await set_up(here)
    manifests = list_manifests(tmp_path)
    for dies_at_the_manifest in (False, True):
        store.fails = partial(_is_manifest_or_not, dies_at_the_manifest)
        with pytest.raises(StoreUnavailableError):
            await step(here, name, first, 60, count=60)
        assert list_manifests(tmp_path) == manifests
    store.fails = lambda content: False
    reached = await step(here, name, first, 60, count=60)
    assert len(list_manifests(tmp_path)) == len(manifests) + 1
    assert (await subjects(there, name, reached))[-60:] == [f"News {number}" for number in range(60)]


def _is_manifest_or_not(is_manifest: bool, content: bytes) -> bool:
    return content.startswith(b'{"format":') == is_manifest


def list_manifests(folder: Path) -> set[Path]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path for path in files if zlib.decompress(path.read_bytes()).startswith(b'{"format":')}


async def test_a_small_simulation_is_one_blob_and_one_request(worker: MakeWorker, tmp_path: Path) -> None:
    store = CountingStore(tmp_path)
    simulations = worker(store)
    name, checkpoint = await set_up(simulations, size=0)
    reached = await step(simulations, name, checkpoint, 1)
    assert len(store.puts) == 2
    assert parts_of(store, reached) == []
    simulation = await attempt(lambda: simulations.open_for_reading(name, reached, own_fence()))
    log = await simulation.admin.access_log.stats()
    assert log.total_requests == 3, "the import, the start, and one for the first checkpoint"


def in_order(states: dict[str, Any]) -> dict[str, str]:
    """Each state as text, so that the order of entries counts."""
    return {name: json.dumps(state) for name, state in states.items()}


COUNTS_MAILS = """
async def counts_mails(ctx, params):
    emails, before = (state["email"]["emails"] for state in (ctx.final_state, ctx.initial_state))
    new = [mail["subject"] for key, mail in emails.items() if key not in before]
    told = f"{len(before)} {len(emails)} {new} {len(ctx.final_state['email']['folders']['inbox'])}"
    return {"score": 1, "max_score": 4, "explanation": told}
"""


@pytest.mark.usefixtures("quick_fork_servers")
async def test_what_is_judged_shares_the_checkpoints_parts_and_evaluators_get_all_of_it(
    worker: MakeWorker, tmp_path: Path, write_scenario: Callable[..., Path]
) -> None:
    store = CountingStore(tmp_path / "store")
    simulations = worker(store)
    name, first = await set_up(simulations)

    async def show() -> tuple[Shown, dict[str, Any]]:
        simulation = await simulations.open_for_reading(name, first, own_fence())
        return await simulations.show(simulation, name, first), await snapshot(simulation.admin)

    initial, whole = await attempt(show)
    assert await asyncio.to_thread(count_items, initial, START) == count_items(Shown(whole), START)
    assert len(initial.written()) < 128 * 1024
    kept = Shown.read(store, initial.written())
    assert (kept.states, kept.listed) == (initial.states, initial.listed)
    before = store.size()
    to = START + timedelta(hours=1)
    last = Step(events=mails(3, to), to=to, shows_all=True)
    found, reached = await attempt(lambda: simulations.step(name, first, last))
    final = Shown.of(store, found)
    record = JudgeRecord(
        action_log=[],
        turn_notes={},
        initial_state=initial.states,
        final_state=final.states,
        parts=[*below(initial.listed, "initial_state"), *below(final.listed, "final_state")],
    )
    content = record.model_dump_json().encode()
    await store.put(content)
    assert store.size() - before < 64 * 1024
    read = read_record(store, content)
    assert in_order(read.initial_state) == in_order(whole)
    simulation = await attempt(lambda: simulations.open_for_reading(name, reached, own_fence()))
    assert in_order(read.final_state) == in_order(await snapshot(simulation.admin))

    async def fetch() -> bytes:
        return content

    directory = write_scenario(files={"evaluators.py": COUNTS_MAILS}) / "small"
    bench = replace(bench_of(directory), fetch=fetch, contents=store)
    code = ScenarioCode(LIMITS)
    try:
        verdict = await code.judge(bench, criterion_by("counts_mails"), nobody)
    finally:
        await code.aclose()
    count = SIZE // 10_000
    assert verdict.explanation == f"{count} {count + 3} ['News 0', 'News 1', 'News 2'] {count + 3}"
