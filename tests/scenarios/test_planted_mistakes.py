"""A planted mistake lowers its own criterion and no other, whatever the seed.

The mistakes stand in ``test_email_triage_basic`` and ``reschedule_day_mistakes``, where many are made on one day. Here
each that concerns one criterion is made alone, by night, over ten seeds.
"""

import pytest

from purple_sdk.protocol.results import AssessmentResults
from tests.scenarios.playing import Rehearsal
from tests.scenarios.reschedule_day_mistakes import MISTAKES as RESCHEDULING
from tests.scenarios.reschedule_day_scripts import IDEAL as IDEAL_DAY
from tests.scenarios.reschedule_day_scripts import changed, script
from tests.scenarios.test_email_triage_basic import MISTAKES as TRIAGE
from tests.scenarios.triage_participant import IDEAL as IDEAL_PLAN
from tests.stack import Script
from tests.work import NIGHTLY, only_nightly

PLANTED: dict[str, dict[str, tuple[Script, str]]] = {
    "email_triage_basic": {
        name: (mistake.change(IDEAL_PLAN), next(iter(mistake.lowers)))
        for name, mistake in TRIAGE.items()
        if len(mistake.lowers) == 1
    },
    "reschedule_day": {
        name: (script(changed(IDEAL_DAY, *mistake.changes)), next(iter(mistake.costs)))
        for name, mistake in RESCHEDULING.items()
        if len(mistake.costs) == 1
    },
}
"""Scenario to mistakes by name: the ideal participant with that mistake, and the criterion that it concerns."""

IDEAL: dict[str, Script] = {"email_triage_basic": IDEAL_PLAN, "reschedule_day": script(IDEAL_DAY)}
SEEDS = range(10)
CASES = [(scenario_id, name, seed) for scenario_id, planted in PLANTED.items() for name in planted for seed in SEEDS]


def lowered(results: AssessmentResults) -> set[str]:
    return {c.criterion_id for c in results.criteria_results if c.score < c.max_score}


@pytest.mark.parametrize("scenario_id", PLANTED)
def test_there_are_at_least_25(scenario_id: str) -> None:
    assert len(PLANTED[scenario_id]) >= 25


@only_nightly
@pytest.mark.parametrize(("scenario_id", "name", "seed"), CASES if NIGHTLY else CASES[:1])
async def test_it_lowers_its_own_criterion(rehearsal: Rehearsal, scenario_id: str, name: str, seed: int) -> None:
    mistaken, concerns = PLANTED[scenario_id][name]
    assert lowered(await rehearsal.play(scenario_id, mistaken, seed=seed)) == {concerns}


@only_nightly
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario_id", IDEAL)
async def test_without_mistakes_nothing_is_lowered(rehearsal: Rehearsal, scenario_id: str, seed: int) -> None:
    assert lowered(await rehearsal.play(scenario_id, IDEAL[scenario_id], seed=seed)) == set()
