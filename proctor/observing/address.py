"""Serve ``/health``, ``/ready`` and ``/metrics`` over HTTP for services without a public HTTP address.

Requests are not authenticated: use the loopback address or a private network.
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
from proctor.observing.readiness import Look, check_needs
from purple_sdk.processes.announcing import announce
from purple_sdk.processes.serving import InnerServer, address_of, listen


def observing_app(needs: Mapping[str, Look], render: metrics.Render = metrics.render) -> Starlette:
    """Return the application with the three pages.

    Args:
        needs: the checks of ``/ready``, by name.
        render: returns the text of ``/metrics``.
    """

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> JSONResponse:
        findings = await check_needs(needs)
        is_ready = set(findings.values()) <= {"ok"}
        return JSONResponse({"status": "ready" if is_ready else "not ready", **findings}, 200 if is_ready else 503)

    async def counted(_: Request) -> Response:
        return Response(await render(), media_type=metrics.MEDIA_TYPE)

    return Starlette(routes=[Route("/health", health), Route("/ready", ready), Route("/metrics", counted)])


@asynccontextmanager
async def observed(
    host: str, port: int | None, who: str, needs: Mapping[str, Look], render: metrics.Render = metrics.render
) -> AsyncIterator[str | None]:
    """Serve the pages while the context is open; yields their address and announces it on standard output.

    Args:
        host: an address of this machine.
        port: 0 takes a free port; with None, no server starts and the address is None.
        who: the service's name, for the announcement.
        needs: the checks of ``/ready``, by name.
        render: returns the text of ``/metrics``.

    Raises:
        OSError: the address can't be listened on; ``strerror`` is a sentence with the remedy.
    """
    if port is None:
        yield None
        return
    try:
        listener = listen(host, port, who)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        problem_text = f"{who} can't serve /health, /ready and /metrics at {host}:{port} ({reason}): "
        remedy = "choose another AGENTBEATS_GREEN_OBSERVE_PORT, or don't set it"
        raise OSError(error.errno, problem_text + remedy) from None
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
