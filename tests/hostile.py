"""HTTP servers that mean harm, each in a thread of its own, which count what anybody takes of what they send.

with hostile({"/": lambda request: endless(b"x")}) as server:
    ... server.url, server.sent, server.paths
"""

import json
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from typing import Any

Json = dict[str, Any]

MEGABYTE = 1_000_000


@dataclass
class Request:
    """What somebody asked for; ``json`` is its body."""

    path: str
    json: Any


@dataclass
class Response:
    """What is answered: raw pieces of a body, as they go out; chunked where the length isn't said."""

    pieces: Iterable[bytes]
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


@dataclass
class Hostile:
    """A running server: its address, the paths that were asked for, and how many bytes of bodies were taken."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    sent: int = 0


Answers = Mapping[str, Callable[[Request], Response | Json]]


@contextmanager
def hostile(answers: Callable[[str], Answers] | Answers, host: str = "127.0.0.1") -> Iterator[Hostile]:
    """Serve answers by path; they may be made from the server's address."""
    state = Hostile()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(Request(self.path, None))

        def do_POST(self) -> None:
            self._answer(Request(self.path, json.loads(self.rfile.read(int(self.headers["content-length"])))))

        def _answer(self, request: Request) -> None:
            state.paths.append(request.path)
            make = (answers(state.url) if callable(answers) else answers).get(request.path)
            response = make(request) if make else Response([], status=404)
            if isinstance(response, dict):
                response = Response([json.dumps(response).encode()])
            with suppress(OSError):  # whoever has enough goes away
                self._send(response)
            self.close_connection = True

        def _send(self, response: Response) -> None:
            self.send_response(response.status)
            for name, value in {"content-type": response.content_type, **response.headers}.items():
                self.send_header(name, value)
            is_chunked = "content-length" not in {name.lower() for name in response.headers}
            if is_chunked:
                self.send_header("transfer-encoding", "chunked")
            self.send_header("connection", "close")
            self.end_headers()
            for piece in response.pieces:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
                state.sent += len(piece)
            if is_chunked:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: Any) -> None:
            """Nobody reads along."""

    server = ThreadingHTTPServer((host, 0), Handler)
    server.daemon_threads = True
    state.url = f"http://{host}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


def much(megabytes: int, of: bytes = b" ") -> Iterator[bytes]:
    """So many megabytes of a byte."""
    return repeat(of * MEGABYTE, megabytes)


def announced(megabytes: int) -> Response:
    """A body that says how large it is."""
    return Response(much(megabytes), headers={"content-length": str(megabytes * MEGABYTE)})


def packed(megabytes: int) -> Response:
    """A small body that unpacks to a large one."""
    return Response([_packed(megabytes)], headers={"content-encoding": "gzip"})


@cache
def _packed(megabytes: int) -> bytes:
    """Blocks that unpack to a megabyte each, without the end of the file, which nobody shall come to."""
    packer = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    first, other = (packer.compress(b" " * MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + other * (megabytes - 1)


def card(url: str, *, protocol: str = "1.0", binding: str = "JSONRPC", streams: bool = False, at: str = "/rpc") -> Json:
    """The agent card of a participant at an address."""
    return {
        "name": "stranger",
        "description": "Means harm.",
        "version": "1",
        "supportedInterfaces": [{"url": url + at, "protocolBinding": binding, "protocolVersion": protocol}],
        "capabilities": {"streaming": streams},
        "defaultInputModes": ["application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [],
    }


def events(each: bytes, count: int | None = None) -> Response:
    """A stream of one event again and again."""
    return Response(repeat(each) if count is None else repeat(each, count), "text/event-stream")
