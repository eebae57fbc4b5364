"""Nights: the last turn of a day ends in the morning, with one advance and one checkpoint."""

from datetime import timedelta

from a2a.client import Client as Caller
from temporalio.client import Client

from proctor.protocol.nights import Night
from proctor.settings.config import GreenAgentConfig
from tests.workflows.asking import played
from tests.workflows.scripted import MORNING
from tests.workflows.test_story import TURN, scripted, story


async def test_a_night_is_one_advance(caller: Caller, client: Client, config: GreenAgentConfig) -> None:
    evening, morning = MORNING + timedelta(hours=2), MORNING + timedelta(hours=24)
    night, end = Night(start=evening, end=morning), morning + timedelta(hours=1)
    async with scripted(client, config, nights=[night], end_time=end, max_turns=9) as activities:
        over = await played(caller, context="a desk with a night")
    assert over.state == "completed"
    reached = [given.to for given in activities.inputs["advance"]]
    assert reached == [MORNING + timedelta(hours=1), morning, end]
    completed = [update for update in over.updates if update["message_type"] == "update_turn_completed"]
    assert [update["time_advanced"] for update in completed] == ["PT1H", "PT23H", "PT1H"]
    assert story(activities) == ["set_up", "greet", *TURN, *TURN, *TURN, "conclude", "judge_criterion"]
