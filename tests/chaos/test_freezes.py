"""Nobody from the past acts: a worker that was stopped and goes on later, and runs that were reset at work.

A part of it; ``python -m tests.chaos --freeze`` plays every placement and every reset.
"""

from collections.abc import Iterator

import pytest

from tests.chaos.freezes import RESET, placements, reset_at, stopped_at
from tests.chaos.rehearsals import undisturbed
from tests.chaos.stage import Stage, running_stage

STOPPED_AND_GOES_ON = [
    ("turn, before its claim", "in the turn"),
    ("apply, before", "in the next turn"),
    ("advance, after", "when all is over"),
]
RESET_WHILE = ["turn, under way", "advance, before", "finishing, before"]


@pytest.fixture
def stage() -> Iterator[Stage]:
    with running_stage() as running:
        yield running


@pytest.mark.timeout(400)  # one test, so that it needs one stage; a minute on an idle machine
async def test_what_comes_from_the_past_changes_nothing(stage: Stage) -> None:
    reference = await undisturbed(stage)
    assert reference.results["actions_taken"] == 8
    problems = []
    for at, until in STOPPED_AND_GOES_ON:
        thaw = await stopped_at(stage, at, until, reference)
        problems += [f"stopped {at}, goes on {until}: {thaw.problem}"] if thaw.problem else []
    for at in RESET_WHILE:
        thaw = await reset_at(stage, at, RESET[at], reference)
        problems += [f"reset {at}: {thaw.problem}"] if thaw.problem else []
    assert not problems


def test_every_placement_lies_later_in_the_story() -> None:
    found = placements()
    assert len(found) == len(set(found)) == 70
    assert set(STOPPED_AND_GOES_ON) <= set(found)
