"""The rule-based agent for ``reschedule_day``, in a whole day, and its rules on words that stand in no scenario."""

from datetime import date, datetime, time
from zoneinfo import ZoneInfo

import pytest

from purple_sdk.examples.reschedule_agent import RescheduleAgent
from purple_sdk.examples.reschedule_agent.orders import read_orders
from purple_sdk.examples.reschedule_agent.times import find_offers
from purple_sdk.settings.config import PurpleAgentConfig
from tests.purple_sdk.played import PlayedAgent
from tests.scenarios.playing import Rehearsal

LISBON = ZoneInfo("Europe/Lisbon")
TUESDAY = date(2026, 9, 8)


async def test_it_clears_the_day_of_the_scenario(rehearsal: Rehearsal) -> None:
    results = await rehearsal.play("reschedule_day", PlayedAgent(RescheduleAgent(PurpleAgentConfig())))
    lost = {c.criterion_id: c.explanation for c in results.criteria_results if c.score < c.max_score}
    assert results.scores.overall.score == 84, lost


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Thursday 10 September, 14:30 would do.", ["10T14:30"]),
        ("thu 9.15 any good? Off by 2", ["10T09:15"]),
        ("I have rounds on Monday until 11:30. Friday at 10:00 or Friday at 11:00?", ["11T10:00", "11T11:00"]),
        ("No.\n> Wednesday 9 September at 10:00?", []),
        ("Tuesday at 16:00", ["15T16:00"]),
        ("Not on Friday, sorry.", []),
    ],
)
def test_offers_are_days_with_times(text: str, found: list[str]) -> None:
    expected = [datetime.fromisoformat(f"2026-09-{day}").replace(tzinfo=LISBON) for day in found]
    assert find_offers(text, TUESDAY, LISBON) == expected


def test_orders_are_read_from_the_user_s_words() -> None:
    orders = read_orders(
        "Hi! I'm away on Thursday 10 September. Please find new times on Friday 11 or Monday 14 September for\n"
        "- Budget with Rui Alves\n- Studio visit with Dr Mia Sand\n\n"
        "Rui only texts. Mia you reach by email.\n\nI work 8:30 to 16:00. On Monday I'm not free before 10:00. "
        "The book club goes ahead without me: decline it and tell Ana Reis. My train comes at 17:15.",
        TUESDAY,
    )
    assert orders is not None
    assert orders.cleared == date(2026, 9, 10)
    assert [(wish.title, wish.first_name, wish.surname, wish.channel) for wish in orders.moves] == [
        ("Budget", "Rui", "Alves", "sms"),
        ("Studio visit", "Mia", "Sand", "email"),
    ]
    assert orders.days == {
        date(2026, 9, 11): (time(8, 30), time(16)),
        date(2026, 9, 14): (time(10), time(16)),
    }
    assert (orders.declined, orders.informed, orders.ends) == ("book club", "Ana Reis", time(17, 15))


def test_other_orders_are_not_for_this_agent() -> None:
    assert read_orders("Please sort my mail.", TUESDAY) is None
