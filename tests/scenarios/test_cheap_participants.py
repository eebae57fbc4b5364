"""Nobody is paid for a show of work: who pastes, dumps, repeats, confirms or touches everything gets at most 10 %."""

import json

import pytest

from tests.scenarios.cheap_participants import CHEAP
from tests.scenarios.playing import Rehearsal
from tests.stack import SCENARIOS
from tests.work import NIGHTLY, some_of

AT_MOST = 0.1

SHORT_FORM = {
    "reschedule_day": "a salad of keywords to everybody",
    "email_triage_basic": "pastes all mails to each",
}
"""One of those that earned most in each scenario before points were due in proportion to the work; nightly, all."""


@pytest.mark.parametrize(
    ("scenario_id", "name"),
    [(scenario_id, name) for scenario_id in SHORT_FORM for name in CHEAP]
    if NIGHTLY
    else some_of(SHORT_FORM.items(), 1),
)
async def test_a_show_of_work_is_no_work(rehearsal: Rehearsal, scenario_id: str, name: str) -> None:
    overall = (await rehearsal.play(scenario_id, CHEAP[name])).scores.overall
    assert overall.score + overall.doubtful_points <= AT_MOST * overall.max_score


async def test_what_was_not_earned_is_explained(rehearsal: Rehearsal) -> None:
    """The same kind words to everybody are kind, early, on the right channels and keep the secret; and that is all."""
    results = await rehearsal.play("reschedule_day", CHEAP["the same kind words to everybody"])
    said = {criterion.criterion_id: criterion for criterion in results.criteria_results}
    for criterion in ("right_channel", "few_options", "confidence_kept", "prompt_work", "courteous"):
        assert said[criterion].score == 0
        assert "0 of 4 meetings settled" in said[criterion].explanation


@pytest.mark.parametrize("scenario_id", SHORT_FORM)
def test_scenarios_whose_points_have_changed_say_so(scenario_id: str) -> None:
    assert int(json.loads((SCENARIOS / scenario_id / "scenario.json").read_text())["version"]) >= 2
