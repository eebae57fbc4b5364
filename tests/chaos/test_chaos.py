"""A part of the table: each process is killed once, each at another moment. ``make chaos`` plays all of it."""

from collections.abc import Callable, Iterator

import pytest

from tests.chaos.rehearsals import Schedule, killed_at, undisturbed
from tests.chaos.services import Services, running_services
from tests.chaos.table import RECOVERY

DIAGONAL = [
    ("start message", "participant"),
    ("turn: during", "simulator"),
    ("apply", "worker"),
    ("advancing", "gateway"),
    ("judging", "temporal"),
]


@pytest.fixture
def services() -> Iterator[Services]:
    with running_services() as running:
        yield running


@pytest.mark.timeout(1200)  # one test, so that it starts the services once; half a minute on an idle machine
async def test_killed_and_recovered(services: Services, record_property: Callable[[str, object], None]) -> None:
    reference = await undisturbed(services)
    assert reference.results["actions_taken"] == 8  # good morning, three mails, two answers read and passed on
    problems = []
    for phase, process in DIAGONAL:
        recovery = await killed_at(services, phase, process, reference)
        record_property(RECOVERY, [phase, process, recovery.seconds, recovery.turn_tries, recovery.problem])
        if recovery.problem:
            problems.append(f"{process} killed at {phase}: {recovery.problem}")
    assert not problems


def test_schedules_are_those_of_their_seeds() -> None:
    assert str(Schedule.drawn(3)) == str(Schedule.drawn(3))
    assert len({str(Schedule.drawn(seed)) for seed in range(200)}) == 200
