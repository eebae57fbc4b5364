"""The rule-based clerk: on days of families, in a process of its own, and its rules on words of nobody's."""

import runpy
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from proctor.audit.plays import Outcome, Stage
from proctor_settings.config import PurpleAgentConfig
from purple_sdk.examples.clerk_agent import ClerkAgent
from purple_sdk.examples.clerk_agent.reading import Note, cents, days_in, last_said, minutes_in, things_in
from purple_sdk.ues import AsyncUESClient
from scenarios.kit.making.days import make_day
from tests.processes import serving
from tests.purple_sdk.evaluator import Evaluator, start, turn
from tests.purple_sdk.played import PlayedAgent
from tests.work import only_nightly, some_of

FAMILIES = Path("scenarios/families").absolute()
NOW = datetime(2027, 3, 4, 9, tzinfo=UTC)


def said(body: str, subject: str = "For your notes", hours_ago: int = 5, sender: str = "Ann Lee") -> Note:
    return Note(body[:9], NOW - timedelta(hours=hours_ago), "ann@lee.example", sender, subject, body)


async def played(family: str, difficulty: int, seed: int) -> Outcome:
    """A day as the clerk plays it."""
    stage, player = Stage(make_day(FAMILIES / family, difficulty, seed)), PlayedAgent(ClerkAgent(PurpleAgentConfig()))

    async def play(number: int, now: datetime, client: AsyncUESClient) -> None:
        await player(number + 1, client, now)

    return await stage.play(play)


@pytest.mark.parametrize("family", some_of(["deadline_desk", "inbox_flood", "expense_report", "the_week"], 2))
async def test_it_earns_more_than_half_of_days_whose_lists_it_can_read(family: str) -> None:
    outcome = await played(family, 1, 3)
    assert outcome.share > 0.5, outcome.held


async def test_it_leaves_open_what_it_can_t_read() -> None:
    outcome = await played("delegate", 1, 3)
    [report] = [str(entry.parameters["content"]) for entry in outcome.log if entry.action == "chat.send_message"]
    assert {line.partition(": ")[2] for line in report.splitlines()} == {"open"}
    assert outcome.share < 0.3


async def test_it_says_that_a_withdrawn_thing_is_impossible() -> None:
    outcomes = [await played("impossible_day", 2, seed) for seed in some_of((1, 2, 3), 1)]
    reports = [
        str(entry.parameters["content"])
        for outcome in outcomes
        for entry in outcome.log
        if entry.action == "chat.send_message"
    ]
    assert any("impossible" in report for report in reports)
    assert all(held for outcome in outcomes for check, held in outcome.held.items() if check.startswith("report."))


def test_the_last_word_about_a_thing_counts() -> None:
    notes = [
        said("We met, and the rent of the boat shed is EUR 1,250.00, so far.", hours_ago=9),
        said("The rent of the boat shed: you have 1250.00 EUR, right is 1.320,50 EUR.", hours_ago=7),
        said("The rent of the boat shed annex is EUR 99.00.", hours_ago=3),
        said("Could you tell me the rent of the boat shed?", hours_ago=1),
    ]
    assert list(things_in(notes)) == ["the rent of the boat shed", "the rent of the boat shed annex"]
    assert last_said(notes, "the rent of the boat shed", NOW) == "1.320,50 EUR"
    assert last_said(notes, "the rent of the boat shed annex", NOW) == "EUR 99.00"


def test_a_thing_that_nobody_stated_has_no_value() -> None:
    assert last_said([said("The door code?")], "the door code", NOW) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("on 5 Apr", date(2027, 4, 5)),
        ("April 5, please", date(2027, 4, 5)),
        ("Mon 5/4", date(2027, 4, 5)),
        ("am 5.4.2027", date(2027, 4, 5)),
        ("am 5. Dezember", date(2026, 12, 5)),
    ],
)
def test_days_are_read_in_many_forms(text: str, found: date) -> None:
    assert days_in(text, NOW) == [found]


def test_amounts_and_times_are_read_in_many_forms() -> None:
    assert [cents(text) for text in ("1,997.15", "1.997,15", "1997.15", "1,997", "12")] == [
        *([199_715] * 3),
        199_700,
        1_200,
    ]
    assert minutes_in("14:50, 2:50 pm or 9 am") == [890, 890, 540]


def test_its_program_serves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[type] = []
    monkeypatch.setattr("purple_sdk.server.serve", lambda agent, config: served.append(agent))
    monkeypatch.setattr("sys.argv", ["clerk_agent"])
    runpy.run_module("purple_sdk.examples.clerk_agent", run_name="__main__")
    assert [agent.__name__ for agent in served] == ["ClerkAgent"]


@only_nightly  # by default: test_demo.py, which starts the triage agent's process
async def test_it_serves_and_fails_a_turn_without_a_simulator() -> None:
    with serving("purple_sdk.examples.clerk_agent", "--host", "127.0.0.1", "--port", "0") as (url, _):
        async with Evaluator(url) as evaluator:
            await evaluator.say(start(ues_url="http://127.0.0.1:9"))
            heard = await evaluator.say(turn(1))
    assert heard.state == "failed"
    assert "UESConnectionError" in heard.sentence
