"""Agents with one planted fault each, on one thread: the agent with FAULT is at ``/FAULT``.

They are written on a2a-sdk, as an agent is that has nothing of ours; ``sound`` and
``blunt``, which acts without looking, have no fault, and ``sdk`` is on purple_sdk.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from a2a.helpers.proto_helpers import new_data_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Task, TaskState, TaskStatus
from starlette.applications import Starlette
from starlette.routing import Mount

from purple_sdk import BasePurpleAgent, create_app
from purple_sdk.processes.serving import InnerServer, get_address, listen
from purple_sdk.protocol.messages import TurnCompleteMessage
from purple_sdk.settings.config import PurpleAgentConfig

GOOD = ("sound", "blunt", "sdk")
FAULTS = {
    "leads-elsewhere": "card",
    "no-0.3": "protocol-0.3",
    "raises-when-greeted": "greeting",
    "never-answers": "timing",
    "fails-its-turns": "turn",
    "talks": "message-type",
    "no-timestamps": "message-fields",
    "one-memory-for-all": "apart",
    "asks-for-too-much": "key",
    "keeps-quiet": "unreported",
    "boasts": "made-up",
    "acts-twice": "same-message",
    "knows-the-turn": "played-again",
    "keeps-its-key": "new-greeting",
    "deaf-to-cancel": "cancellation",
    "goes-on": "after-end",
}
"""Each fault, and the check that is to name it."""


class Herald(BasePurpleAgent):
    """purple_sdk's: tells the user of new mail."""

    name = "herald"

    async def execute_turn(self) -> TurnCompleteMessage:
        told = self.state or []
        for mail in await self.ues_client.get_unread_emails():
            if mail.message_id not in told:
                await self.ues_client.send_chat_message(f"New mail from {mail.from_address}")
                told.append(mail.message_id)
        self.state = told
        return self.complete_turn()


@dataclass
class Assessment:
    """What one context knows."""

    start: dict[str, Any]
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)


class Faulty(AgentExecutor):
    """Tells the user in every turn how much mail there is."""

    def __init__(self, fault: str) -> None:
        self._fault = fault
        self._known: dict[str, Assessment] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._going_on: set[asyncio.Task[None]] = set()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        task_id, context_id = context.task_id or "", context.context_id or ""
        said = json.loads(next(part.text for part in context.message.parts if part.HasField("text")))
        status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        await event_queue.enqueue_event(Task(id=task_id, context_id=context_id, status=status))
        task = TaskUpdater(event_queue, task_id, context_id)
        await task.start_work()
        place = "all" if self._fault == "one-memory-for-all" else context_id
        match said["message_type"]:
            case "assessment_start":
                if self._fault == "raises-when-greeted":
                    await task.failed()
                    return
                if place not in self._known or self._fault == "one-memory-for-all":
                    self._known[place] = Assessment(said)
                elif self._fault != "keeps-its-key":
                    self._known[place].start = said
                await task.complete()
            case "turn_start":
                work = asyncio.create_task(self._turn(place, context.message.message_id, said, task))
                self._running[task_id] = work
                await asyncio.wait({work})
                if not work.cancelled() and work.exception() is not None:
                    await task.failed()
            case "assessment_complete":
                if self._fault == "goes-on" and place in self._known:
                    self._going_on.add(asyncio.create_task(self._go_on(self._known[place].start)))
                self._known.pop(place, None)
                await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        work = self._running.get(context.task_id or "")
        if work is not None and self._fault != "deaf-to-cancel":
            work.cancel()
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()

    async def _turn(self, place: str, message_id: str, said: dict[str, Any], task: TaskUpdater) -> None:
        known = self._known[place]
        if self._fault == "never-answers":
            await asyncio.Event().wait()
        if self._fault == "fails-its-turns":
            raise RuntimeError("out of tokens")
        key = str(said["turn_number"]) if self._fault == "knows-the-turn" else message_id
        if key not in known.answers or self._fault == "acts-twice":
            known.answers[key] = await self._act(known.start, said)
        await task.add_artifact([new_data_part(known.answers[key])])
        await task.complete()

    async def _act(self, start: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
        headers = {"X-API-Key": start["api_key"]}
        async with httpx.AsyncClient(base_url=start["ues_url"], headers=headers, trust_env=False) as ues:
            mails: dict[str, Any] = {"emails": []}
            if self._fault != "blunt":
                mails = (await ues.post("/email/query", json={"folder": "inbox"})).raise_for_status().json()
            if self._fault == "asks-for-too-much":
                await ues.get("/events")
            message = {"role": "assistant", "content": f"{len(mails['emails'])} mails"}
            (await ues.post("/chat/send", json=message)).raise_for_status()
        did = {"timestamp": said["current_time"], "action": "chat.send", "parameters": message, "success": True}
        if self._fault == "no-timestamps":
            del did["timestamp"]
        boast = {**did, "action": "email.archive", "parameters": {"message_ids": ["all"]}}
        actions = {"keeps-quiet": [], "boasts": [did, boast]}.get(self._fault, [did])
        if self._fault == "talks":
            return {"text": "I am done."}
        return {"message_type": "turn_complete", "actions": actions}

    async def _go_on(self, start: dict[str, Any]) -> None:
        await asyncio.sleep(0.05)
        await self._act(start, {"current_time": start["current_time"]})


def app_of(fault: str, address: str) -> Starlette:
    """One agent."""
    url = f"{address}/{fault}/"
    if fault == "sdk":
        return create_app(Herald, PurpleAgentConfig(card_url=url))
    versions = ("1.0", "0.3.0") if fault == "no-0.3" else ("1.0",)
    told = "http://127.0.0.1:9/" if fault == "leads-elsewhere" else url
    card = AgentCard(
        name=fault,
        description="an agent",
        version="1",
        supported_interfaces=[
            AgentInterface(url=told, protocol_binding="JSONRPC", protocol_version=version) for version in versions
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["application/json"],
        default_output_modes=["application/json"],
        skills=[AgentSkill(id="mail", name="Mail", description="Tells of mail.", tags=["mail"])],
    )
    handler = DefaultRequestHandler(agent_executor=Faulty(fault), task_store=InMemoryTaskStore(), agent_card=card)
    return Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])


@contextmanager
def served() -> Iterator[str]:
    """Serve them all on a thread; gives the address that their names come after."""
    listener = listen("127.0.0.1", 0, "the agents")
    address = get_address(listener)
    apps = {name: app_of(name, address) for name in (*GOOD, *FAULTS)}

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for application in apps.values():
                await stack.enter_async_context(application.router.lifespan_context(application))
            yield

    app = Starlette(routes=[Mount(f"/{name}", application) for name, application in apps.items()], lifespan=lifespan)
    server = InnerServer(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
