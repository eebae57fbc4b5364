"""The gateway's HTTP application, and the process that serves it."""

import contextlib
import signal
import socket
from collections.abc import Iterator
from functools import partial
from typing import Any

import uvicorn
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_gateway.card import agent_card
from a2a_gateway.handler import AssessmentHandler
from a2a_gateway.legacy import (
    LEGACY_CARD_PATH,
    ContextBuilder,
    deletion_route,
    with_checked_params,
    with_checked_roles,
    with_stream_errors,
)
from a2a_gateway.limits import BodyLimit
from a2a_gateway.logs import RefusalLog, leave_refusals_to_us
from a2a_gateway.temporal import ClientFactory, TemporalConnection
from proctor_protocol.config import GreenAgentConfig, merge_configs
from proctor_storage.temporal import connect

RPC_PATH = "/"
SHUTDOWN_GRACE = 5
"""Seconds that requests under way get when the process is told to stop; streams end at once, to be taken up again."""


def create_app(config: GreenAgentConfig, client_factory: ClientFactory) -> Starlette:
    """The gateway: agent card, JSON-RPC at ``/``, HTTP+JSON beside it, both for protocols 1.0 and 0.3, ``/health``.

    Args:
        config: the deployment's settings; ``effective_card_url`` goes on the card.
        client_factory: connects to Temporal; raises ``TemporalUnreachableError`` where nobody answers. Called when a
            client is first needed, and again until it succeeds.
    """
    connection = TemporalConnection(client_factory)
    handler = AssessmentHandler(config, connection)

    async def health(request: Request) -> JSONResponse:
        found = await connection.health(config.task_queue)
        is_well = set(found.values()) == {"ok"}
        return JSONResponse({"status": "ok" if is_well else "degraded", **found}, 200 if is_well else 503)

    card, contexts = agent_card(config), ContextBuilder()
    routes = [
        Route("/health", health),
        deletion_route(handler, contexts),
        *create_agent_card_routes(card),
        *create_agent_card_routes(card, card_url=LEGACY_CARD_PATH),
        *with_checked_params(
            create_jsonrpc_routes(handler, RPC_PATH, context_builder=contexts, enable_v0_3_compat=True)
        ),
        *with_checked_roles(
            with_stream_errors(create_rest_routes(handler, context_builder=contexts, enable_v0_3_compat=True))
        ),
    ]
    return Starlette(routes=routes, middleware=[Middleware(RefusalLog), Middleware(BodyLimit, rpc_path=RPC_PATH)])


async def serve(config: GreenAgentConfig) -> None:
    """Serve the gateway until SIGTERM or SIGINT; port 0 takes any free port.

    Prints ``proctor gateway listening on http://HOST:PORT`` when it can be reached.

    Raises:
        OSError: the address can't be listened on.
    """
    listener = _listen(config.host, config.port)
    host, port = listener.getsockname()[:2]
    config = merge_configs(config, {"port": port})
    leave_refusals_to_us()
    app = create_app(config, partial(connect, config))
    server = _Server(
        uvicorn.Config(
            app,
            log_level=config.log_level.lower(),
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=SHUTDOWN_GRACE,
        ),
        ready=f"proctor gateway listening on http://{f'[{host}]' if ':' in host else host}:{port}",
    )
    with _quiet_exit():
        await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: str) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            print(self._ready, flush=True)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as problem:
        listener.close()
        raise OSError(
            problem.errno, f"the gateway can't listen on {host}:{port} ({problem.strerror}): choose another --port"
        ) from None
    return listener


@contextlib.contextmanager
def _quiet_exit() -> Iterator[None]:
    """Let SIGTERM and SIGINT end ``serve`` like any other function: uvicorn raises them once more when it is done."""

    def ignore(number: int, frame: Any) -> None:
        del number, frame

    before = {number: signal.signal(number, ignore) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
