"""What the audit's plays decide is what a whole assessment decides: the same script, played both ways."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from proctor.local.audit import players
from proctor.local.audit.conditions import carefully
from proctor.local.audit.dry import skipped_by_lapses
from proctor.local.audit.expected import expected_share
from proctor.local.audit.plays import Perform, Stage, Turn, perform
from proctor.local.rehearsal import Rehearsal, rehearsing
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.duty import Act
from purple_sdk.protocol.results import ActionLogEntryWithTurn, AssessmentResults
from purple_sdk.ues import AsyncUESClient
from purple_sdk.ues.errors import ServerError
from tests.stack import SCENARIOS
from tests.work import NIGHTLY, some_of

DAYS = [
    *(("expense_report", 3, 5), ("promises", 4, 6)),  # attached files; nights and forecasts
    *(("clear_the_day", 2, 3), ("invoice_fraud", 3, 5), ("delegate", 1, 4)),
]

Whole = Callable[..., AssessmentResults]


def _script(player: Turn) -> Any:
    async def script(turn: int, ues: Any, now: datetime) -> None:
        await player(turn - 1, now, ues)

    return script


def test_the_end_of_a_rehearsal_waits_for_no_play(tmp_path: Path) -> None:
    ended = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with rehearsing(tmp_path) as rehearsal:
        play = rehearsal.run(endless())
    assert ended
    assert play.cancelled()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder whose scenarios the rehearsal plays."""
    return tmp_path_factory.mktemp("days")


@pytest.fixture(scope="module")
def rehearsal(folder: Path) -> Iterator[Rehearsal]:
    with rehearsing(folder) as rehearsal:
        yield rehearsal


@pytest.fixture
def whole(folder: Path, rehearsal: Rehearsal) -> Whole:
    """Plays a day in all its parts but Temporal."""

    def play(day: Day, player: Turn, **conditions: Any) -> AssessmentResults:
        place = folder / f"{day.family}_{day.difficulty}_{day.seed}"
        place.mkdir(exist_ok=True)
        for name, content in day.files().items():
            (place / name).write_bytes(content)
        return asyncio.run(rehearsal.play(place.name, _script(player), seed=day.seed, **conditions))

    return play


@pytest.mark.parametrize(("family", "difficulty", "seed"), some_of(DAYS, 1))
def test_both_ways_give_the_same_points(whole: Whole, family: str, difficulty: int, seed: int) -> None:
    day = make_day(SCENARIOS / "families" / family, difficulty, seed)
    for player in (players.oracle(day), players.graded(day, 0.4, 1)):
        quick = asyncio.run(Stage(day).play(player))
        played = whole(day, player)
        assert {result.criterion_id: result.score for result in played.criteria_results} == quick.points
        assert len(played.action_log) == len(quick.log)


def test_under_a_clock_and_noise_both_ways_give_the_same_log(whole: Whole) -> None:
    day = make_day(SCENARIOS / "families" / "deadline_desk", 3, 23)
    conditions: Any = {"clock": "fixed:5", "noise": 3}
    quick = asyncio.run(Stage(day).play(players.oracle(day, do=carefully()), **conditions))
    played = whole(day, players.oracle(day, do=carefully()), **conditions)
    assert _what(played.action_log) == _what(quick.log)
    assert {result.criterion_id: result.score for result in played.criteria_results} == quick.points
    assert quick.share == 1
    assert any(entry.timestamp not in day.starts for entry in quick.log), "requests cost time"
    standing = asyncio.run(Stage(day).play(players.oracle(day)))
    assert len(standing.log) == len(quick.log), "nothing was done twice"


async def _carelessly(act: Act, day: Day, client: AsyncUESClient, voice: int = 0) -> None:
    with suppress(ServerError):
        await perform(act, day, client, voice)


async def _blindly(act: Act, day: Day, client: AsyncUESClient, voice: int = 0) -> None:
    for _ in range(20):
        with suppress(ServerError):
            return await perform(act, day, client, voice)
    raise AssertionError("nothing succeeds")


@pytest.mark.parametrize(
    ("family", "seed", "do", "share"),
    [
        ("deadline_desk", 23, _carelessly, 0.5),
        ("inbox_flood", 21, _blindly, 0.99),
    ],
)
def test_noise_costs_players_points_who_do_not_look(family: str, seed: int, do: Perform, share: float) -> None:
    """A player that doesn't try again leaves things undone; one that does so blindly sends a message twice."""
    day = make_day(SCENARIOS / "families" / family, 3, seed)
    assert asyncio.run(Stage(day).play(players.oracle(day, do=carefully()), noise=3)).share == 1
    assert asyncio.run(Stage(day).play(players.oracle(day, do=do), noise=3)).share < share


def _what(log: list[ActionLogEntryWithTurn]) -> list[Any]:
    return [(entry.turn, entry.timestamp, entry.action, entry.success) for entry in log]


def test_the_user_answers_in_both(whole: Whole) -> None:
    day = make_day(SCENARIOS / "families" / "which_alex", 1, 1)
    oracle = players.oracle(day)
    heard: list[str] = []

    async def listening(number: int, now: datetime, client: AsyncUESClient) -> None:
        await oracle(number, now, client)
        if now == day.starts[-1]:
            chat = (await client.chat.get_state())["messages"]
            heard.append(" ".join(message["content"] for message in chat[1:] if message["role"] == "user"))

    assert asyncio.run(Stage(day).play(listening)).share == 1
    overall = whole(day, listening).scores.overall
    assert overall.score == overall.max_score
    assert heard[0] == heard[1]
    assert heard[0].startswith("I mean ")


def test_expected_means_are_those_of_many_plays() -> None:
    day = make_day(SCENARIOS / "families" / "impossible_day", 2, 3)

    skipped = skipped_by_lapses(Stage(day))

    async def shares() -> list[float]:
        stage = Stage(day)
        return [(await stage.play(players.graded(day, 0.2, play))).share for play in range(60 if NIGHTLY else 30)]

    played = asyncio.run(shares())
    assert abs(fmean(played) - expected_share(day, 0.2, skipped)) < 3 * stdev(played) / len(played) ** 0.5
    assert expected_share(day, 0.0, skipped) == pytest.approx(1)
    assert expected_share(day, 0.1, skipped) > expected_share(day, 0.2, skipped)
