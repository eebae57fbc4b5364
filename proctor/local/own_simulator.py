"""The embedded simulator in this process, for as long as a command needs it."""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from proctor.activities.simulation.keys import host_key
from proctor.settings.config import GreenAgentConfig
from proctor.ues.server import create_app
from purple_sdk.processes.serving import get_address, listen
from purple_sdk.settings.config import merge_configs


@contextmanager
def own_simulator(
    settings: GreenAgentConfig, host: str = "127.0.0.1", wrap: Callable[[ASGIApp], ASGIApp] = lambda app: app
) -> Iterator[GreenAgentConfig]:
    """Run the simulator on a free port, in its own thread; yield settings with its address.

    Args:
        host: the address of this machine at which the simulator listens.
        wrap: adds middleware between the callers and the simulator.

    Raises:
        OSError: no server can listen at that address.
    """
    secret = secrets.token_urlsafe(32)
    listener = listen(host, 0, "the simulator")
    app = wrap(create_app(host_key=host_key(secret)))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        while thread.is_alive() and not server.started:
            thread.join(0.01)
        own = {"ues_url": get_address(listener), "ues_public_url": None, "ues_command": None, "secret": secret}
        yield merge_configs(settings, own)
    finally:
        server.should_exit = True
        thread.join(5.0)
        listener.close()
