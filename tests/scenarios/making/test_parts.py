"""Values that are told in parts: each part has to be said of its own matter."""

import asyncio

from proctor.local.audit import players
from proctor.local.audit.plays import Stage
from proctor.scenarios.kit.making.days import make_day
from tests.stack import SCENARIOS


def test_what_is_said_of_another_matter_completes_nothing() -> None:
    day = make_day(SCENARIOS / "families" / "quiet_day", 4, 112)  # two of its documents expire on one day
    lapse = next(duty for duty in day.duties if duty.key == "document-1").lapse("stale value 1")
    outcome = asyncio.run(Stage(day).play(players.with_lapses(day, {"document-1": lapse})))

    assert [check for check, holds in outcome.held.items() if not holds] == ["document-1.told"]
