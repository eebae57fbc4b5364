"""Serve an agent over HTTP at one address, by A2A 1.0 and 0.3, as JSON-RPC and HTTP+JSON."""

import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

import uvicorn
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Task,
)
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0, TransportProtocol
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from purple_sdk.agent import AgentFactory, BasePurpleAgent
from purple_sdk.conversations import Conversations
from purple_sdk.executor import KEEP_ALIVE, ClosingExecutor, PurpleAgentExecutor
from purple_sdk.processes.serving import Server, listen
from purple_sdk.settings.config import PurpleAgentConfig, merge_configs

_EARLY_CARD_PATH = "/.well-known/agent.json"
"""Address of the agent card for evaluators of early 0.3 versions, and for the seed's."""

_GRACE = 3
"""Time limit in seconds for requests to end after SIGTERM."""

MOST_TASKS = 2000


def agent_card(name: str, description: str, url: str) -> AgentCard:
    """Return the agent's card: its name, and the addresses and protocol versions at which it can be reached."""
    modes = ["application/json", "text/plain"]
    urls = {TransportProtocol.JSONRPC: url, TransportProtocol.HTTP_JSON: url.rstrip("/")}  # paths are appended to it
    return AgentCard(
        name=name,
        description=description,
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=urls[binding], protocol_binding=binding, protocol_version=version)
            for version in (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3)
            for binding in (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON)
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=modes,
        default_output_modes=modes,
        skills=[
            AgentSkill(
                id="personal_assistant",
                name="Personal assistant",
                description="Takes part in assessments: plays turns in a simulated user's environment.",
                tags=["assessment", "personal-assistant"],
            )
        ],
    )


def create_app(
    agent_factory: AgentFactory,
    config: PurpleAgentConfig,
    *,
    name: str | None = None,
    description: str | None = None,
    keep_alive: float = KEEP_ALIVE,
    conversations: Conversations | None = None,
) -> Starlette:
    """Make the ASGI application of an agent.

    Args:
        agent_factory: makes the agent of one assessment; usually the agent's class.
        config: the settings. The card has their ``effective_card_url``, so replace a port 0 by a real port before.
        keep_alive: seconds between status updates while a turn runs.
    """
    if conversations is None:
        conversations = Conversations(agent_factory, config)
    name = name or _class_says(agent_factory, "name")
    description = description or _class_says(agent_factory, "description")
    executor = PurpleAgentExecutor(conversations, keep_alive)
    return create_executor_app(executor, config, name=name, description=description)


def serve(
    agent_factory: AgentFactory,
    config: PurpleAgentConfig,
    *,
    name: str | None = None,
    description: str | None = None,
    keep_alive: float = KEEP_ALIVE,
) -> None:
    """Serve an agent until SIGTERM or Ctrl-C. Print ``NAME listening on http://...`` when it is ready.

    Port 0 takes a free port. The call blocks; make it on the main thread. Raises OSError if the server can't listen at
    the address.
    """

    def make(config: PurpleAgentConfig) -> PurpleAgentExecutor:
        return PurpleAgentExecutor(Conversations(agent_factory, config), keep_alive)

    name = name or _class_says(agent_factory, "name")
    description = description or _class_says(agent_factory, "description")
    serve_executor(make, config, name=name, description=description)


def serve_executor(
    make: Callable[[PurpleAgentConfig], ClosingExecutor], config: PurpleAgentConfig, *, name: str, description: str
) -> None:
    """Serve an agent as ``serve`` does, but let its executor read the evaluator's messages.

    Args:
        make: makes the executor from the final settings, in which port 0 has become a real one.

    Raises:
        OSError: the server can't listen at the address.
    """
    logging.basicConfig(level=config.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty in ("httpx", "httpx2"):  # they log a line for every call
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # At lower levels it logs whole messages, with the key in them.
    logging.getLogger("a2a.server.routes").setLevel(logging.INFO)
    listener = listen(config.host, config.port, "the agent")
    config = merge_configs(config, {"port": listener.getsockname()[1]})
    app = create_executor_app(make(config), config, name=name, description=description)
    settings = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=_GRACE)
    # The address at which this process listens. The card's address may be a proxy's.
    address = merge_configs(config, {"card_url": None}).effective_card_url
    Server(settings, f"{name} listening on {address}").run(sockets=[listener])


def create_executor_app(
    executor: ClosingExecutor, config: PurpleAgentConfig, *, name: str, description: str
) -> Starlette:
    """Make the ASGI application of an agent that reads the evaluator's messages itself.

    Args:
        executor: handles each A2A message. It is closed with the application.
        config: the settings. The card has their ``effective_card_url``.
    """
    card = agent_card(name, description, config.effective_card_url)
    handler = DefaultRequestHandler(agent_executor=executor, task_store=BoundedTaskStore(), agent_card=card)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await executor.aclose()
            await handler.aclose()

    routes = [
        *create_agent_card_routes(card),
        *create_agent_card_routes(card, card_url=_EARLY_CARD_PATH),
        *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True),
        *create_rest_routes(handler, enable_v0_3_compat=True),
    ]
    return Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(WholeRequests)])


def _class_says(agent_factory: AgentFactory, attribute: Literal["name", "description"]) -> str:
    return str(getattr(agent_factory, attribute, getattr(BasePurpleAgent, attribute)))


class BoundedTaskStore(InMemoryTaskStore):
    """Stores the ``most`` latest written tasks; older ones are dropped."""

    def __init__(self, most: int = MOST_TASKS) -> None:
        super().__init__()
        self._most = most
        self._order: OrderedDict[str, ServerCallContext] = OrderedDict()

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Store a task, and drop the oldest one if there are too many."""
        await super().save(task, context)
        self._order[task.id] = context
        self._order.move_to_end(task.id)
        while len(self._order) > self._most:
            oldest, its_context = self._order.popitem(last=False)
            await self.delete(oldest, its_context)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Drop a task."""
        self._order.pop(task_id, None)
        await super().delete(task_id, context)


class WholeRequests:
    """An ASGI middleware that passes on only complete requests: if the caller hangs up in the middle, nothing happens.

    Without it, the reader of a body logs a traceback if the caller disconnects in the middle, for example at its time
    limit. The application then sends an answer that is not received.

    Args:
        app: the application that answers the requests. Whole bodies are held in memory, so they must be small.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, according to the ASGI specification."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        pieces: list[bytes] = []
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            pieces.append(message.get("body", b""))
            more = message.get("more_body", False)
        whole: list[Message] = [{"type": "http.request", "body": b"".join(pieces), "more_body": False}]
        await self._app(scope, lambda: _next(whole, receive), send)


async def _next(whole: list[Message], receive: Receive) -> Message:
    return whole.pop() if whole else await receive()
