"""The gateway's HTTP application, and the process that serves it."""

import asyncio
import logging
import re
from collections.abc import Sequence
from functools import partial

from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.types import AgentCard
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from proctor.a2a_gateway.answers import RetryLater
from proctor.a2a_gateway.auth.middleware import Authentication
from proctor.a2a_gateway.card import agent_card, secured
from proctor.a2a_gateway.handler import AssessmentHandler
from proctor.a2a_gateway.legacy import LEGACY_CARD_PATH, ContextBuilder, deletion_route, mended, with_checked_params
from proctor.a2a_gateway.limits import BodyLimit
from proctor.a2a_gateway.logs import RefusalLog, leave_refusals_to_us
from proctor.a2a_gateway.metrics import REQUEST_SECONDS, REQUESTS, STREAMS
from proctor.a2a_gateway.plain_messages import plain_messages_route
from proctor.a2a_gateway.request_checks import check
from proctor.a2a_gateway.run_files import run_files_route
from proctor.a2a_gateway.streams import sharing
from proctor.a2a_gateway.temporal import TEMPORAL_PATH, ClientFactory, TemporalConnection
from proctor.a2a_gateway.watching import Watching
from proctor.observing.address import observed
from proctor.observing.logs import set_up_logs
from proctor.observing.readiness import log_problems
from proctor.observing.requests import CountedRequests
from proctor.observing.tracing import TracedRequests, is_tracing, start_tracing, stop_tracing
from proctor.processes.slow_senders import make_config
from proctor.protocol.callers import get_caller
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from purple_sdk.processes.serving import Server, get_address, listen
from purple_sdk.settings.config import merge_configs

RPC_PATH = "/"
CARD_CACHING = "public, max-age=300"
"""How long callers may cache the card; an operator may change its address at any time."""

_ID_IN_PATH = re.compile(r"(?<=/)(?=[^/]*\d)[0-9A-Za-z_-]{8,}(?=[:/]|$)")

_OTHERS_START_WITHIN = 20.0
"""Seconds after the gateway's start in which a missing worker, store or provider is not reported."""

SHUTDOWN_GRACE = 5
"""Seconds that open requests get when the process is asked to stop; streams end at once, for callers to resume."""


def create_app(config: GreenAgentConfig, client_factory: ClientFactory, pages: Sequence[BaseRoute] = ()) -> Starlette:
    """Return the gateway: agent card, JSON-RPC at ``/``, HTTP+JSON beside it, both for protocols 1.0 and 0.3.

    For monitoring it has ``/metrics``, ``/health`` (whether assessments can be played) and ``/ready`` (whether
    everything that the gateway needs works).

    Args:
        config: the deployment's settings; ``effective_card_url`` is written on the card.
        client_factory: connects to Temporal; raises ``TemporalUnreachableError`` if no server answers. It is called
            when a client is first needed, and again until it succeeds.
        pages: routes for people with a browser.
    """
    authentication = Authentication(config)
    connection = TemporalConnection(client_factory)
    handler = AssessmentHandler(config, connection)
    watching = Watching(config, connection)

    async def temporal(request: Request) -> JSONResponse:
        if not get_caller(request.scope).is_admin:
            return JSONResponse({"error": {"code": 403, "message": "Only admins may see Temporal's address."}}, 403)
        return JSONResponse({"address": config.temporal_address, "namespace": config.temporal_namespace})

    async def with_security(public: AgentCard) -> AgentCard:
        return secured(public, config) if authentication.identity.is_asked() else public

    card, contexts = agent_card(config), ContextBuilder()
    routes = [
        *pages,  # first, because HTTP+JSON takes any path for a tenant's
        *authentication.routes,
        *watching.routes,
        deletion_route(handler, contexts),
        Route(TEMPORAL_PATH, temporal),
        run_files_route(config, connection),
        plain_messages_route(handler, contexts),
        *create_agent_card_routes(card, with_security, cache_control=CARD_CACHING),
        *create_agent_card_routes(card, with_security, card_url=LEGACY_CARD_PATH, cache_control=CARD_CACHING),
        *sharing(
            with_checked_params(
                create_jsonrpc_routes(handler, RPC_PATH, context_builder=contexts, enable_v0_3_compat=True)
            )
        ),
        *sharing(mended(create_rest_routes(handler, context_builder=contexts, enable_v0_3_compat=True))),
    ]
    middleware = [
        *([Middleware(TracedRequests, name_of=route_name)] if is_tracing() else []),
        Middleware(CountedRequests, requests=REQUESTS, seconds=REQUEST_SECONDS, streams=STREAMS),
        Middleware(RefusalLog),
        Middleware(RetryLater),
        *authentication.middleware,
        Middleware(BodyLimit, rpc_path=RPC_PATH, check=check),
    ]
    app = Starlette(routes=routes, middleware=middleware)
    app.state.watching = watching
    return app


def route_name(path: str) -> str:
    """Return a request's path without ids, for the name of its span."""
    return _ID_IN_PATH.sub("{id}", path)


async def _look_after_start(watching: Watching) -> None:
    """Log what the gateway lacks, once the other services have had time to start."""
    await asyncio.sleep(_OTHERS_START_WITHIN)
    await log_problems(logging.getLogger(__name__), watching.needs)


async def serve(config: GreenAgentConfig, pages: Sequence[BaseRoute] = ()) -> None:
    """Serve the gateway until SIGTERM or SIGINT; port 0 takes any free port.

    Prints ``proctor gateway listening on http://HOST:PORT`` when it accepts connections. Raises OSError if it can't
    listen on the address.
    """
    set_up_logs(config.log_format, config.log_level, "uvicorn")
    start_tracing("proctor-gateway")
    listener = listen(config.host, config.port, "the gateway")
    config = merge_configs(config, {"port": listener.getsockname()[1]})
    leave_refusals_to_us()
    app = create_app(config, partial(connect, config), pages)
    server = Server(
        make_config(
            app,
            log_level=config.log_level.lower(),
            log_config=None,
            timeout_graceful_shutdown=SHUTDOWN_GRACE,
        ),
        ready=f"proctor gateway listening on {get_address(listener)}",
    )
    watching: Watching = app.state.watching
    address = (config.observe_host, config.observe_port)
    async with observed(*address, "proctor gateway", watching.needs, watching.render):
        first_look = asyncio.create_task(_look_after_start(watching))
        await server.serve(sockets=[listener])
        first_look.cancel()
    stop_tracing()
