"""A caller who asks for an assessment and looks at it when it is over."""

from dataclasses import dataclass
from typing import Any

from a2a.client import Client as Caller
from a2a.types import GetTaskRequest, Task
from google.protobuf.json_format import MessageToDict

from purple_sdk.protocol.results import AssessmentResults
from tests.a2a_gateway.callers import data_part, message, send, state_name
from tests.a2a_gateway.conftest import REQUEST


@dataclass
class Over:
    """An assessment that has ended: its task, its results, its updates."""

    task: Task
    results: AssessmentResults | None
    updates: list[dict[str, Any]]

    @property
    def state(self) -> str:
        return state_name(self.task.status.state)

    @property
    def sentence(self) -> str:
        return " ".join(part.text for part in self.task.status.message.parts)

    @property
    def problems(self) -> list[dict[str, Any]]:
        return [update for update in self.updates if update["message_type"] == "update_error_occurred"]


async def played(caller: Caller, context: str = "") -> Over:
    """Ask for an assessment and wait for its end."""
    task = await send(caller, message(data_part(REQUEST), context=context))
    return await looked_at(caller, task.id)


async def looked_at(caller: Caller, task_id: str) -> Over:
    """An assessment that has ended, as somebody sees it who comes only then."""
    task = await caller.get_task(GetTaskRequest(id=task_id, history_length=1000))
    raw = [part.raw for artifact in task.artifacts for part in artifact.parts if part.HasField("raw")]
    results = AssessmentResults.model_validate_json(raw[0]) if raw else None
    updates = [MessageToDict(part.data) for said in task.history[1:] for part in said.parts if part.HasField("data")]
    return Over(task, results, updates)
