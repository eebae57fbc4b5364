"""All criteria of an assessment share the evidence, which a provider's cache serves to all but the first."""

import pytest

from tests.calibrate import judge_assessments
from tests.judge_tokens import DAYS, judged, nothing_bears_on_it
from tests.openai_endpoint import OpenAIEndpoint
from tests.work import only_nightly


@only_nightly  # by default: what test_model_judge.py says of the evidence that criteria share
@pytest.mark.parametrize("scenario_id", DAYS)
async def test_judging_all_criteria_bills_little_more_than_judging_one(scenario_id: str) -> None:
    found = await judged(scenario_id, with_texts=False)
    assert found.by_model.uncached <= 1.3 * found.one.uncached
    assert found.by_model.uncached_before == found.by_model.all >= found.by_model.uncached
    assert found.one.all > 10_000  # it is the whole evidence that is read


@only_nightly
async def test_a_model_judges_a_whole_assessment_as_make_calibrate_does(capsys: pytest.CaptureFixture[str]) -> None:
    """``python -m tests.calibrate --assessments``, with a scripted endpoint in the small model's place."""
    with OpenAIEndpoint() as endpoint:
        endpoint.answer("Now judge this criterion", nothing_bears_on_it)
        settings = {"evaluation_model": "openai/scripted", "evaluation_base_url": endpoint.base_url}
        assert await judge_assessments(["reschedule_day"], settings, seconds=3600) == 0
        calls = endpoint.calls
    told = capsys.readouterr()
    assert len(told.err.splitlines()) == calls
    lines = told.out.splitlines()
    assert lines[0] == "reschedule_day, the ideal participant's day, judged by openai/scripted"
    assert lines[1].startswith("  courteous  ")
    assert lines[-1].startswith("  all of these ")
    assert f"{calls} calls, tokens: " in lines[-1]
    assert len(lines) == 2 + 13
