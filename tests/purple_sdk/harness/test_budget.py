"""An assessment's budget in tokens and money: all tries count, also after a restart of the participant's server."""

from pathlib import Path
from typing import Any

import pytest

from purple_sdk.harness.budget import Budget
from purple_sdk.harness.counting import ModelAnswer, Question, read_question
from purple_sdk.harness.declared import HarnessError, Wire
from purple_sdk.harness.upstream import find_upstream
from purple_sdk.settings.config import HarnessConfig
from tests.purple_sdk.harness.playing import fake_agent, simulated, speaks
from tests.scripted_model import CACHED, INPUT, OUTPUT, ScriptedModel
from tests.sentences import says
from tests.work import only_nightly

PRICES = """
currency = "EUR"
[models."scripted-1"]
input = 1000
cached_input = 100
output = 2000
"""
COST = ((INPUT - CACHED) * 1000 + CACHED * 100 + OUTPUT * 2000) / 1_000_000
"""Of one answer of the scripted model: 1.01 EUR."""


@pytest.mark.parametrize(
    ("limit", "facts"),
    [
        pytest.param({"max_tokens": 4 * (INPUT + OUTPUT)}, ("4200", "--max-tokens"), marks=only_nightly),
        ({"max_cost": 4 * COST}, ("4.04 EUR", "--max-cost")),
    ],
)
async def test_turns_and_failed_tries_share_one_budget(
    limit: dict[str, Any], facts: tuple[str, str], tmp_path: Path
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    async with simulated() as day:
        with ScriptedModel({1: speaks("one"), 2: speaks("two", "three", "four")}) as model:
            agent = fake_agent(tmp_path, model.url, prices=str(prices), **limit)
            await day.greet(agent)
            day.begin(agent, 1)
            await agent.play_turn()
            day.begin(agent, 2)
            with pytest.raises(HarnessError, check=says(*facts)):
                await agent.play_turn()
            assert len(model.requests) == 4

            again = fake_agent(tmp_path, model.url, prices=str(prices), **limit)  # after a restart of its server
            await day.greet(again, resumes_turn=2)
            day.begin(again, 2, attempt=2)
            with pytest.raises(HarnessError, check=says(*facts)):
                await again.play_turn()
            assert len(model.requests) == 4


def test_the_tokens_of_all_tries_are_limited_together(tmp_path: Path) -> None:
    budget = Budget(HarnessConfig(model="scripted-1", max_tokens=100))
    budget.continue_from(tmp_path / "used.json")
    budget.count(ModelAnswer("scripted-1", input_tokens=50, output_tokens=1, most_output=10))
    assert budget.check() is None
    budget.begin_try()
    for tokens in (1, 59):  # one may be of the first try, whose relay is still being closed
        budget.count(ModelAnswer("scripted-1", input_tokens=tokens))
    assert says("120", "100").within(str(budget.check()))


@pytest.mark.parametrize(("url", "at_once"), [(None, 9), ("https://api.anthropic.com/v1", 9), ("http://other", 0)])
def test_the_longest_answer_of_a_request_is_believed_where_the_provider_keeps_it(url: str | None, at_once: int) -> None:
    """A thousand tokens a request: nine have room at once, or where the endpoint may write more, one alone."""
    budget = Budget(HarnessConfig(model="small", max_tokens=10_000))
    wire: Wire = "anthropic"
    upstream = find_upstream(wire, url, {"ANTHROPIC_API_KEY": "own"})
    asked = read_question(wire, {"max_tokens": 900}, "/v1/messages", 100, is_kept_to=upstream.keeps_limits)
    budget.reserve(asked)
    while budget.has_room_for(asked):
        budget.reserve(asked)
    assert len(budget._under_way) == max(1, at_once)


def test_an_answer_that_is_longer_than_it_could_be_is_expected_again() -> None:
    budget = Budget(HarnessConfig(model="small", max_tokens=10_000))
    asked = Question("anthropic", "small", 100, longest=900, is_kept_to=True)
    budget.reserve(asked)
    budget.settle(asked, ModelAnswer("small", input_tokens=100, output_tokens=5_000))
    budget.reserve(asked)
    assert not budget.has_room_for(asked)
    budget.settle(asked, None)
    assert budget.has_room_for(asked)


def test_writing_to_a_cache_is_reserved(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    budget = Budget(HarnessConfig(model="scripted-1", max_cost=5, prices=str(prices)))
    asked = Question("anthropic", "scripted-1", 1_000, longest=500, is_kept_to=True)  # 2 EUR and 1 EUR at most
    budget.reserve(asked)
    assert not budget.has_room_for(asked)


def test_money_is_only_limited_where_the_price_is_known(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    Budget(HarnessConfig(model="scripted-1", max_cost=1, prices=str(prices)))
    with pytest.raises(HarnessError, check=says("--max-cost", "other", "AGENTBEATS_PURPLE_PRICES")):
        Budget(HarnessConfig(model="other", max_cost=1, prices=str(prices)))
    with pytest.raises(HarnessError, check=says("missing.toml")):
        Budget(HarnessConfig(model="other", prices=str(tmp_path / "missing.toml")))
