"""Participants as the A2A SDK's own guide has them: an executor that answers with a message, and that may raise."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from a2a.helpers.proto_helpers import new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, Message, Part, Role
from starlette.applications import Starlette

from tests.stack import listening

OUT_OF_MEMORY = "the model ran out of memory"


class Ordinary(AgentExecutor):
    """Does nothing in a turn, and raises in the first try of the first; ``seen`` are the messages that it got."""

    def __init__(self, with_task: bool) -> None:
        self._with_task = with_task
        self.seen: list[tuple[str, int]] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        said = json.loads(next(part.text for part in context.message.parts if part.HasField("text")))
        self.seen.append((said["message_type"], said.get("attempt", 0)))
        if said["message_type"] != "turn_start":
            await event_queue.enqueue_event(_message(context, new_text_part("Good day.")))
            return
        if self._with_task:
            await self._fail_as_task(context, event_queue, said["attempt"])
        elif said["attempt"] == 1:
            raise RuntimeError(OUT_OF_MEMORY)
        else:
            await event_queue.enqueue_event(_message(context, _done()))

    async def _fail_as_task(self, context: RequestContext, event_queue: EventQueue, attempt: int) -> None:
        assert context.message is not None
        assert context.task_id is not None
        assert context.context_id is not None
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
        if attempt == 1:
            await task.failed(task.new_agent_message([new_text_part(OUT_OF_MEMORY)]))
        else:
            await task.complete(task.new_agent_message([_done()]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Has nothing to stop."""


@asynccontextmanager
async def ordinary_agent(
    protocol: str, binding: str, *, streams: bool, with_task: bool = False
) -> AsyncIterator[tuple[str, Ordinary]]:
    """Serve such an agent; gives its address and itself."""
    executor = Ordinary(with_task)

    def app(url: str) -> Starlette:
        card = AgentCard(
            name="ordinary",
            description="Made by the guide.",
            version="1",
            supported_interfaces=[AgentInterface(url=f"{url}/", protocol_binding=binding, protocol_version=protocol)],
            capabilities=AgentCapabilities(streaming=streams),
            default_input_modes=["application/json"],
            default_output_modes=["application/json"],
        )
        handler = DefaultRequestHandler(agent_executor=executor, task_store=InMemoryTaskStore(), agent_card=card)
        return Starlette(
            routes=[
                *create_agent_card_routes(card),
                *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True),
                *create_rest_routes(handler, enable_v0_3_compat=True),
            ]
        )

    async with listening(app) as url:
        yield url, executor


def _done() -> Part:
    return new_data_part({"message_type": "turn_complete", "actions": []})


def _message(context: RequestContext, part: Part) -> Message:
    return Message(message_id="an answer", context_id=context.context_id or "", role=Role.ROLE_AGENT, parts=[part])
