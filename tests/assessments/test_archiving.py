"""What is in the archive when an assessment has ended, whichever way."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from a2a.types import CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest
from a2a.utils.errors import TaskNotFoundError, UnsupportedOperationError
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest, DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from proctor.activities.attempts.scrubbing import REMOVED
from proctor.local.court import is_same
from proctor.protocol.archive import ArchiveEntry, schemas, trajectory_file
from proctor.storage.archive import Archive
from proctor.storage.temporal import connect
from purple_sdk.protocol.messages import ActionLogEntry, FromParticipant, TurnCompleteMessage
from purple_sdk.settings.config import merge_configs
from purple_sdk.ues import AsyncUESClient
from tests.a2a_gateway.callers import sdk_client
from tests.archived import judged_again
from tests.assessments.observers import running, simulations_left
from tests.assessments.scripts import BEN, ask_ben, diligent
from tests.assessments.test_cancel import CASES, dawdling
from tests.sentences import says
from tests.stack import Assessed, Stack, assess, serving
from tests.waiting import PATIENCE, eventually


def entry_of(archive: Archive, task_id: str) -> ArchiveEntry:
    entry = archive.get(task_id)
    assert entry is not None
    return entry


async def test_a_completed_assessment_stays_when_temporal_has_forgotten_it(stack: Stack) -> None:
    async with serving(with_transcripts) as url:
        assessed = await assess(stack, url, "tiny")
    is_kept_whole(stack, assessed)
    await is_judged_again_without_temporal(stack, assessed)
    await is_read_when_temporal_has_forgotten_it(stack, assessed)


async def with_transcripts(turn: int, ues: AsyncUESClient, now: datetime) -> FromParticipant:
    """As diligent, with a transcript of each turn; the first has a key in it."""
    early: TurnCompleteMessage = await diligent(turn, ues, now)
    if turn > 1:
        return early.model_copy(update={"trajectory": transcript("Read it.")})
    asked = ActionLogEntry(timestamp=now, action="email.send", parameters={}, success=True)
    return TurnCompleteMessage(actions=[asked], trajectory=transcript(f"participant-1-{'0' * 64}"))


def transcript(words: str) -> dict[str, Any]:
    return {"schema_version": "ATIF-v1.7", "steps": [{"step_id": 1, "source": "user", "message": words}]}


async def is_judged_again_without_temporal(stack: Stack, assessed: Assessed) -> None:
    assert assessed.results is not None
    entry = entry_of(Archive(stack.config.archive_url), assessed.results.assessment_id)
    away = merge_configs(stack.config, {"temporal_address": "127.0.0.1:9", "ues_url": "http://127.0.0.1:9"})
    judgement = await judged_again(away, entry)
    assert is_same(assessed.results.criteria_results, judgement.criteria_results)
    assert (judgement.first, judgement.by.evaluators) == (assessed.results.scores, "frozen")


def is_kept_whole(stack: Stack, assessed: Assessed) -> None:
    archive = Archive(stack.config.archive_url)
    assert assessed.results is not None
    entry = entry_of(archive, assessed.results.assessment_id)

    overall = assessed.results.scores.overall
    assert (entry.kind, entry.status, entry.scenario_id, entry.seed) == ("assessment", "completed", "tiny", 7)
    assert (entry.score, entry.max_score, entry.participant) == (overall.score, overall.max_score, "scripted")
    assert archive.results(entry) == assessed.results
    updates = archive.updates(entry)
    assert [update.data for update in updates] == [update.model_dump(mode="json") for update in assessed.updates]
    assert [update.sequence for update in updates] == list(range(len(updates)))

    kept = [json.loads(archive.read(entry, trajectory_file(turn))) for turn in (1, 2)]
    assert kept == [transcript(REMOVED), transcript("Read it.")]

    first, second = archive.turns(entry)
    (asked,) = first.actions
    assert (asked.action, asked.parameters["to_addresses"]) == ("email.send", [BEN])
    assert first.reported[0].action == "email.send"
    (answer,) = first.answers
    assert answer.to == "Lunch?"
    (arrived,) = second.arrived
    assert arrived.who == BEN
    assert second.ends_early
    states = [(record.turn, items) for record, items in archive.states(entry)]
    assert [turn for turn, _ in states] == [0, 1, 2]
    (mail,) = [item for item in states[1][1].values() if isinstance(item, dict) and item.get("from_address") == BEN]
    assert mail["body_text"] == answer.text
    assert arrived.path in states[1][1]
    assert arrived.path not in states[0][1]

    scenario = archive.scenario(entry)
    assert scenario is not None
    assert scenario.scenario_id == "tiny"
    folder = next(Path(stack.config.archive_url).glob(f"*/{entry.id}.*"))
    known = schemas()
    for name in ("entry.json", *entry.files):
        schema, content = known[re.sub(r"\d+", "TURN", name)], (folder / name).read_text()
        for document in content.splitlines() if name.endswith("l") else [content]:
            jsonschema.validate(json.loads(document), schema)


async def is_read_when_temporal_has_forgotten_it(stack: Stack, assessed: Assessed) -> None:
    assert assessed.results is not None
    task_id = assessed.results.assessment_id
    client = await connect(stack.config)
    kept = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    assert kept.config.workflow_execution_retention_ttl.ToTimedelta().days == 30
    async with sdk_client(stack.gateway_url) as caller:
        known = await caller.get_task(GetTaskRequest(id=task_id, history_length=1000))
        await client.workflow_service.delete_workflow_execution(
            DeleteWorkflowExecutionRequest(
                namespace=client.namespace, workflow_execution=WorkflowExecution(workflow_id=task_id)
            )
        )
        await eventually(lambda: is_forgotten(client, task_id))
        found = await caller.get_task(GetTaskRequest(id=task_id, history_length=1000))
        with pytest.raises(UnsupportedOperationError, check=says()):
            await anext(aiter(caller.subscribe(SubscribeToTaskRequest(id=task_id))))
        with pytest.raises(TaskNotFoundError):
            await caller.get_task(GetTaskRequest(id="nobody"))
    assert found.artifacts == known.artifacts
    assert found.history == known.history
    assert len(found.history) == len(assessed.updates) + 1
    assert (found.status.state, found.status.message) == (known.status.state, known.status.message)
    assert (found.context_id, found.metadata) == (known.context_id, known.metadata)
    async with httpx.AsyncClient(trust_env=False) as http:
        overview = await http.get(f"{stack.gateway_url}/")
        page = await http.get(f"{stack.gateway_url}/view/{task_id}")
    assert task_id in overview.text
    assert "Ben is asked" in page.text or "Lunch?" in page.text


async def is_forgotten(client: Client, task_id: str) -> bool:
    try:
        await client.get_workflow_handle(task_id).describe()
    except RPCError as error:
        return error.status == RPCStatusCode.NOT_FOUND
    return False


async def test_a_canceled_assessment_keeps_the_turn_that_it_was_in(stack: Stack) -> None:
    async with (
        dawdling("turn") as (url, seen),
        running(stack, url, "tiny") as assessment,
        sdk_client(stack.gateway_url) as caller,
    ):
        await assessment.until("turn_started")
        await eventually(lambda: "turn" in seen)
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as http:

            async def shows(path: str, *texts: str) -> bool:
                page = await http.get(f"{stack.gateway_url}{path}")
                return all(text in page.text for text in texts)

            # Temporal lists it a moment later, and a page waits for Temporal briefly only.
            listed = (f'href="/view/{assessment.task_id}"', "Under way")
            await eventually(lambda: shows(f"/?search={assessment.task_id}", *listed))
            await eventually(lambda: shows(f"/view/{assessment.task_id}", 'data-page="running"', "in turn 1"))
        await caller.cancel_task(CancelTaskRequest(id=assessment.task_id))
        ended = await assessment.end()
        assert ended.state == "canceled"
        assert ended.sentence == says()
        assert await simulations_left(stack) == []
        assert seen == CASES["mid-turn"][-1], "the participant's turn is canceled, too"
    archive = Archive(stack.config.archive_url)
    entry = entry_of(archive, assessment.task_id)
    assert (entry.status, entry.sentence, entry.turns_taken) == ("canceled", ended.sentence, 0)
    (turn,) = archive.turns(entry)
    assert (turn.turn, turn.is_finished, turn.actions) == (1, False, [])
    assert archive.results(entry) == ended.results


async def test_an_assessment_that_failed_in_judging_keeps_its_turns(stack: Stack) -> None:
    async def once(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        if turn == 1:
            await ask_ben(ues)

    async with serving(once) as url:
        failed = await assess(stack, url, "evaluator_raises", max_turns=2)
    assert failed.results is not None
    assert says("no such mail", "evaluators.py", "--from-judging", "--with-current-evaluators").within(failed.sentence)
    archive = Archive(stack.config.archive_url)
    entry = entry_of(archive, failed.results.assessment_id)
    assert (entry.status, entry.sentence, entry.expected_turns) == ("failed", failed.sentence, 12)
    assert [len(turn.actions) for turn in archive.turns(entry)] == [1, 0]
