"""The small HTTP address of a service that has none for strangers: ``/health``, ``/ready`` and ``/metrics``.

Requests are not authenticated: it is meant for the loopback address, or for a network of one's own.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from proctor.observing import metrics
from proctor.observing.readiness import Look, look_at
from purple_sdk.processes.announcing import announce
from purple_sdk.processes.serving import InnerServer, address_of, listen


def observing_app(needs: Mapping[str, Look], render: metrics.Render = metrics.render) -> Starlette:
    """The three pages.

    Args:
        needs: what ``/ready`` looks at, by name.
        render: what ``/metrics`` tells.
    """

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> JSONResponse:
        findings = await look_at(needs)
        is_ready = set(findings.values()) <= {"ok"}
        return JSONResponse({"status": "ready" if is_ready else "not ready", **findings}, 200 if is_ready else 503)

    async def counted(_: Request) -> Response:
        return Response(await render(), media_type=metrics.MEDIA_TYPE)

    return Starlette(routes=[Route("/health", health), Route("/ready", ready), Route("/metrics", counted)])


@asynccontextmanager
async def observed(
    host: str, port: int | None, who: str, needs: Mapping[str, Look], render: metrics.Render = metrics.render
) -> AsyncIterator[str | None]:
    """Serve the pages meanwhile; gives their address, and says it on standard output. Nothing without a port.

    Args:
        host: an address of this machine.
        port: 0 takes a free one; with None, there is no server.
        who: the service, for the line that says where.
        needs: what ``/ready`` looks at.
        render: what ``/metrics`` tells.

    Raises:
        OSError: the address can't be listened on; a sentence in ``strerror``.
    """
    if port is None:
        yield None
        return
    try:
        listener = listen(host, port, who)
    except OSError as problem:
        problem_text = f"{who} can't tell how it is at {host}:{port} ({os.strerror(problem.errno or 0)}): "
        remedy = "choose another AGENTBEATS_GREEN_OBSERVE_PORT, or none"
        raise OSError(problem.errno, problem_text + remedy) from None
    app = observing_app(needs, render)
    server = InnerServer(uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", log_config=None))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    announce(f"{who} observed at {address_of(listener)}")
    try:
        yield address_of(listener)
    finally:
        server.should_exit = True
        await asyncio.wait({serving}, timeout=5)
        listener.close()
