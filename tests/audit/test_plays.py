"""What the audit's plays decide is what a whole assessment decides: the same script, played both ways."""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from proctor.audit import players
from proctor.audit.plays import Stage, Turn
from proctor.rehearsal import rehearsing
from proctor_protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from scenarios.kit.making.days import Day, make_day
from tests.stack import SCENARIOS

DAYS = [("clear_the_day", 2, 3), ("invoice_fraud", 3, 5), ("delegate", 1, 4)]


def _script(player: Turn) -> Any:
    async def script(turn: int, ues: Any, now: datetime) -> None:
        await player(turn - 1, now, ues)

    return script


def _whole(day: Day, folder: Path, player: Turn) -> AssessmentResults:
    (folder / day.family).mkdir()
    for name, content in day.files().items():
        (folder / day.family / name).write_bytes(content)
    with rehearsing(folder) as rehearsal:
        return asyncio.run(rehearsal.play(day.family, _script(player)))


@pytest.mark.parametrize(("family", "difficulty", "seed"), DAYS)
def test_both_ways_give_the_same_points(tmp_path: Path, family: str, difficulty: int, seed: int) -> None:
    day = make_day(SCENARIOS / "families" / family, difficulty, seed)
    for number, player in enumerate((players.oracle(day), players.graded(day, 0.4, 1))):
        folder = tmp_path / str(number)
        folder.mkdir()
        quick = asyncio.run(Stage(day).play(player))
        whole = _whole(day, folder, player)
        assert {each.criterion_id: each.score for each in whole.criteria_results} == quick.points
        assert len(whole.action_log) == len(quick.log)


def test_the_user_answers_in_both(tmp_path: Path) -> None:
    day = make_day(SCENARIOS / "families" / "which_alex", 1, 1)
    oracle = players.oracle(day)
    heard: list[str] = []

    async def listening(number: int, now: datetime, client: AsyncUESClient) -> None:
        await oracle(number, now, client)
        if now == day.starts[-1]:
            chat = (await client.chat.get_state())["messages"]
            heard.append(" ".join(each["content"] for each in chat[1:] if each["role"] == "user"))

    assert asyncio.run(Stage(day).play(listening)).share == 1
    whole = _whole(day, tmp_path, listening)
    assert whole.scores.overall.score == whole.scores.overall.max_score
    assert heard[0] == heard[1]
    assert heard[0].startswith("I mean ")
