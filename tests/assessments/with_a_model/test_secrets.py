"""No key is found where others may look: history, heartbeats, memo, blobs, logs, prompts, the A2A stream, results.

The participant, the scenario's evaluators and the model's server all do their worst: they say the keys that they know.
"""

import asyncio
import base64
import json
import os
import re
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from a2a.types import CancelTaskRequest
from temporalio.exceptions import ApplicationError, CancelledError

from proctor.activities.attempts.scrubbing import PARTICIPANT_KEYS, REMOVED, Scrubber, find_secrets
from proctor.activities.simulation.keys import admin_key, host_key, reader_key
from proctor.storage.blobs import BlobStore
from proctor.storage.temporal import connect
from purple_sdk.processes.ports import free_ports
from tests.a2a_gateway.callers import sdk_client
from tests.assessments import participants
from tests.assessments.observers import Running, running
from tests.assessments.participants import Json, by_hand
from tests.assessments.with_a_model.conftest import PROVIDER_KEY, Telltale
from tests.histories.reading import made_whole, payloads_in, reference, runs_of
from tests.openai_endpoint import quoting
from tests.sentences import says
from tests.stack import Assessed, Stack
from tests.work import only_nightly

FILLER = "x" * 150_000


@dataclass
class Traces:
    """What an assessment left behind: where it was found, to its text; ``blobs`` payloads stand beside its history."""

    task_id: str
    texts: dict[str, bytes] = field(default_factory=dict)
    blobs: int = 0

    def places_of(self, text: str) -> list[str]:
        """Where a text stands."""
        return [place for place, found in self.texts.items() if text.encode() in found]


def unwrapped(text: bytes) -> bytes:
    """A payload's text followed by what its strings are base64 of, which updates travel in."""
    found = [text]

    def walk(value: Any) -> None:
        if isinstance(value, str):
            try:
                found.append(unwrapped(base64.b64decode(value, validate=True)))
            except ValueError:
                return
        elif isinstance(value, list | dict):
            for member in value.values() if isinstance(value, dict) else value:
                walk(member)

    try:
        walk(json.loads(text))
    except ValueError:
        pass
    return b"\n".join(found)


async def traces(stack: Stack, assessment: Running, ended: Assessed) -> Traces:
    """Collect what can be read of an assessment by those who may look at Temporal, the store, the logs, the answers."""
    found = Traces(assessment.task_id)
    client, store = await connect(stack.config), BlobStore(stack.config.storage_url)
    for number, run in enumerate(await runs_of(client, assessment.task_id)):
        found.blobs += sum(reference(payload) is not None for event in run.events for payload in payloads_in(event))
        for event in made_whole(run, store).events:
            payloads = b"\n".join(unwrapped(payload.data) for payload in payloads_in(event))
            found.texts[f"run {number}, event {event.event_id}"] = event.SerializeToString() + payloads
    described = (await client.get_workflow_handle(assessment.task_id).describe()).raw_description
    found.texts["description"] = described.SerializeToString() + b"".join(p.data for p in payloads_in(described))
    for log in stack.local.logs.iterdir():
        found.texts[log.name] = log.read_bytes()
    for blob in filter(Path.is_file, Path(stack.config.storage_url).rglob("*")):
        content = blob.read_bytes()
        is_plain = blob.parent.name == "deployment"  # the store's id
        found.texts[f"blob {blob.name}"] = content if is_plain else unwrapped(zlib.decompress(content))
    for file in filter(Path.is_file, Path(stack.config.archive_url).rglob("*")):
        found.texts[f"archive {file.name}"] = file.read_bytes()
    found.texts["stream"] = await assessment.raw_stream(stack)
    found.texts["sentence"] = ended.sentence.encode()
    found.texts["results"] = ended.results.model_dump_json().encode() if ended.results else b""
    return found


def expect_none(found: Traces, stack: Stack) -> None:
    secret = stack.config.secret.get_secret_value()
    known = {
        "the deployment's secret": secret,
        "the host key": host_key(secret),
        "the admin key": admin_key(secret, found.task_id),
        "the reader's key": reader_key(secret, found.task_id),
        "the provider's key": PROVIDER_KEY,
    }
    assert {what: found.places_of(key) for what, key in known.items()} == {what: [] for what in known}
    assert [place for place, text in found.texts.items() if re.search(PARTICIPANT_KEYS.pattern.encode(), text)] == []


@asynccontextmanager
async def leaking(stack: Stack, answer: Callable[[str], Any], scenario_id: str = "leaky") -> AsyncIterator[Running]:
    """Play the leaky scenario with a participant that answers a turn so, given its key."""

    def with_key(_said: Json) -> Any:
        return answer(participant.messages[0]["api_key"])

    async with (
        by_hand(with_key) as participant,
        running(stack, participant.url, scenario_id, max_turns=1, offline=False, turn_tries=2) as assessment,
    ):
        await assessment.until("")
        yield assessment


def gossip(key: str) -> Json:
    """The turn is done, and its key in every free text and parameter; too long for a history, so it goes to a blob."""
    action = {
        "timestamp": "2026-03-02T09:00:00Z",
        "action": "email.send",
        "parameters": {"headers": {"X-API-Key": key}, key: [key], "body_text": f"{key}, {FILLER}"},
        "success": False,
        "error_message": f"{key} was refused",
    }
    return participants.message(
        participants.data({"message_type": "turn_complete", "actions": [action], "notes": f"my key is {key}, " * 300})
    )


def judge(telltale: Telltale) -> None:
    """Have a judge that quotes the key as well."""
    telltale.forget()
    items = [{"id": name, "reason": PROVIDER_KEY, "points": 1} for name in ("thanks", "warm")]
    telltale.answer("Now judge this criterion", quoting({"items": items, "explanation": f"With {PROVIDER_KEY}."}))


async def test_completed(modelled: Stack, telltale: Telltale) -> None:
    judge(telltale)
    telltale.statuses[:] = [429]
    async with leaking(modelled, gossip) as assessment:
        ended = await assessment.end()
    assert ended.state == "completed", ended.sentence
    found = await traces(modelled, assessment, ended)
    expect_none(found, modelled)
    assert ended.results is not None
    asked, told, manners = ended.results.criteria_results
    assert asked.explanation == f"judged with {REMOVED}"
    assert told.details == {"header": f"Bearer {REMOVED}"}
    assert manners.explanation == f"With {REMOVED}."
    [reported] = ended.results.action_report.reported
    body = reported.parameters.pop("body_text")
    assert body == f"{REMOVED}, {FILLER}"
    assert reported.parameters == {"headers": {"X-API-Key": REMOVED}, REMOVED: [REMOVED]}
    # Everything was said, and everything was looked at.
    assert any(place.startswith("run") for place in found.places_of(f"my key is {REMOVED}"))
    assert any(place.startswith("run") for place in found.places_of(f"Bad key: {REMOVED}"))
    assert found.blobs
    assert any(place.startswith("blob") for place in found.places_of(f"my key is {REMOVED}"))
    assert "stream" in found.places_of("update_assessment_completed")
    assert "description" in found.places_of("ProctorScenario")
    assert {"worker.log", "gateway.log", "ues.log", "temporal.log"} <= found.texts.keys()
    assert f"my key is {REMOVED}" in json.dumps(telltale.requests)
    expect_none(Traces(found.task_id, {"prompts": json.dumps(telltale.requests).encode()}), modelled)


async def test_failed_in_judging(modelled: Stack, telltale: Telltale) -> None:
    judge(telltale)
    async with leaking(modelled, gossip, "leaky_and_raising") as assessment:
        ended = await assessment.end()
    assert ended.state == "failed"
    assert says("401", removed=REMOVED).within(ended.sentence)
    expect_none(await traces(modelled, assessment, ended), modelled)


@only_nightly  # by default: test_failed_in_judging
async def test_failed_by_its_participant(modelled: Stack) -> None:
    def refuse(key: str) -> Json:
        return participants.task("failed", participants.text(f"401: {key} is not valid"))

    async with leaking(modelled, refuse) as assessment:
        ended = await assessment.end()
    assert ended.state == "failed"
    assert ended.sentence == says("401", removed=REMOVED)
    expect_none(await traces(modelled, assessment, ended), modelled)


@only_nightly
async def test_failed_by_its_model(modelled: Stack, telltale: Telltale) -> None:
    judge(telltale)
    telltale.statuses[:] = [401]
    async with leaking(modelled, gossip) as assessment:
        ended = await assessment.end()
    assert ended.state == "failed"
    assert f"Bad key: {REMOVED}" in ended.sentence
    expect_none(await traces(modelled, assessment, ended), modelled)


@only_nightly  # by default: test_a_task_that_is_named_after_the_key, which is canceled, too
async def test_canceled(modelled: Stack) -> None:
    async def dawdle(_key: str) -> None:
        await asyncio.Event().wait()

    async with leaking(modelled, dawdle) as assessment, sdk_client(modelled.gateway_url) as caller:
        await assessment.until("turn_started")
        await caller.cancel_task(CancelTaskRequest(id=assessment.task_id))
        ended = await assessment.end()
    assert ended.state == "canceled"
    expect_none(await traces(modelled, assessment, ended), modelled)


async def test_a_task_that_is_named_after_the_key(modelled: Stack) -> None:
    """The task's id is noted for the next attempt, in heartbeats, and Temporal shows them."""

    def working(_said: Json) -> Json:
        return participants.task("working", task_id=participant.messages[0]["api_key"])

    async with (
        by_hand(working, looked_at=working) as participant,
        running(modelled, participant.url, "leaky", max_turns=1, offline=False) as assessment,
        sdk_client(modelled.gateway_url) as caller,
    ):
        await assessment.until("turn_started")
        noted = await _heartbeats(modelled, assessment.task_id)
        await caller.cancel_task(CancelTaskRequest(id=assessment.task_id))
        ended = await assessment.end()
    assert ended.state == "canceled"
    assert REMOVED.encode() in noted
    found = await traces(modelled, assessment, ended)
    found.texts["heartbeats"] = noted
    expect_none(found, modelled)


async def _heartbeats(stack: Stack, task_id: str) -> bytes:
    """What the attempt under way has noted, as soon as that is more than the mark."""
    handle = (await connect(stack.config)).get_workflow_handle(task_id)
    while True:
        pending = (await handle.describe()).raw_description.pending_activities
        payloads = [payload.data for activity in pending for payload in activity.heartbeat_details.payloads]
        if len(payloads) > 1:
            return b"\n".join(payloads)
        await asyncio.sleep(0.05)


async def test_an_agent_that_logs_all_it_can(modelled: Stack, telltale: Telltale) -> None:
    judge(telltale)
    async with (
        _agent_process(modelled) as url,
        running(modelled, url, "leaky", max_turns=1, offline=False) as assessment,
    ):
        await assessment.until("")
        ended = await assessment.end()
    assert ended.state == "completed", ended.sentence
    found = await traces(modelled, assessment, ended)
    assert b"DEBUG" in found.texts["agent.log"]
    expect_none(found, modelled)


@asynccontextmanager
async def _agent_process(stack: Stack) -> AsyncIterator[str]:
    """Run the baseline agent, whose log stands beside the others."""
    (port,) = free_ports(1)
    with (stack.local.logs / "agent.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "proctor", "agent", "triage", "--port", str(port)),
            stdout=log,
            stderr=log,
            env={**os.environ, "AGENTBEATS_PURPLE_LOG_LEVEL": "DEBUG"},
        )
    try:
        async with httpx.AsyncClient(trust_env=False) as http:
            while True:
                with suppress(httpx.TransportError):
                    await http.get(f"http://127.0.0.1:{port}/.well-known/agent-card.json")
                    break
                await asyncio.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


def test_secrets_are_known_by_their_names() -> None:
    environment = {
        "OPENAI_API_KEY": "sk-0123456789",
        "hf_token": "hf-0123456789",
        "DB_PASSWORD": "correct horse",
        "AGENTBEATS_GREEN_SECRET": "0123456789",
        "AZURE_STORAGE_CONNECTION_STRING": "AccountKey=0123",
        "KEYBOARD": "qwertyuiop",
        "TOKENIZERS_PARALLELISM": "false-or-true",
        "SHORT_KEY": "test",
    }
    assert find_secrets(environment) == {
        "sk-0123456789",
        "hf-0123456789",
        "correct horse",
        "0123456789",
        "AccountKey=0123",
    }


def test_failures_are_cleaned_with_their_causes() -> None:
    scrubber = Scrubber(["the-secret", "the-secret-and-more"])
    clean = ApplicationError("fine", type="Fine")
    assert scrubber.failure(clean) is clean
    canceled = CancelledError("the-secret")
    assert scrubber.failure(canceled) is canceled

    problem = ApplicationError("no the-secret-and-more", {"k": "the-secret"}, type="Mine", non_retryable=True)
    problem.__cause__ = ValueError("bad the-secret")
    found = scrubber.failure(problem)
    assert isinstance(found, ApplicationError)
    assert (found.message, found.type, found.non_retryable) == (f"no {REMOVED}", "Mine", True)
    assert list(found.details) == [{"k": REMOVED}]
    cause = found.__cause__
    assert isinstance(cause, ApplicationError)
    assert (cause.message, cause.type) == (f"bad {REMOVED}", "ValueError")


def test_what_was_raised_before_a_failure_is_cleaned_too() -> None:
    """Temporal shows it as the cause where it was not suppressed."""
    try:
        try:
            raise ValueError("bad the-secret, half \ud83d")
        except ValueError:
            raise ApplicationError("fine", type="Fine")  # noqa: B904
    except ApplicationError as error:
        found = Scrubber(["the-secret"]).failure(error)
    assert isinstance(found, ApplicationError)
    assert (found.message, str(found.__cause__)) == ("fine", f"ValueError: bad {REMOVED}, half ?")


def test_what_can_be_kept_is_returned_as_it_is() -> None:
    scrubber, fine = Scrubber(["the-secret"]), [{"a": "b\0"}, ["é", 2**60]]
    assert scrubber.result(fine) is fine
    assert scrubber.result({"half": "\ud83d", "n": [1]}) == {"half": "?", "n": [1]}
    deep: list[Any] = []
    for _ in range(150):
        deep = [deep]
    assert scrubber.result(deep) == json.loads("[" * 31 + '"…"' + "]" * 31)
