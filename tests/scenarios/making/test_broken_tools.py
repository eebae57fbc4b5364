"""The family that has noise of its own: its level is the scenario's, and a blind retry shows in the points."""

import asyncio

import pytest

from proctor.local.audit import players
from proctor.local.audit.conditions import carefully
from proctor.local.audit.plays import Stage, perform
from proctor.protocol.scenario import ScenarioConfig
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.duty import Act
from purple_sdk.ues import AsyncUESClient
from purple_sdk.ues.errors import ServerError
from tests.stack import SCENARIOS


def day_of(difficulty: int, seed: int = 1) -> Day:
    return make_day(SCENARIOS / "families" / "broken_tools", difficulty, seed)


@pytest.mark.parametrize(("difficulty", "noise"), [(1, 2), (4, 3)])
def test_the_noise_is_the_scenarios(difficulty: int, noise: int) -> None:
    assert ScenarioConfig.model_validate(day_of(difficulty).scenario()).noise == noise


def test_who_tries_again_without_looking_does_things_twice() -> None:
    async def blindly(act: Act, day: Day, client: AsyncUESClient, voice: int = 0) -> None:
        for _ in range(20):
            try:
                await perform(act, day, client, voice)
            except ServerError:
                pass
            else:
                return

    shares, careful = list[float](), list[float]()
    for seed in (2, 4):
        day = day_of(4, seed)
        stage = Stage(day)
        shares.append(asyncio.run(stage.play(players.oracle(day, do=blindly), noise=day.noise)).share)
        careful.append(asyncio.run(stage.play(players.oracle(day, do=carefully()), noise=day.noise)).share)
    assert careful == [1, 1]
    assert max(shares) < 1
