"""Helpers for tests over HTTP: a server in its own process, and simulations on it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from http.client import HTTPConnection
from select import select
from typing import IO, Any

import httpx

from proctor.ues import USER_PERMISSIONS
from tests import programs as processes
from tests.waiting import PATIENCE

START = "2025-01-06T09:00:00+00:00"
HOST_KEY = "host-key-of-the-tests-0123456789"


def at(seconds: float) -> str:
    """The instant that many seconds after ``START``."""
    return (datetime.fromisoformat(START) + timedelta(seconds=seconds)).isoformat()


class PlainTransport(httpx.BaseTransport):
    """HTTP by the standard library: a request costs half of what it does by httpx's own transport.

    A body of unknown length goes by that one.
    """

    def __init__(self) -> None:
        self._own = threading.local()
        self._other: httpx.HTTPTransport | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if "Transfer-Encoding" in request.headers:
            self._other = self._other or httpx.HTTPTransport(verify=False)
            return self._other.handle_request(request)
        connection = self._connection_to(request.url)
        connection.putrequest(request.method, request.url.raw_path.decode(), skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers.raw:
            connection.putheader(name, value)
        connection.endheaders(request.read() or None)
        answer = connection.getresponse()
        return httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read())

    def _connection_to(self, url: httpx.URL) -> HTTPConnection:
        """This thread's own."""
        if not hasattr(self._own, "connection"):
            self._own.connection = HTTPConnection(url.host, url.port, timeout=PATIENCE)
        connection: HTTPConnection = self._own.connection
        if connection.sock and select([connection.sock], [], [], 0)[0]:
            connection.close()  # the server has; the next request opens it again
        return connection

    def close(self) -> None:
        if hasattr(self._own, "connection"):
            self._own.connection.close()
        if self._other:
            self._other.close()


class Server:
    """``python -m proctor.ues`` in its own process, on a free port. What it logs goes to the file ``log``, if given."""

    def __init__(self, *arguments: str, log: IO[str] | None = None, **environment: str) -> None:
        command = processes.module("proctor.ues", "--port", "0", *arguments)
        self.process = processes.start(command, {"UES_HOST_KEY": HOST_KEY, **environment}, stderr=log)
        assert self.process.stdout is not None
        self.printed: list[str] = []
        for line in self.process.stdout:
            self.printed.append(line.strip())
            if "listening on" in line:
                break
        self.url = self.printed[-1].rsplit(" ", 1)[1]
        self.client = httpx.Client(base_url=self.url, headers={"X-API-Key": HOST_KEY}, transport=PlainTransport())

    def new_simulation(self, *, start: str | None = START, **fields: Any) -> "Sim":
        """Create a simulation; ``fields`` are those of ``POST /simulations``."""
        made = self.client.post("/simulations", json=fields)
        assert made.status_code == 201, made.text
        sim = Sim(self, made.json())
        if start is not None:
            assert sim.post("/simulation/clear", json={"reset_time_to": start}).status_code == 200
        return sim

    def stop(self) -> int:
        """End the process with SIGTERM and return its exit code."""
        self.client.close()
        return processes.end(self.process)


class Sim(httpx.Client):
    """An HTTP client of one simulation, with one key. One that ``key`` made has the key's id, ``key_id``."""

    key_id: str

    def __init__(self, server: Server, made: dict[str, Any], secret: str | None = None) -> None:
        self.server = server
        self.made = made
        self.simulation_id = made["simulation_id"]
        self.secret = secret or made["admin_key"]
        super().__init__(base_url=made["base_url"], headers={"X-API-Key": self.secret}, transport=PlainTransport())

    def key(self, *permissions: str, name: str = "a key", **fields: Any) -> "Sim":
        """A client of the same simulation with a new key of these permissions."""
        made = self.post("/keys", json={"name": name, "permissions": permissions, **fields})
        assert made.status_code == 201, made.text
        client = Sim(self.server, self.made, made.json()["secret"])
        client.key_id = made.json()["key_id"]
        return client

    def participant(self) -> "Sim":
        """A client with a participant's key (level "user")."""
        return self.key(*USER_PERMISSIONS, name="participant")

    def ok(self, method: str, path: str, body: Any = None, /, **params: Any) -> Any:
        """The JSON of a request that must succeed."""
        answer = self.request(method, path, json=body, params=params or None)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def do(self, path: str, **body: Any) -> dict[str, Any]:
        """Carry out an action (``sim.do("/email/star", message_ids=[…])``); the event must have been executed."""
        answer: dict[str, Any] = self.ok("POST", path, body)
        assert answer["status"] == "executed", answer
        return answer

    def event(self, modality: str, data: dict[str, Any], *, seconds: float | None = None, **fields: Any) -> Any:
        """Execute an event now, or schedule it ``seconds`` after the start. Returns the event."""
        if seconds is None:
            made = self.ok("POST", "/events/immediate", {"modality": modality, "data": data})
            assert made["status"] == "pending", made
            self.run_due()
            return self.ok("GET", f"/events/{made['event_id']}")
        body = {"modality": modality, "data": data, "scheduled_time": at(seconds), **fields}
        return self.ok("POST", "/events", body)

    def advance(self, seconds: float) -> Any:
        """Move the clock on, as it can be while the simulation runs. Whether it runs stays as it was."""
        with self._running():
            return self.ok("POST", "/simulator/time/advance", {"seconds": seconds})

    def run_due(self) -> Any:
        """Run what is due now, without time passing."""
        with self._running() as now:
            now = now or self.ok("GET", "/simulator/time")["current_time"]
            return self.ok("POST", "/simulator/time/set", {"target_time": now})

    def set_time(self, target: str) -> Any:
        """Move the clock to an instant, as it can be while the simulation runs."""
        with self._running():
            return self.ok("POST", "/simulator/time/set", {"target_time": target})

    def skip(self) -> Any:
        """Move the clock to the next event, as it can be while the simulation runs."""
        with self._running():
            return self.ok("POST", "/simulator/time/skip-to-next")

    @contextmanager
    def _running(self) -> Iterator[str | None]:
        """Have the simulation run; gives its time if it didn't before, and then stops it again."""
        started = self.post("/simulation/start", json={})
        try:
            yield started.json()["current_time"] if started.is_success else None
        finally:
            if started.is_success:
                self.ok("POST", "/simulation/stop")

    def state(self, modality: str, **params: Any) -> Any:
        """A modality's state."""
        return self.ok("GET", f"/{modality}/state", **params)

    def query(self, modality: str, **body: Any) -> Any:
        """A modality's query."""
        return self.ok("POST", f"/{modality}/query", body)

    def export(self) -> Any:
        """Everything a scenario file holds."""
        return self.ok("GET", "/scenario/export/full")

    def delete_me(self) -> None:
        """End the simulation."""
        self.server.client.delete(f"/simulations/{self.simulation_id}")
        self.close()


def receive(sim: Sim, subject: str = "Hello", **fields: Any) -> str:
    """Let an email arrive and return its message id."""
    before = set(sim.state("email")["emails"])
    body = {
        "from_address": "ann@example.com",
        "to_addresses": ["user@example.com"],
        "subject": subject,
        "body_text": f"The text of {subject}",
        **fields,
    }
    sim.do("/email/receive", **body)
    message_id: str
    (message_id,) = set(sim.state("email")["emails"]) - before
    return message_id
