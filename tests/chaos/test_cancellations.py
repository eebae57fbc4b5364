"""A part of the table of cancellations; ``python -m tests.chaos --cancel`` plays all of it."""

from collections.abc import Callable, Iterator
from dataclasses import astuple

import pytest

from tests.chaos.cancellations import CANCELLATION, SOON, Way, canceled_at
from tests.chaos.stage import Stage, running_stage

PLAYED: list[tuple[str, Way]] = [
    ("turn: during", "A2A"),
    ("advancing", "Temporal"),
    ("set-up goes on for a while", "A2A"),
    ("simulator hangs, in a turn", "Ctrl-C"),
]


@pytest.fixture
def stage() -> Iterator[Stage]:
    with running_stage() as running:
        yield running


@pytest.mark.timeout(200)  # one test, so that it needs one stage; some 20 s on an idle machine
async def test_nothing_is_left_after_five_seconds(stage: Stage, record_property: Callable[[str, object], None]) -> None:
    problems = []
    for name, way in PLAYED:
        found = await canceled_at(stage, name, way)
        record_property(CANCELLATION, [name, way, *astuple(found)])
        if found.problem or found.longest > SOON:
            problems.append(f"{name}, by {way}: {found}")
    assert not problems
