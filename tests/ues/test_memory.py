"""Simulations that have ended give their memory back."""

import time

import psutil
import pytest

from proctor.ues.memory import _find_trim
from tests.ues.helpers import Server, at

SIMULATIONS, MAILS = 5, 150
WAIT_SECONDS = 60


@pytest.mark.skipif(_find_trim() is None, reason="this libc gives back what it can by itself, or nothing")
def test_ended_simulations_give_their_memory_back() -> None:
    server = Server()
    process = psutil.Process(server.process.pid)

    def megabytes() -> float:
        return float(process.memory_info().rss / 2**20)

    server.new_simulation().delete_me()
    before = megabytes()
    data = {
        "operation": "receive",
        "from_address": "a@b.c",
        "to_addresses": ["u@x"],
        "subject": "s",
        "body_text": "w " * 700,
    }
    event = {"modality": "email", "scheduled_time": at(1), "data": data}
    sims = []
    for _ in range(SIMULATIONS):
        sim = server.new_simulation()
        sim.ok("POST", "/events/batch", {"events": [event] * MAILS})
        sim.advance(2)
        sim.get("/simulation/checkpoint")
        sims.append(sim)
    grown = megabytes() - before
    for sim in sims:
        sim.delete_me()
    give_up = time.monotonic() + WAIT_SECONDS
    while megabytes() - before > grown / 2 and time.monotonic() < give_up:
        time.sleep(0.2)
    left = megabytes() - before
    server.stop()
    assert left <= grown / 2, f"{grown:.0f} MB were used, and {left:.0f} of them are still held"
