"""A failed assessment goes on from any of its turns, and the judging can be done again."""

import asyncio
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError

from proctor.client.caller import AssessmentCall, Ended, Progress
from proctor.client.replay import choose, reset, reset_points
from proctor.common.errors import CommandError, UsageError
from proctor.protocol.campaigns import CampaignUpdate
from proctor.protocol.updates import TaskUpdate, TurnStartedUpdate
from proctor.storage.archive import Archive
from proctor.storage.temporal import connect
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from tests.sentences import says
from tests.stack import Stack, assess, serving


async def follow(stack: Stack, task_id: str, told: list[TaskUpdate | CampaignUpdate] | None = None) -> Ended:
    """Follow an assessment that is there already to its end; ``told`` is a list to add its updates to."""
    async with AssessmentCall.of_task(stack.gateway_url, task_id) as call:
        async for event in call.events():
            if isinstance(event, Progress) and told is not None:
                told.append(event.update)
            elif isinstance(event, Ended):
                return event
    raise AssertionError("no end")


class Participant:
    """Writes to Ben every turn, and then breaks down in turn 2 while ``is_ill``."""

    def __init__(self) -> None:
        self.is_ill = True
        self.played: list[int] = []

    async def __call__(self, turn: int, ues: AsyncUESClient, now: datetime) -> None:
        self.played.append(turn)
        await ues.email.send(
            to_addresses=["ben@work.example"], subject=f"Turn {turn}", body_text="Does lunch suit you?"
        )
        if turn == 2 and self.is_ill:
            raise RuntimeError("out of memory")


def read_results(ended: Ended) -> AssessmentResults:
    assert ended.results is not None
    return AssessmentResults.model_validate_json(ended.results)


def comparable(results: AssessmentResults) -> dict[str, Any]:
    return results.model_dump(mode="json", exclude={"assessment_id", "duration_seconds", "provenance"})


async def test_a_failed_assessment_goes_on_from_its_failed_turn(stack: Stack) -> None:
    participant, healthy = Participant(), Participant()
    healthy.is_ill = False
    async with serving(healthy) as url:
        undisturbed = await assess(stack, url, "tiny", max_turns=3)
    async with serving(participant) as url:
        failed = await assess(stack, url, "tiny", max_turns=3, turn_tries=1)
        assert failed.state == "failed"
        assert failed.results is not None
        assert failed.results.turns_taken == 1
        task_id = failed.results.assessment_id
        archive = Archive(stack.config.archive_url)
        before = archive.get(task_id)
        assert before is not None
        assert (before.status, before.sentence, archive.results(before)) == ("failed", failed.sentence, failed.results)
        client = await connect(stack.config)
        participant.is_ill = False
        participant.played.clear()
        point = choose(await reset_points(client, task_id), None, from_judging=False)
        assert (point.turn, point.has_failed) == (2, True)
        await reset(client, task_id, point)
        told: list[TaskUpdate | CampaignUpdate] = []
        ended = await follow(stack, task_id, told)
        assert [update.turn_number for update in told if isinstance(update, TurnStartedUpdate)] == [1, 2, 3]
        assert ended.state == "completed", ended.sentence
        assert participant.played == [2, 3]
        results = read_results(ended)
        assert undisturbed.results is not None
        assert comparable(results) == comparable(undisturbed.results)
        after = archive.get(task_id)
        assert after is not None
        assert (after.status, archive.results(after)) == ("completed", results)
        assert after.run_id != before.run_id
        assert [turn.turn for turn in archive.turns(after)] == [1, 2, 3]
        await judging_again_plays_no_turn_again(stack, client, participant, ended)


async def judging_again_plays_no_turn_again(
    stack: Stack, client: Client, participant: Participant, ended: Ended
) -> None:
    first = read_results(ended)
    played = [*participant.played]
    points = await reset_points(client, first.assessment_id)
    assert [point.turn for point in points if point.turn] == [1, 2, 3]
    await reset(client, first.assessment_id, choose(points, None, from_judging=True))
    again = await follow(stack, first.assessment_id)
    assert participant.played == played
    assert comparable(read_results(again)) == comparable(first)
    with pytest.raises(UsageError, check=says("--from-turn", "40")):
        choose(points, 40, from_judging=False)


async def test_a_reset_after_the_failure_says_where_to_reset_to(stack: Stack) -> None:
    """``--type LastWorkflowTask`` repeats only the end of a failed assessment: twice here, and then it is replayed."""
    participant = Participant()
    async with serving(participant) as url:
        failed = await assess(stack, url, "tiny", max_turns=2, turn_tries=1)
        assert failed.results is not None
        task_id = failed.results.assessment_id
        participant.is_ill = False
        participant.played.clear()
        client = await connect(stack.config)
        for _ in range(2):
            temporal = [str(Path(sys.executable).with_name("temporal")), "workflow", "reset", "--workflow-id", task_id]
            address = ["--address", stack.config.temporal_address]
            done = await asyncio.create_subprocess_exec(
                *temporal, "--type", "LastWorkflowTask", "--reason", "again", *address, stdout=subprocess.PIPE
            )
            assert await done.wait() == 0
            with pytest.raises(WorkflowFailureError) as raised:
                await client.get_workflow_handle(task_id).result()
            said = str(raised.value.cause)
            assert says(task_id=task_id).within(said)
            assert says(sentence=failed.sentence).within(said)
        assert participant.played == []
        await reset(client, task_id, choose(await reset_points(client, task_id), None, from_judging=False))
        ended = await follow(stack, task_id)
    assert ended.state == "completed", ended.sentence
    assert participant.played == [2]


async def test_an_unknown_task_is_a_sentence(stack: Stack) -> None:
    with pytest.raises(CommandError, check=says("nobody")):
        await reset_points(await connect(stack.config), "nobody")
