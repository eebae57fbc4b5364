"""A real HTTP server that answers as it is told: for what a healthy simulator never does."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANG_UP = "hang up"


@dataclass
class Scripted:
    """What the server says next: a status, or a (status, body) pair, or ``HANG_UP``, or seconds to wait before 200."""

    answers: list[Any] = field(default_factory=list)
    requests: list[tuple[str, str, dict[str, Any] | None]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    connections: set[tuple[str, int]] = field(default_factory=set)
    url: str = ""

    @property
    def paths(self) -> list[str]:
        return [f"{method} {path}" for method, path, _ in self.requests]


@contextmanager
def scripted_server() -> Iterator[Scripted]:
    script = Scripted()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            script.requests.append((self.command, self.path, json.loads(body) if body else None))
            script.headers.append({name.lower(): value for name, value in self.headers.items()})
            script.connections.add(self.client_address)
            said = script.answers.pop(0) if script.answers else 200
            if said == HANG_UP:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if isinstance(said, float):
                time.sleep(said)
                said = 200
            status, content = said if isinstance(said, tuple) else (said, {})
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = answer  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
