"""Histories as Temporal keeps them, made whole: every run of a workflow, with no payload that is only a reference."""

import json
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import History
from temporalio.client import Client, WorkflowHistory

from proctor.storage.blobs import BlobRef, BlobStore


async def runs_of(client: Client, workflow_id: str) -> list[WorkflowHistory]:
    """Every run of a workflow that led to the present one, earliest first."""
    run_id = (await client.get_workflow_handle(workflow_id).describe()).run_id
    runs: list[WorkflowHistory] = []
    while run_id:
        history = await client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history()
        runs.insert(0, history)
        run_id = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id
    return runs


def made_whole(history: WorkflowHistory, store: BlobStore) -> WorkflowHistory:
    """A copy whose payloads are all inline."""
    whole = History()
    whole.CopyFrom(History(events=history.events))
    for payload in payloads_in(whole):
        if (ref := reference(payload)) is not None:
            payload.ParseFromString(store.get_blocking(ref))
    return WorkflowHistory(history.workflow_id, list(whole.events))


def reference(payload: Payload) -> BlobRef | None:
    """The blob that a payload stands for, if it does."""
    if not payload.metadata.get("messageType", b"").endswith(b"ExternalStorageReference"):
        return None
    claim = json.loads(payload.data)["claimData"]
    return BlobRef(sha256=claim["sha256"], size=int(claim["size"]))


def payloads_in(message: Message) -> Iterator[Payload]:
    """Every payload of a message, however deep."""
    if isinstance(message, Payload):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            members: Any = [value[key] for key in value]
        else:
            members = value if field.is_repeated else [value]
        for member in members:
            if isinstance(member, Message):
                yield from payloads_in(member)
