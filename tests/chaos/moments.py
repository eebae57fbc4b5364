"""The moments at which an evaluation can be held, so that something can be killed just then.

Nothing in the product knows of them: the participant of these tests asks for leave before it goes on, and proxies
stand between the evaluator and its simulator and its model. A proxied request is held *after* it has done its work and
before its answer goes back, which is where doing things twice comes from.
"""

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_LONGEST_HOLD = 60.0
_NOT_PASSED_ON = {"connection", "host", "content-length", "transfer-encoding", "keep-alive", "accept-encoding"}


@dataclass(frozen=True)
class Seen:
    """Something that happens just now.

    Attributes:
        who: ``participant``, ``simulator`` or ``model``; ``tools`` for the simulator as the participant reaches it.
        what: the participant's words (``turn 2 before``), or method and path of a request.
        turn: the turn that the participant has begun last, 0 before the first.
        body: the request's body, or its first line; {} where it isn't a JSON object.
        peer: the TCP port of whoever made the request.
        status: of the answer that is to go back; 0 where it is none.
    """

    who: str
    what: str
    turn: int
    body: dict[str, Any] = field(default_factory=dict)
    peer: int = 0
    status: int = 0


Matches = Callable[[Seen], bool]

OF_COLLEAGUE = "colleague "
"""How the words of the second participant begin."""


@dataclass(frozen=True)
class Together:
    """Two at the same time, who say or ask different things: the moment is there once both are held."""

    matches: Matches

    def __call__(self, seen: Seen) -> bool:
        return self.matches(seen)


class Moment:
    """A moment to wait for. Whoever gets there first is held until ``release``; for ``Together`` the first two are.

    A request ``is_on_its_way`` before it is carried out; otherwise it is held when its answer is to go back.
    """

    def __init__(self, matches: Matches, *, is_on_its_way: bool = False) -> None:
        self.matches = matches
        self.is_on_its_way = is_on_its_way
        self._wanted = 2 if isinstance(matches, Together) else 1
        self._held: set[str] = set()
        self.seen: Seen | None = None
        self.reached = threading.Event()
        self._released = threading.Event()
        self._is_answer_lost = False

    def release(self, *, answer_is_lost: bool = False) -> None:
        """Let it go on; or, for a request, cut its connection instead of passing the answer back."""
        self._is_answer_lost = answer_is_lost
        self._released.set()

    def is_for(self, seen: Seen) -> bool:
        """Whether this is to be held; then it counts."""
        if len(self._held) == self._wanted or seen.what in self._held or not self.matches(seen):
            return False
        self._held.add(seen.what)
        return True

    def hold(self, seen: Seen) -> bool:
        """Be held; says whether the answer may go back."""
        self.seen = seen
        if len(self._held) == self._wanted:
            self.reached.set()
        self._released.wait(_LONGEST_HOLD)
        return not self._is_answer_lost


class Moments:
    """All that happens among these services, and at most one moment that is waited for.

    Attributes:
        checkpoints: simulation id to its last checkpoint, as the evaluator got it.
        said: what participants said, in order, with the time (monotonic).
        keys: every key that participants had.
    """

    def __init__(self) -> None:
        self.checkpoints: dict[str, bytes] = {}
        self.said: list[tuple[float, str]] = []
        self.keys: set[str] = set()
        self._lock = threading.Lock()
        self._awaited: Moment | None = None
        self._turn = 0

    def await_(self, matches: Matches, *, is_on_its_way: bool = False) -> Moment:
        """Hold whoever gets to this moment next, in an assessment that is about to begin."""
        with self._lock:
            self._turn = 0
            self._awaited = Moment(matches, is_on_its_way=is_on_its_way)
            return self._awaited

    def then(self, matches: Matches) -> Moment:
        """Hold whoever gets to this moment next, in the same assessment as the one before."""
        with self._lock:
            self._awaited = Moment(matches)
            return self._awaited

    def pass_by(
        self, who: str, what: str, body: dict[str, Any], peer: int, status: int = 0, *, is_on_its_way: bool = False
    ) -> bool:
        """Something happens; returns once it may go on, and says whether its answer may go back."""
        with self._lock:
            if who == "participant":
                self.said.append((time.monotonic(), what))
                self.keys.add(str(body.get("key")))
                words = what.removeprefix(OF_COLLEAGUE)
                if words.startswith("turn "):
                    self._turn = int(words.split()[1])
            seen = Seen(who, what, self._turn, body, peer, status)
            moment = self._awaited
            if moment is None or moment.is_on_its_way != is_on_its_way or not moment.is_for(seen):
                return True
        return moment.hold(seen)


@contextmanager
def listening_post(moments: Moments, port: int) -> Iterator[str]:
    """Serve the place where participants ask for leave (``POST /`` with ``{"what": ...}``); gives its address."""

    class Handler(_Handler):
        def answer(self, body: bytes) -> None:
            document = _document(body)
            moments.pass_by("participant", document["what"], document, self.client_address[1])
            self.reply(204, [], b"")

    with _served(Handler, port) as url:
        yield url


@contextmanager
def proxy(
    moments: Moments, who: str, upstream: str, port: int, is_away: Callable[[], bool] = lambda: False
) -> Iterator[str]:
    """Serve what ``upstream`` serves, with moments; gives the address. While it ``is_away`` nobody gets an answer."""
    target = urlsplit(upstream)

    class Handler(_Handler):
        def answer(self, body: bytes) -> None:
            if is_away():
                self.close_connection = True
                return
            what = f"{self.command} {urlsplit(self.path).path}"
            moments.pass_by(who, what, _document(body), self.client_address[1], is_on_its_way=True)
            connection = http.client.HTTPConnection(str(target.hostname), target.port, timeout=_LONGEST_HOLD)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _NOT_PASSED_ON}
            try:
                connection.request(self.command, self.path, body, headers)
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException):
                self.close_connection = True  # as if it had been asked directly: no answer
                return
            finally:
                connection.close()
            if response.status != 200:
                pass  # whoever was refused has got no checkpoint
            elif what.startswith("GET /simulations/") and what.endswith("/simulation/checkpoint"):
                moments.checkpoints[what.split("/")[2]] = content
            elif what.startswith("POST /simulations/") and what.endswith("/step") and b"\n" in content:
                moments.checkpoints[what.split("/")[2]] = content.partition(b"\n")[2]
            may_go_back = moments.pass_by(who, what, _document(body), self.client_address[1], response.status)
            if may_go_back and not is_away():
                self.reply(response.status, response.getheaders(), content)
            else:
                self.close_connection = True

        def do_GET(self) -> None:
            self.do_POST()

        def do_DELETE(self) -> None:
            self.do_POST()

        def do_PUT(self) -> None:
            self.do_POST()

    with _served(Handler, port) as url:
        yield url


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers.get("content-length", 0))))

    def answer(self, body: bytes) -> None:
        raise NotImplementedError

    def reply(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        kept = [(name, value) for name, value in headers if name.lower() not in _NOT_PASSED_ON]
        lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, '')}"]
        lines += [f"{name}: {value}" for name, value in (*kept, ("content-length", str(len(content))))]
        try:
            self.wfile.write("\r\n".join([*lines, "", ""]).encode("latin-1") + content)
        except OSError:
            self.close_connection = True  # whoever asked has been killed

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections of killed processes end as they end."""


@contextmanager
def _served(handler: type[_Handler], port: int) -> Iterator[str]:
    server = _Server(("127.0.0.1", port), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _document(body: bytes) -> dict[str, Any]:
    """A body's JSON object, or that on its first line, which a checkpoint may follow."""
    try:
        document = json.loads(body.partition(b"\n")[0])
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
