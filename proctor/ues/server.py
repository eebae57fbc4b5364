"""Run the simulator: as a separate server, or in-process as an ASGI application."""

import asyncio
import gc
import os
import re
import secrets
from dataclasses import dataclass
from typing import Any

from proctor.observing.tracing import TracedRequests, start_tracing, stop_tracing
from proctor.processes.slow_senders import make_config
from proctor.ues.host import Host
from proctor.ues.http.app import Application
from proctor.ues.keys import new_secret
from proctor.ues.metrics import counted
from purple_sdk.processes.announcing import announce
from purple_sdk.processes.serving import Server, get_address, listen

_SIMULATION = re.compile(r"^(/simulations/)[^/]+")

HOST_KEY_VARIABLE = "UES_HOST_KEY"
ADMIN_KEY_VARIABLE = "UES_ADMIN_KEY"


@dataclass(frozen=True, slots=True)
class Served:
    """An application and the secret that opens it."""

    app: Application
    secret: str
    generated: bool
    """Whether the secret was made here and must therefore be shown."""


def _build(
    *, single: bool, host_key: str | None, admin_key: str | None, public_url: str | None, seed: str | None
) -> Served:
    host = Host()
    key = admin_key or os.environ.get(ADMIN_KEY_VARIABLE) if single else host_key or os.environ.get(HOST_KEY_VARIABLE)
    secret = key or new_secret()
    simulation = host.create("default", secret, seed) if single else None
    app = Application(
        host, host_key=secrets.token_hex(32) if single else secret, single=simulation, public_url=public_url
    )
    return Served(app, secret, generated=not key)


def create_app(
    *,
    single: bool = False,
    host_key: str | None = None,
    admin_key: str | None = None,
    public_url: str | None = None,
    seed: str | None = None,
) -> Application:
    """Return the ASGI application.

    Its secret is ``host_key`` or ``UES_HOST_KEY``; with ``single``, it is ``admin_key`` or ``UES_ADMIN_KEY``. Raises
    ValueError without a secret, because a generated one would not be shown.
    """
    served = _build(single=single, host_key=host_key, admin_key=admin_key, public_url=public_url, seed=seed)
    if served.generated:
        variable = ADMIN_KEY_VARIABLE if single else HOST_KEY_VARIABLE
        raise ValueError(f"create_app needs {'admin_key' if single else 'host_key'}, or {variable} in the environment")
    return served.app


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8100,
    single: bool = False,
    host_key: str | None = None,
    admin_key: str | None = None,
    public_url: str | None = None,
    seed: str | None = None,
    observe_host: str = "127.0.0.1",
    observe_port: int | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT. Port 0 takes a free port. Prints the address, and a generated secret.

    ``host_key`` opens ``/simulations``; with ``single`` there is one simulation at the root, opened by ``admin_key``.
    Both may come from ``UES_HOST_KEY`` and ``UES_ADMIN_KEY``. With ``observe_port``, a separate address serves health
    and metrics. Raises OSError if the address can't be bound.
    """
    served = _build(single=single, host_key=host_key, admin_key=admin_key, public_url=public_url, seed=seed)
    listener = listen(host, port, "the simulator")
    app: Any = counted(served.app, lambda: len(served.app.host.simulations))
    if start_tracing("proctor-simulator"):
        app = TracedRequests(app, _without_ids)
    config = make_config(
        app,
        lifespan="auto",
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=2,
        # Longer than clients keep an idle connection (httpx: 5 s, which is also uvicorn's default): the client must be
        # the one that closes it, because a client may be about to use it.
        timeout_keep_alive=75,
    )
    if served.generated:
        announce(f"{'admin' if single else 'host'} key: {served.secret}")
    # Simulations are long-lived trees of plain data without cycles: a search for garbage in them is wasted time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    server = Server(config, f"proctor.ues listening on {get_address(listener)}")

    async def serve_observed() -> None:
        if observe_port is None:
            await server.serve(sockets=[listener])
            return
        from proctor.observing.address import observed  # imports starlette, which nothing else here needs

        async with observed(observe_host, observe_port, "proctor.ues", {}):
            await server.serve(sockets=[listener])

    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(serve_observed())
    stop_tracing()


def _without_ids(path: str) -> str:
    """Return a request's path as the name of its span, with the simulation's id replaced."""
    return _SIMULATION.sub(r"\1{simulation_id}", path)
