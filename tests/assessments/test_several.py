"""Two participants in one assessment: each has a mailbox of its own, and reaches the other one's user through it."""

import asyncio
import json
import os
import re
import signal
from datetime import datetime
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from proctor.cli.display import AssessmentDisplay
from proctor.cli.report import print_report
from proctor.client.caller import Progress
from proctor.client.replay import choose, reset, reset_points
from proctor.local.audit import players
from proctor.local.court import is_same
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.storage.archive import Archive
from proctor.storage.entry_table import EntryQuery
from proctor.storage.temporal import connect
from proctor.viewer.pages import Pages, build_address
from purple_sdk.protocol.messages import EarlyCompletionMessage
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from tests.archived import judged_again
from tests.assessments.normalising import normalised
from tests.assessments.scripts import ask_ben, idle
from tests.assessments.test_replay import follow
from tests.chaos.campaigns import play as campaign
from tests.sentences import says
from tests.stack import SCENARIOS, Assessed, Script, Stack, assess_by, serving
from tests.work import only_nightly

ANA, BEN = "ana@home.example", "ben@work.example"


def request(participants: dict[str, str], scenario_id: str = "pair", **config: Any) -> str:
    chosen = {"scenario_id": scenario_id, "offline": True, "seed": 7, **config}
    return json.dumps({"participants": participants, "config": chosen})


async def mails_from(ues: AsyncUESClient, sender: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await ues.email.query())["emails"]
    return [mail for mail in found if mail["from_address"] == sender and mail["folder"] == "inbox"]


async def ana_side(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
    """Asks Ben, waits for his answer, and passes it on."""
    if turn == 1:
        await ask_ben(ues)
    for mail in await mails_from(ues, BEN):
        await ues.chat.send(role="assistant", content=f"Ben says: {mail['body_text']}")
        return EarlyCompletionMessage(reason="Ben has answered.")
    return None


async def ben_side(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
    """Answers Ana's mail."""
    for mail in await mails_from(ues, ANA):
        await ues.email.reply(mail["message_id"], body_text="Lunch: half past twelve suits me. Ben")
        return EarlyCompletionMessage(reason="Ana has her answer.")
    return None


async def raises(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
    raise RuntimeError("I can't play")


async def assess(stack: Stack, ana: Any, ben: Any, **config: Any) -> Assessed:
    async with serving(ana) as one, serving(ben) as other:
        return await assess_by(stack, request({"ana_side": one, "ben_side": other}, **config))


async def test_two_agree_by_mail_and_each_has_scores_and_an_entry(stack: Stack) -> None:
    assessed = await assess(stack, ana_side, ben_side, max_turns=4)
    results = assessed.results
    assert results is not None, assessed.sentence
    assert (assessed.state, results.participant) == ("completed", "ana_side, ben_side")
    assert [(role.role, role.turns_taken, role.scores.overall.score) for role in results.roles] == [
        ("ana_side", 3, 16),
        ("ben_side", 2, 16),
    ]
    assert (results.scores.overall.score, results.scores.overall.max_score) == (32, 32)
    assert [(entry.role, entry.turn, entry.action) for entry in results.action_log if "email" in entry.action] == [
        ("ana_side", 1, "email.send"),
        ("ben_side", 2, "email.send"),
    ]

    archive = Archive(stack.config.archive_url)
    whole = archive.find(results.assessment_id[:12])
    assert (whole.id, whole.roles) == (results.assessment_id, ["ana_side", "ben_side"])
    ana = archive.get(results.roles[0].entry)
    assert ana is not None
    assert (ana.part_of, ana.role, ana.score) == (whole.id, "ana_side", 16)
    assert [record.turn for record in archive.turns(ana)] == [1, 2, 3]
    *_, (_, items) = archive.states(ana)
    mails = [item for item in items.values() if isinstance(item, dict) and "to_addresses" in item]
    asked, answer = (next(mail for mail in mails if mail["from_address"] == author) for author in (ANA, BEN))
    assert answer["thread_id"] == asked["thread_id"]

    again = await judged_again(stack.config, whole)
    assert is_same(results.criteria_results, again.criteria_results)

    pages = Pages(archive)
    page = pages.assessment(whole)
    assert all(f'href="{build_address(role.entry)}"' in page for role in results.roles)
    assert f'href="{build_address(whole.id)}"' in pages.assessment(ana)
    screen = shown(assessed)
    assert "turn 1/4   Mon 09:00 ana_side  1 action" in screen
    assert "turn 2/4   Mon 10:00 ben_side  1 action" in screen
    assert re.search(r"ben_side +http://127.0.0.1:\d+ +2 +16/16 +completed", screen)


def shown(assessed: Assessed) -> str:
    """What ``proctor assess`` prints of it."""
    assert assessed.results is not None
    console = Console(file=StringIO(), width=100)
    with AssessmentDisplay(console) as display:
        for update in assessed.updates:
            display.show(Progress(update))
    print_report(console, assessed.results)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@only_nightly
async def test_the_oracles_of_both_sides_earn_all_points(stack: Stack) -> None:
    day = make_day(SCENARIOS / "families" / "two_assistants", 3, 7)

    def script(side: Day) -> Script:
        player = players.oracle(side)

        async def turn(number: int, ues: AsyncUESClient, now: datetime) -> None:
            await player(number - 1, now, ues)

        return turn

    host, guest = map(script, day.sides)
    async with serving(host) as one, serving(guest) as other:
        asked = request({"host": one, "guest": other}, "two_assistants", difficulty=3)
        results = (await assess_by(stack, asked)).results
    assert results is not None
    assert all(role.scores.overall.score == role.scores.overall.max_score == 48 for role in results.roles)


@only_nightly
@pytest.mark.parametrize("process", ["worker", "ues"])
async def test_a_process_that_dies_with_two_participants_at_work_changes_nothing(stack: Stack, process: str) -> None:
    """Both have acted in turn 2, and neither has answered, when a process is killed."""
    before = await assess(stack, ana_side, ben_side, max_turns=4)
    at_work, may_answer = asyncio.Semaphore(0), asyncio.Event()

    def held(script: Script) -> Script:
        async def turn(number: int, ues: AsyncUESClient, now: datetime) -> Any:
            said = await script(number, ues, now)
            if number == 2:
                at_work.release()
                await may_answer.wait()
            return said

        return turn

    async def kill() -> None:
        await at_work.acquire()
        await at_work.acquire()
        pid = stack.supervisor.find_pid(process)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        may_answer.set()

    killing = asyncio.create_task(kill())
    after = await assess(stack, held(ana_side), held(ben_side), max_turns=4)
    await killing
    assert before.results is not None
    assert after.results is not None
    assert comparable(after.results) == comparable(before.results)


@only_nightly
async def test_a_reset_to_a_turn_plays_both_from_there_to_the_same_end(stack: Stack) -> None:
    async with serving(ana_side) as one, serving(ben_side) as other:
        before = (await assess_by(stack, request({"ana_side": one, "ben_side": other}, max_turns=4))).results
        assert before is not None
        client = await connect(stack.config)
        await reset(client, before.assessment_id, choose(await reset_points(client, before.assessment_id), 2, False))
        ended = await follow(stack, before.assessment_id)
    assert ended.results is not None
    assert comparable(AssessmentResults.model_validate_json(ended.results)) == comparable(before)


@only_nightly  # by default: tests/workflows/test_several.py, test_forks.py
async def test_a_fork_plays_all_roles_from_a_turn_to_the_same_end(stack: Stack) -> None:
    """Ben's side has ended early in turn 2, so a fork from turn 3 plays Ana's side only."""
    played: list[tuple[str, int]] = []

    def noted(name: str, script: Script) -> Script:
        async def turn(number: int, ues: AsyncUESClient, now: datetime) -> Any:
            played.append((name, number))
            return await script(number, ues, now)

        return turn

    async def fork(of: AssessmentResults, turn: int, **agents: str) -> Assessed:
        played.clear()
        return await assess_by(
            stack, json.dumps({"participants": agents, "config": {"fork_of": of.assessment_id, "from_turn": turn}})
        )

    async with serving(noted("ana", ana_side)) as ana, serving(noted("ben", ben_side)) as ben, serving(idle) as lazy:
        before = (await assess_by(stack, request({"ana_side": ana, "ben_side": ben}, max_turns=4))).results
        assert before is not None
        both = (await fork(before, 2)).results
        assert sorted(played) == [("ana", 2), ("ana", 3), ("ben", 2)]
        assert both is not None
        last = await fork(both, 3)
        assert played == [("ana", 3)]
        other = (await fork(before, 2, ben_side=lazy)).results
        assert {name for name, _ in played} == {"ana"}
        refused = await fork(before, 4)
        part = await assess_by(stack, json.dumps({"config": {"fork_of": before.roles[0].entry, "from_turn": 2}}))
    assert comparable(both) == comparable(before)
    assert last.results is not None, last.sentence
    assert comparable(last.results) == comparable(before)
    origin, of_role = last.results.forked_from, Archive(stack.config.archive_url).get(last.results.roles[1].entry)
    assert origin is not None
    assert [link.task_id for link in origin.chain] == [both.assessment_id, before.assessment_id]
    assert of_role is not None
    assert of_role.forked_from is not None
    assert of_role.forked_from.task_id == both.roles[1].entry
    assert other is not None
    assert [role.scores.overall.score for role in other.roles] == [10, 0]
    assert says().within(refused.sentence)
    assert says(assessment_id=before.assessment_id).within(part.sentence)


async def test_one_agent_may_have_both_roles(stack: Stack) -> None:
    async def both(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
        own = (await ues.email.get_state())["user_email_address"]
        return await (ana_side if own == ANA else ben_side)(turn, ues, now)

    async with serving(both) as url:
        asked = request({"ana_side": url, "ben_side": url}, max_turns=4)
        results = (await assess_by(stack, asked)).results
    assert results is not None
    assert [role.scores.overall.score for role in results.roles] == [16, 16]


@only_nightly
async def test_a_campaign_has_a_row_for_each_cast(stack: Stack) -> None:
    async def both(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
        own = (await ues.email.get_state())["user_email_address"]
        return await (ana_side if own == ANA else ben_side)(turn, ues, now)

    async with serving(both) as able, serving(idle) as lazy:
        agents = {"able": able, "lazy": lazy}
        results = await campaign(stack, agents, scenarios=["pair"], seeds=[7], max_turns=4, at_once=4)
    assert {cell.agent: (cell.score, cell.max_score) for cell in results.cells} == {
        "able + able": (32, 32),
        "able + lazy": (10, 32),
        "lazy + able": (0, 32),
        "lazy + lazy": (0, 32),
    }
    assert {row.agent for row in results.summaries} == {cell.agent for cell in results.cells}
    archive = Archive(stack.config.archive_url)
    entry = archive.get(results.campaign_id)
    assert entry is not None
    assert "able + lazy" in Pages(archive).campaign(entry)
    listed = {summary.id for summary in archive.select(EntryQuery(campaign=results.campaign_id))}
    assert listed == {cell.task_id for cell in results.cells}, "each participant's own entry is not listed"


def comparable(results: AssessmentResults) -> dict[str, Any]:
    """A result without what differs from run to run."""
    data = normalised(results.model_copy(update={"forked_from": None}))
    for role in data["roles"]:
        del role["participant_url"]
    return data


async def test_one_that_fails_does_not_keep_the_other_from_playing(stack: Stack) -> None:
    assessed = await assess(stack, idle, raises, max_turns=2)
    results = assessed.results
    assert results is not None
    assert assessed.state == "failed"
    assert "ben_side: " in assessed.sentence
    ana, ben = results.roles
    assert (ana.status, ana.turns_taken, ana.scores.overall.max_score) == ("completed", 2, 16)
    assert (ben.status, ben.scores.overall.max_score) == ("failed", 0)


@pytest.mark.parametrize(
    ("participants", "role"),
    [({"ana_side": "http://a"}, "ben_side"), ({"ana_side": "http://a", "carl": "http://c"}, "carl")],
)
async def test_roles_that_do_not_fit_are_refused(stack: Stack, participants: dict[str, str], role: str) -> None:
    assessed = await assess_by(stack, request(participants))
    assert assessed.state == "rejected"
    assert assessed.sentence == says(role, "pair")
