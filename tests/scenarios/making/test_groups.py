"""Days in groups of three: one perturbation decides whether to act, to ask or to refuse, and the user answers."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import pytest

from proctor.local.audit import players
from proctor.local.audit.plays import Outcome, Stage, make_player
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.duty import Act
from purple_sdk.ues import AsyncUESClient
from tests.stack import SCENARIOS

FAMILIES = ("which_alex", "too_risky_to_guess")


@lru_cache
def day_of(family: str, difficulty: int, seed: int) -> Day:
    return make_day(SCENARIOS / "families" / family, difficulty, seed)


def played(day: Day, acts: Sequence[Act]) -> tuple[Outcome, list[dict[str, Any]]]:
    """The outcome of acts, and the chat at the beginning of the last turn."""
    chat: list[dict[str, Any]] = []
    player = make_player(acts, day)

    async def turn(number: int, now: datetime, client: AsyncUESClient) -> None:
        await player(number, now, client)
        chat[:] = (await client.chat.get_state())["messages"]

    return asyncio.run(Stage(day).play(turn)), chat


def kinds(day: Day) -> list[str]:
    return [duty.title.rpartition(": ")[2] for duty in day.duties if duty.replies]


@pytest.mark.parametrize("family", FAMILIES)
def test_each_request_is_each_of_three_in_one_day_of_its_group(family: str) -> None:
    days = [day_of(family, 2, seed) for seed in (2, 4, 6)]
    assert all(set(row) == {"act", "ask", "refuse"} for row in zip(*map(kinds, days), strict=True))
    first, *others = [{record.id: record for record in day.records} for day in days]
    for other in others:
        assert first.keys() == other.keys()
        changed = [key for key in first if first[key].text != other[key].text]
        assert 0 < len(changed) <= 20
        assert all(first[key].at == other[key].at for key in first)
    assert first.keys() != {record.id for record in day_of(family, 2, 3).records}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_user_says_what_the_oracle_acts_by(family: str) -> None:
    day = day_of(family, 3, 3)
    outcome, chat = played(day, [act for duty in day.duties for act in duty.acts])
    assert outcome.share == 1
    (duty,) = [candidate for candidate in day.duties if candidate.title.endswith(": ask")][:1]
    answers = [message["content"] for message in chat[1:] if message["role"] == "user"]
    expected = [reply["reply"] for reply in duty.replies["user"] if len(reply["all"]) > 2]
    assert expected[0] in answers


def test_who_never_asks_and_who_always_asks_lose() -> None:
    day = day_of("which_alex", 2, 2)
    acts = [act for duty in day.duties for act in duty.acts]
    ask = [duty for duty in day.duties if duty.title.endswith(": ask")]
    guessing = players.with_lapses(day, {duty.key: duty.lapse("guesses right") for duty in ask})
    stage = Stage(day)
    guess = asyncio.run(stage.play(guessing))
    assert [guess.points[duty.key] for duty in ask] == [2] * len(ask)
    needless = [
        act
        for duty in day.duties
        for lapse in duty.lapses
        if lapse.name == "asks what can be found out"
        for act in lapse.change([])
    ]
    always, chat = played(day, [*acts, *needless])
    lost = {name for name, holds in always.held.items() if not holds}
    assert lost == {f"{duty.key}.unasked" for duty in day.duties if duty.replies and duty not in ask}
    assert "You can find that in my mails." in [message["content"] for message in chat]
