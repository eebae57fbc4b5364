"""Our own servers: they listen before they do anything else, say when they are ready, and end on request."""

import errno
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from purple_sdk.processes.addresses import in_url
from purple_sdk.processes.announcing import announce
from purple_sdk.processes.ports import listener_on

_BACKLOG = 2048


def listen(host: str, port: int, who: str) -> socket.socket:
    """A socket that listens at an address; port 0 takes a free one.

    It listens at once: with ``SO_REUSEADDR`` alone, a second server could bind the same port meanwhile.

    Args:
        host: an address of this machine.
        port: 0 to 65535.
        who: the server's name, for the error.

    Raises:
        OSError: with a sentence that says what to change, in ``strerror``.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as problem:
        listener.close()
        taken_by = listener_on(port) if problem.errno == errno.EADDRINUSE else None
        cause = f"{taken_by} has it" if taken_by else problem.strerror
        reason = f"{who} can't listen on {in_url(host)}:{port} ({cause}): choose another --host or --port"
        raise OSError(problem.errno, reason) from None
    return listener


def address_of(listener: socket.socket) -> str:
    """The URL at which a socket listens."""
    host, port = listener.getsockname()[:2]
    return f"http://{in_url(host)}:{port}"


class InnerServer(uvicorn.Server):
    """uvicorn inside of another server's process, whose signals are that server's business."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Server(uvicorn.Server):
    """uvicorn, which says when it is ready, and for which a signal is a reason to end rather than to die of it.

    Args:
        config: uvicorn's settings.
        ready: the line that is printed once the server answers.
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
        """See ``uvicorn.Server``, which raises the signal once more after its clean end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
