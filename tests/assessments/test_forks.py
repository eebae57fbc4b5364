"""Forks: assessments that begin with another one's turns, which are not played again."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from proctor.activities.admission.activities import ForkActivities
from proctor.activities.admission.payloads import AdmitInput
from proctor.activities.attempts import failures
from proctor.protocol.updates import AssessmentStartedUpdate, TurnCompletedUpdate, TurnStartedUpdate
from proctor.service.page_actions import page_actions
from proctor.service.parts import open_parts
from proctor.storage.archive import Archive
from proctor.storage.temporal import connect
from proctor.viewer.actions import ActionRefusedError, ActionRequest
from purple_sdk.protocol.forks import ForkedFrom
from purple_sdk.protocol.results import AssessmentResults
from tests.assessments.scripts import BEN
from tests.assessments.test_replay import follow, read_results
from tests.chaos.campaigns import play
from tests.chaos.forks import Undecided, files_of, outcome, turns_in
from tests.sentences import says
from tests.stack import Assessed, Stack, assess, assess_by, request_json, serving
from tests.work import NIGHTLY, only_nightly


class Correspondent:
    """Writes to Ben every turn, in words of its own; ``turns`` are those that it was asked to play."""

    def __init__(self, words: str = "Does lunch suit you?") -> None:
        self.words = words
        self.turns: list[int] = []

    async def __call__(self, turn: int, ues: Any, now: Any) -> None:
        self.turns.append(turn)
        await ues.email.send(to_addresses=[BEN], subject=f"Turn {turn}", body_text=self.words)


async def fork(stack: Stack, task_id: str, turn: Any, agent_url: str | None = None, **config: Any) -> Assessed:
    """Fork an assessment by an ordinary request."""
    participants = {"participants": {"personal_assistant": agent_url}} if agent_url else {}
    asked = {**participants, "config": {"fork_of": task_id, "from_turn": turn, **config}}
    return await assess_by(stack, json.dumps(asked))


def results_of(assessed: Assessed) -> AssessmentResults:
    assert assessed.results is not None, assessed.sentence
    return assessed.results


async def test_a_fork_plays_the_rest_of_another_ones_day(stack: Stack) -> None:
    first, other = Correspondent(), Correspondent("Thanks for answering. Is lunch on Thursday fine?")
    async with serving(first) as url, serving(other) as other_url:
        original = results_of(await assess(stack, url, "tiny", max_turns=4))
        before = files_of(stack, original.assessment_id)
        assert first.turns == [1, 2, 3, 4]
        first.turns.clear()

        same = await fork(stack, original.assessment_id, 3)
        assert first.turns == [3, 4], "whoever was assessed before plays, and nothing that was played"
        assert outcome(results_of(same)) == outcome(original)
        assert results_of(same).forked_from == ForkedFrom(task_id=original.assessment_id, turn=3)

        others = results_of(await fork(stack, original.assessment_id, 3, other_url, seed=8))
        assert other.turns == [3, 4]
        assert (others.seed, others.turns_taken) == (8, 4)
        sent = [entry.parameters["body_text"] for entry in others.action_log]
        assert sent == [first.words] * 2 + [other.words] * 2, "the whole day counts"
        assert not others.action_report.unreported

        again = results_of(await fork(stack, others.assessment_id, 4, other_url))
        assert outcome(again) == outcome(others)
        origin = again.forked_from
        assert origin is not None
        assert [(link.task_id, link.turn) for link in origin.chain] == [
            (others.assessment_id, 4),
            (original.assessment_id, 3),
        ]

        kept = Archive(stack.config.archive_url).get(original.assessment_id)
        action = page_actions(stack.config, lambda: connect(stack.config)).find("fork")
        assert kept is not None
        assert action is not None
        with pytest.raises(ActionRefusedError, check=says()):
            await action.do(ActionRequest(kept, 4, {"seed": "one"}))
        first.turns.clear()
        from_page = await follow(stack, await action.do(ActionRequest(kept, 4, {"agent": url, "seed": "7"})))
        assert first.turns == [4]
        assert outcome(read_results(from_page)) == outcome(original)
    assert files_of(stack, original.assessment_id) == before

    started = next(update for update in same.updates if isinstance(update, AssessmentStartedUpdate))
    assert says(assessment_id=original.assessment_id).within(started.sentence())
    completed = [update for update in same.updates if isinstance(update, TurnCompletedUpdate)]
    assert [update.inherited_from for update in completed] == [original.assessment_id] * 2 + [None] * 2
    assert [u.turn_number for u in same.updates if isinstance(u, TurnStartedUpdate)] == [3, 4]

    archive = Archive(stack.config.archive_url)
    entry, was = archive.get(again.assessment_id), archive.get(original.assessment_id)
    assert entry is not None
    assert was is not None
    assert entry.forked_from == again.forked_from
    assert [turn.inherited_from for turn in archive.turns(entry)] == [
        *[original.assessment_id] * 2,
        others.assessment_id,
        None,
    ]
    states, states_before = (list(archive.states(each)) for each in (entry, was))
    assert [items for _, items in states[:3]] == [items for _, items in states_before[:3]]
    assert archive.turns(entry)[1].actions == archive.turns(was)[1].actions
    assert archive.turns(entry)[1].answers == archive.turns(was)[1].answers


@only_nightly  # by default: test_a_fork_plays_the_rest_of_another_ones_day
async def test_an_assessment_is_forked_while_it_is_under_way(stack: Stack) -> None:
    reached, goes_on = asyncio.Event(), asyncio.Event()
    task_ids: list[str] = []

    class Waiting(Correspondent):
        async def __call__(self, turn: int, ues: Any, now: Any) -> None:
            await super().__call__(turn, ues, now)
            if turn == 3:
                reached.set()
                await goes_on.wait()

    other = Correspondent()
    async with serving(Waiting()) as url, serving(other) as other_url:
        playing = asyncio.create_task(
            assess_by(stack, request_json(url, "tiny", max_turns=4), on_accepted=task_ids.append)
        )
        await reached.wait()
        forked = results_of(await fork(stack, task_ids[0], 3, other_url))
        refused = await fork(stack, task_ids[0], 4, other_url)
        goes_on.set()
        original = results_of(await playing)
    assert other.turns == [3, 4]
    assert outcome(forked) == outcome(original)
    assert says().within(refused.sentence)


@pytest.mark.usefixtures("quick_fork_servers")
async def test_what_can_not_be_forked_is_a_sentence(stack: Stack) -> None:
    async with serving(Correspondent()) as url:
        task = results_of(await assess(stack, url, "tiny", max_turns=2)).assessment_id
        rejected: list[str] = []
        await assess_by(stack, request_json(url, "unheard_of"), on_accepted=rejected.append)
        cases: list[tuple[dict[str, Any], str]] = [
            ({"fork_of": task, "from_turn": 4}, "config.from_turn"),
            ({"fork_of": task, "from_turn": 0}, "config.from_turn"),
            ({"fork_of": task}, "from_turn"),
            ({"from_turn": 2, "scenario_id": "tiny"}, "fork_of"),
            ({"fork_of": task, "from_turn": 3}, "config.max_turns"),
            ({"fork_of": task, "from_turn": 1, "scenario_id": "other"}, "scenario_id"),
            ({"fork_of": "nobody", "from_turn": 1}, "config.fork_of"),
            ({"fork_of": rejected[0], "from_turn": 1}, "fork"),
        ]
        looking = ActivityEnvironment(client=await connect(stack.config))
        async with open_parts(stack.config) as parts:
            forks = ForkActivities(parts.config, parts.store, parts.scenarios, parts.simulations)
            for config, name in cases:
                given = AdmitInput(task_id="fork", request=json.dumps({"config": config}))
                with pytest.raises(ApplicationError) as problem:
                    await looking.run(forks.admit_fork, given)
                assert problem.value.type == failures.REJECTED
                assert problem.value.message == says(name, task=task)
        config, name = cases[0]
        refused = await assess_by(stack, json.dumps({"config": config}))
        assert (refused.state, refused.results) == ("rejected", None)
        assert says(name, task=task).within(refused.sentence)
        goes_on = results_of(await fork(stack, task, 3, max_turns=3))
        assert (goes_on.turns_taken, goes_on.is_partial) == (3, True)

        (entry,) = [candidate for candidate in Archive(stack.config.archive_url).entries() if candidate.id == task]
        record = Archive(stack.config.archive_url).state_records(entry)[1]
        assert record.checkpoint is not None
        blob = Path(stack.config.storage_url) / record.checkpoint.sha256[:2] / record.checkpoint.sha256[2:]
        blob.unlink()
        pruned = await fork(stack, task, 2)
        assert pruned.state == "rejected"
        assert says().within(pruned.sentence)


@only_nightly  # by default: test_a_fork_plays_the_rest_of_another_ones_day
async def test_forks_from_several_turns_say_which_turn_decided(stack: Stack) -> None:
    """One campaign, whose participant decides everything in turn 5; at night the worker is killed while it plays."""
    participant = Undecided()
    async with serving(participant) as url:
        original = results_of(await assess(stack, url, "tiny", max_turns=6))
        before = files_of(stack, original.assessment_id)
        killed = not NIGHTLY

        async def kill_once(done: int, total: int) -> None:
            nonlocal killed
            pid = stack.supervisor.find_pid("worker")
            if pid and not killed:
                os.kill(pid, signal.SIGKILL)
                killed = True

        results = await play(
            stack, {}, kill_once, fork_of=original.assessment_id, from_turns=[5, 6], repeats=2, at_once=2
        )
        refused = await fork(stack, results.campaign_id, 1)
    assert killed
    assert (refused.state, refused.results) == ("rejected", None)
    assert says(campaign_id=results.campaign_id).within(refused.sentence)
    assert files_of(stack, original.assessment_id) == before
    assert {(cell.agent, cell.seed, cell.status, cell.plays) for cell in results.cells} == {
        ("personal_assistant", original.seed, "completed", 1)
    }
    for cell in results.cells:
        assert turns_in(participant.log, cell.task_id) == list(range(cell.from_turn or 0, 7))
    (spread,) = results.forks
    assert [(turn.turn, turn.forks, turn.variance > 0) for turn in spread.turns] == [(5, 2, True), (6, 2, False)]
    assert (spread.deciding, spread.turns[0].decided) == (5, 1.0)
    assert {row.scenario for row in results.summaries} == {None, "tiny from turn 5", "tiny from turn 6"}
