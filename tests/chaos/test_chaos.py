"""A part of the table: each process is killed once, each at another moment. ``make chaos`` plays all of it."""

from collections.abc import Callable

import pytest

from tests.chaos.rehearsals import Outcome, Schedule, killed_at
from tests.chaos.services import Services
from tests.chaos.table import RECOVERY
from tests.work import only_nightly

DIAGONAL = [
    pytest.param("turn: during", "simulator", marks=only_nightly),
    ("quiet turn: settling", "worker"),
    pytest.param("settling", "worker", marks=only_nightly),
    pytest.param("quiet turn: moving on", "worker", marks=only_nightly),
    pytest.param("start message", "participant", marks=only_nightly),
    pytest.param("advancing", "gateway", marks=only_nightly),
    pytest.param("judging", "temporal", marks=only_nightly),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("phase", "process"), DIAGONAL)
async def test_killed_and_recovered(
    services: Services,
    reference: Outcome,
    phase: str,
    process: str,
    record_property: Callable[[str, object], None],
) -> None:
    recovery = await killed_at(services, phase, process, reference)
    record_property(RECOVERY, [phase, process, recovery.seconds, recovery.turn_tries, recovery.problem])
    assert not recovery.problem


def test_schedules_are_those_of_their_seeds() -> None:
    assert str(Schedule.drawn(3)) == str(Schedule.drawn(3))
    assert len({str(Schedule.drawn(seed)) for seed in range(200)}) == 200
