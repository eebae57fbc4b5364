"""Clients of one simulation (``AsyncUESClient``, ``UESClient``) and of a host of many (``AsyncUESHost``,
``UESHost``).
"""

from typing import Self

import httpx

from purple_sdk.ues import _call as wire
from purple_sdk.ues import _rooms
from purple_sdk.ues._call import Room, Runner
from purple_sdk.ues._reading import json_object
from purple_sdk.ues._runners import AsyncRunner, Exchange, Observer, SyncRunner


def _exchange(
    base_url: str, api_key: str, timeout: float, observer: Observer | None, fence: int | None = None
) -> Exchange:
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError):
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"base_url is {base_url!r}: give the simulator's address, such as http://127.0.0.1:8100")
    headers = {"X-API-Key": api_key, "Accept": "application/json"}
    if fence is not None:
        headers["X-UES-Fence"] = str(fence)
    return Exchange(base_url.rstrip("/"), headers, timeout, observer)


class _AsyncConnections(Room[AsyncRunner]):
    async def aclose(self) -> None:
        """Close the connections, unless ``http`` was given."""
        await self._runner.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Connections(Room[SyncRunner]):
    def close(self) -> None:
        """Close the connections, unless ``http`` was given."""
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Environment(_rooms.EnvironmentRoom[Runner]):
    @wire.get("/environment/state?compact=true&format=text", lambda body: body.decode())
    def describe(self) -> None:
        """Read one page of text about the whole environment, for a model's context."""


class _Simulation(Room[Runner]):
    """The rooms of one simulation."""

    def __init__(self, runner: Runner) -> None:
        super().__init__(runner)
        self.time = _rooms.TimeRoom(runner)
        self.simulation = _rooms.SimulationRoom(runner)
        self.events = _rooms.EventsRoom(runner)
        self.environment = _Environment(runner)
        self.scenario = _rooms.ScenarioRoom(runner)
        self.keys = _rooms.KeysRoom(runner)
        self.access_log = _rooms.AccessLogRoom(runner)
        self.email = _rooms.EmailRoom(runner)
        self.sms = _rooms.SMSRoom(runner)
        self.chat = _rooms.ChatRoom(runner)
        self.calendar = _rooms.CalendarRoom(runner)
        self.contacts = _rooms.ContactsRoom(runner)
        self.location = _rooms.LocationRoom(runner)
        self.weather = _rooms.WeatherRoom(runner)

    @property
    def base_url(self) -> str:
        """The simulation's address, without a slash at the end."""
        return self._runner.exchange.base_url

    @wire.get("/health", json_object)
    def health(self) -> None:
        """Ask whether the server is well; needs no key."""

    @wire.get("/", json_object)
    def info(self) -> None:
        """Ask what the server is; needs no key."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"


class AsyncUESClient(_Simulation[AsyncRunner], _AsyncConnections):
    """One simulation, awaited.

    ``http`` is a shared client of the caller; its connections stay open when this client closes. ``timeout`` is in
    seconds, for each step of a request. Reading requests are repeated up to three times if the server can't be reached
    or is overloaded; requests that change something are sent once. ``observer`` is called with every call that changes
    something. ``fence`` is the fence of an evaluator who has claimed the simulation (this project's addition to UES).
    Raises ValueError if ``base_url`` isn't an HTTP address.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = 30.0,
        http: httpx.AsyncClient | None = None,
        observer: Observer | None = None,
        fence: int | None = None,
    ) -> None:
        super().__init__(AsyncRunner(_exchange(base_url, api_key, timeout, observer, fence), http))


class UESClient(_Simulation[SyncRunner], _Connections):
    """One simulation, as ``AsyncUESClient`` but without ``await``. Raises ValueError if ``base_url`` isn't an HTTP
    address.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = 30.0,
        http: httpx.Client | None = None,
        observer: Observer | None = None,
    ) -> None:
        super().__init__(SyncRunner(_exchange(base_url, api_key, timeout, observer), http))


class _Host(_rooms.HostRoom[Runner]):
    """A server of many simulations (this project's addition to UES)."""

    @wire.get("/health", json_object)
    def health(self) -> None:
        """Ask whether the server is well; needs no key."""

    def _address(self, simulation_id: str) -> str:
        return f"{self._runner.exchange.base_url}/simulations/{simulation_id}"


class AsyncUESHost(_Host[AsyncRunner], _AsyncConnections):
    """A host of simulations, awaited. Its clients share its connections. Raises ValueError if ``base_url`` isn't an
    HTTP address.
    """

    def __init__(
        self,
        base_url: str,
        host_key: str,
        *,
        timeout: float = 30.0,
        http: httpx.AsyncClient | None = None,
        fence: int | None = None,
    ) -> None:
        super().__init__(AsyncRunner(_exchange(base_url, host_key, timeout, None, fence), http))

    def simulation(self, simulation_id: str, api_key: str) -> AsyncUESClient:
        """Return a client of one simulation; it works while this host is open."""
        return AsyncUESClient(
            self._address(simulation_id), api_key, timeout=self._runner.exchange.timeout, http=self._runner.http
        )


class UESHost(_Host[SyncRunner], _Connections):
    """A host of simulations, without ``await``. Its clients share its connections. Raises ValueError if ``base_url``
    isn't an HTTP address.
    """

    def __init__(
        self, base_url: str, host_key: str, *, timeout: float = 30.0, http: httpx.Client | None = None
    ) -> None:
        super().__init__(SyncRunner(_exchange(base_url, host_key, timeout, None), http))

    def simulation(self, simulation_id: str, api_key: str) -> UESClient:
        """Return a client of one simulation; it works while this host is open."""
        return UESClient(
            self._address(simulation_id), api_key, timeout=self._runner.exchange.timeout, http=self._runner.http
        )
