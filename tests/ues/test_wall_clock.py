"""The machine's clock may be put back: nothing of a simulation goes back with it, or waits until it is there again.

In this process, since a server's clock can't be put back from outside.
"""

from datetime import UTC, datetime, timedelta

import pytest

from proctor.ues import claims, clock, holds, simulation
from proctor.ues.claims import Claim
from proctor.ues.host import Host
from proctor.ues.simulation import Simulation

ADMIN = "an-admin-key-of-32-characters-xx"


class Wall:
    """The machine's clock."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 12, tzinfo=UTC)

    def put_back(self, seconds: float) -> None:
        self.go_on(-seconds)

    def go_on(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    wall = Wall()
    for module in (clock, holds, simulation):
        monkeypatch.setattr(module, "wall_now", lambda: wall.now)
    return wall


@pytest.fixture
def running(wall: Wall) -> Simulation:
    made = Simulation("one", ADMIN, "7")
    made.start(auto_advance=True, time_scale=1.0)
    return made


def test_a_simulation_that_follows_the_clock_goes_on_at_once(running: Simulation, wall: Wall) -> None:
    began = running.clock.moment
    wall.go_on(10)
    running.catch_up()
    wall.put_back(3600)
    running.catch_up()
    assert running.clock.moment == began + timedelta(seconds=10)
    wall.go_on(5)
    running.catch_up()
    assert running.clock.moment == began + timedelta(seconds=15)


def test_so_does_one_that_was_held_before(running: Simulation, wall: Wall) -> None:
    began = running.clock.moment
    running.holds.acquire("a", "green", "thinking", 30)
    wall.go_on(31)
    running.catch_up()  # of the 31 seconds the hold has taken 30
    wall.put_back(3600)
    running.catch_up()
    wall.go_on(5)
    running.catch_up()
    assert running.clock.moment == began + timedelta(seconds=6)


def test_a_hold_lasts_no_longer_than_it_may(running: Simulation, wall: Wall) -> None:
    running.holds.acquire("a", "green", "thinking", 30)
    wall.put_back(3600)
    assert running.holds.list_active()
    wall.go_on(31)
    assert not running.holds.list_active()


def test_a_fence_never_goes_down(wall: Wall) -> None:
    host, digest = Host(), "d" * 64
    made = claims.claim(host, "one", Claim(fence=5, admin_key=ADMIN, anew=True, mark="turn 1"), b"")
    looking = Claim(fence=3, admin_key=ADMIN, checkpoint=digest, keep="turn 1", looks=True)
    made.checkpoints[False] = (digest, b"")
    wall.put_back(3600)
    assert claims.claim(host, "one", looking, b"").fence == 5
