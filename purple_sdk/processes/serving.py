"""Run our own servers. They listen before they do anything else, print a line when they are ready, and end on
request.
"""

import errno
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from purple_sdk.processes.addresses import in_url
from purple_sdk.processes.announcing import announce
from purple_sdk.processes.ports import find_listener

_BACKLOG = 2048


def listen(host: str, port: int, who: str) -> socket.socket:
    """Return a socket that listens at an address; port 0 takes a free one.

    The socket listens at once. If it were only bound, with ``SO_REUSEADDR``, a second server could bind the same port.

    Args:
        host: an address of this machine.
        port: 0 to 65535.
        who: the server's name, for the error.

    Raises:
        OSError: it can't listen; ``strerror`` is a sentence that says what to change.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        taken_by = find_listener(port) if error.errno == errno.EADDRINUSE else None
        cause = f"{taken_by} has it" if taken_by else error.strerror
        reason = f"{who} can't listen on {in_url(host)}:{port} ({cause}): choose another --host or --port"
        raise OSError(error.errno, reason) from None
    return listener


def get_address(listener: socket.socket) -> str:
    """Return the URL at which a socket listens."""
    host, port = listener.getsockname()[:2]
    return f"http://{in_url(host)}:{port}"


class InnerServer(uvicorn.Server):
    """uvicorn inside another server's process; that server handles the signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Server(uvicorn.Server):
    """uvicorn that prints a line when it is ready, and exits normally after a signal.

    Args:
        config: uvicorn's settings.
        ready: the line to print once the server answers.
    """

    def __init__(self, config: uvicorn.Config, ready: str) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            announce(self._ready)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals without raising them once more after a clean end, unlike ``uvicorn.Server``."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
