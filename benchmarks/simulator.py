"""How fast the simulator is: ``python -m benchmarks.simulator`` prints one JSON line, and its progress to stderr.

Everything is measured from outside: the server runs in a process of its own, and the time is that which one client on
one kept-alive connection waits, its own work included. Figures are medians in milliseconds; ``idle_mb`` is the server's
memory for each of many idle simulations, ``busy_200_errors`` counts failures while 200 simulations are busy at once.
Before each query and checkpoint the mailbox is changed, so that none is answered from memory.
"""

import asyncio
import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import psutil

HOST_KEY = "host-key-of-the-benchmark"
START = datetime.fromisoformat("2025-01-06T09:00:00+00:00")

IDLE, BUSY = 100, 200
"""How many simulations stand idle, and how many are busy at once."""


class Client:
    """One kept-alive connection to one simulation, or to the host."""

    def __init__(self, base_url: str, secret: str) -> None:
        address = urlsplit(base_url)
        self.host, self.port, self.prefix = str(address.hostname), int(address.port or 80), address.path
        self.secret = secret
        self._connection = http.client.HTTPConnection(self.host, self.port, timeout=60)

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        """The body of an answer. Raises RuntimeError when it isn't a success."""
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"X-API-Key": self.secret, "Content-Type": "application/json"}
        self._connection.request(method, self.prefix + path, content, headers)
        answer = self._connection.getresponse()
        read = answer.read()
        if not 200 <= answer.status < 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {read[:500]!r}")
        return read

    def get(self, path: str) -> bytes:
        return self.ask("GET", path)

    def post(self, path: str, body: Any = None) -> bytes:
        return self.ask("POST", path, body)

    def close(self) -> None:
        self._connection.close()


@contextmanager
def running_server() -> Iterator[tuple[str, int]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "ues_sim", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "UES_HOST_KEY": HOST_KEY},
    )
    try:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "listening on" in line)
        yield line.rsplit(" ", 1)[1].strip(), process.pid
    finally:
        process.terminate()
        process.wait(timeout=10)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def median_ms(times: int, act: Callable[[int], object], prepare: Callable[[int], object] | None = None) -> float:
    """The median time of ``act``; ``prepare`` runs before each, unmeasured."""
    took = []
    for number in range(times):
        if prepare is not None:
            prepare(number)
        began = time.perf_counter()
        act(number)
        took.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(took), 3)


def new_simulation(host: Client) -> Client:
    made = json.loads(host.post("/simulations", {"seed": "benchmark"}))
    sim = Client(made["base_url"], made["admin_key"])
    sim.post("/simulation/clear", {"reset_time_to": START.isoformat()})
    return sim


def email(number: int) -> dict[str, Any]:
    """A mail as ``/email/receive`` takes it, about a kilobyte."""
    return {
        "from_address": f"sender{number % 97}@example.com",
        "to_addresses": ["user@example.com"],
        "subject": f"Subject {number}",
        "body_text": f"Text {number}. " + "Some more words. " * 50,
    }


def fill(sim: Client, count: int) -> None:
    """Let a simulation have ``count`` emails and nothing else."""
    emails = {
        f"m{number}": {
            **email(number),
            "message_id": f"m{number}",
            "thread_id": f"t{number}",
            "sent_at": (START - timedelta(minutes=number)).isoformat(),
            "received_at": (START - timedelta(minutes=number)).isoformat(),
        }
        for number in range(count)
    }
    environment = {"time_state": {"current_time": START.isoformat()}, "modality_states": {"email": {"emails": emails}}}
    sim.post("/scenario/import/full", {"scenario": {"environment": environment}})


def star(sim: Client, number: int) -> None:
    sim.post("/email/star" if number % 2 == 0 else "/email/unstar", {"message_ids": ["m0"]})


def measure_new_simulations(host: Client, pid: int) -> dict[str, float]:
    process = psutil.Process(pid)
    new_simulation(host).get("/simulator/time")
    before = process.memory_info().rss
    took = median_ms(IDLE, lambda _: host.post("/simulations", {}))
    grown = process.memory_info().rss - before
    return {"new_simulation_ms": took, "idle_mb": round(grown / IDLE / 2**20, 3)}


def measure_requests(host: Client) -> dict[str, float]:
    sim = new_simulation(host)
    figures = {"time_ms": median_ms(2000, lambda _: sim.get("/simulator/time"))}
    figures["receive_ms"] = median_ms(1000, lambda number: sim.post("/email/receive", email(number)))
    say("one mailbox of 10,000 and one of 200 ...")
    fill(sim, 10_000)
    query = {"limit": 50, "sort_by": "received_at", "sort_order": "desc"}
    figures["query_10k_ms"] = median_ms(
        200, lambda number: sim.post("/email/query", {**query, "offset": number}), lambda number: star(sim, number)
    )
    fill(sim, 200)
    figures["state_200_ms"] = median_ms(200, lambda _: sim.get("/email/state"), lambda number: star(sim, number))
    return figures


def measure_advance(host: Client) -> dict[str, float]:
    sim = new_simulation(host)
    sim.post("/simulation/start", {})

    def schedule(round_: int) -> None:
        start = START + timedelta(hours=round_)
        events = [
            {
                "scheduled_time": (start + timedelta(seconds=number)).isoformat(),
                "modality": "email",
                "data": {"operation": "receive", **email(number)},
            }
            for number in range(1000)
        ]
        sim.post("/events/batch", {"events": events})

    def advance(_: int) -> None:
        answer = json.loads(sim.post("/simulator/time/advance", {"seconds": 3600}))
        if answer["events_executed"] != 1000:
            raise RuntimeError(f"{answer['events_executed']} of 1000 events ran")

    return {"advance_1000_ms": median_ms(7, advance, schedule)}


def measure_checkpoints(host: Client) -> dict[str, float]:
    sim = new_simulation(host)
    fill(sim, 1000)
    taken: list[bytes] = []
    took = median_ms(30, lambda _: taken.append(sim.get("/simulation/checkpoint")), lambda number: star(sim, number))
    restored = median_ms(
        30, lambda number: sim.post("/simulation/restore", taken[number]), lambda number: star(sim, number)
    )
    return {"checkpoint_1000_ms": took, "restore_1000_ms": restored}


# --- 200 at once ------------------------------------------------------------------------------------------------------


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sim: Client, step: Any) -> bool:
    """One request on an open connection; whether it was a success."""
    method, path, body = step
    content = b"" if body is None else json.dumps(body).encode()
    writer.write(
        f"{method} {sim.prefix}{path} HTTP/1.1\r\nHost: {sim.host}:{sim.port}\r\nX-API-Key: {sim.secret}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        + content
    )
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    await reader.readexactly(length)
    return head[9:10] == b"2"


BUSY_DAY: list[tuple[str, str, Any]] = [
    ("GET", "/simulator/time", None),
    ("POST", "/email/receive", email(1)),
    ("POST", "/email/query", {"limit": 10}),
    ("GET", "/email/state", None),
    ("POST", "/chat/send", {"role": "user", "content": "Hello"}),
    (
        "POST",
        "/events/immediate",
        {"modality": "chat", "data": {"operation": "send_message", "role": "user", "content": "x"}},
    ),
    ("POST", "/simulator/time/advance", {"seconds": 60}),
    ("GET", "/simulation/checkpoint", None),
    ("POST", "/simulation/undo", {}),
    ("GET", "/environment/state?compact=true", None),
]


async def _busy(sim: Client) -> int:
    """How many requests of a few busy days failed."""
    failed = 0
    try:
        reader, writer = await asyncio.open_connection(sim.host, sim.port, limit=2**26)
        try:
            for _ in range(5):
                for step in BUSY_DAY:
                    failed += not await asyncio.wait_for(_ask(reader, writer, sim, step), 60)
        finally:
            writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        say(f"a busy client failed: {error!r}")
        failed += 1
    return failed


def measure_busy(host: Client) -> dict[str, float]:
    sims = [new_simulation(host) for _ in range(BUSY)]
    for sim in sims:
        sim.post("/simulation/start", {})
        sim.close()

    async def all_at_once() -> int:
        return sum(await asyncio.gather(*(_busy(sim) for sim in sims)))

    return {"busy_200_errors": asyncio.run(all_at_once())}


def measure() -> dict[str, float]:
    with running_server() as (url, pid):
        host = Client(url, HOST_KEY)
        parts: list[tuple[str, Callable[[], dict[str, float]]]] = [
            ("new simulations ...", lambda: measure_new_simulations(host, pid)),
            ("single requests ...", lambda: measure_requests(host)),
            ("advancing over 1,000 events ...", lambda: measure_advance(host)),
            ("checkpoints of 1,000 emails ...", lambda: measure_checkpoints(host)),
            (f"{BUSY} simulations at once ...", lambda: measure_busy(host)),
        ]
        figures: dict[str, float] = {}
        for title, part in parts:
            say(title)
            figures |= part()
        host.close()
    return figures


if __name__ == "__main__":
    print(json.dumps(measure()))
