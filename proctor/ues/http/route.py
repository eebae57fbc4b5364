"""Declare routes once: the router, the permissions, OpenAPI and the documentation page derive from the declarations."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import orjson
from pydantic import BaseModel

from proctor.ues.keys import Key
from proctor.ues.limits import Allowance
from proctor.ues.problems import NotFound, Problem, UnknownModality, WrongMethod
from proctor.ues.schema import JsonObject, Request
from proctor.ues.simulation import Author, Simulation


@dataclass(frozen=True, slots=True)
class Call:
    """One checked request to a simulation: authenticated, permitted, validated."""

    simulation: Simulation
    key: Key
    body: Any
    """The request model's instance; raw bytes for a route whose ``body`` is bytes; None without a body."""
    params: Any
    """The query parameters' model instance; None for a route without any."""
    path: Mapping[str, str]
    """The path's variable parts."""
    allowance: Allowance | None = None
    """The caller's limits in this turn; None for callers other than participants, which have no limits."""

    @property
    def author(self) -> Author:
        """The author of an event that the call makes."""
        return Author(agent_id=self.key.key_id, key_id=self.key.key_id)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that isn't plain JSON with the route's usual status."""

    content: Any
    """JSON-ready data, or bytes that are sent unchanged."""
    status: int = 200
    media_type: str = "application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def to_bytes(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else orjson.dumps(self.content)

    def encode(self) -> "Reply":
        """Return the same reply with its content as bytes."""
        return self if isinstance(self.content, bytes) else replace(self, content=self.to_bytes())


C = TypeVar("C")
"""The argument of a route's handler: a ``Call``, or the host's counterpart."""

_SUBJECTS = {"simulator": "time", "simulations": "host", "": "server", "health": "server"}

Handler = Callable[[C], JsonObject | Reply]
H = TypeVar("H", bound=Callable[..., JsonObject | Reply])


@dataclass(frozen=True, kw_only=True)
class Route(Generic[C]):
    """A method and a path, with permission, request and answers."""

    method: str
    path: str
    summary: str
    handler: Handler[C]
    permission: str | None
    """The permission that the caller's key needs; None for an open route."""
    body: type[BaseModel] | type[bytes] | None = None
    body_required: bool = True
    params: type[Request] | None = None
    responses: tuple[type[BaseModel], ...] = ()
    """The models of a successful answer: several if the parameters decide, empty for any JSON."""
    status: int = 200
    also_text: bool = False
    """Whether a success may be plain text instead of JSON, depending on the parameters."""
    further_statuses: Mapping[int, str] | None = None
    """Other successful statuses and their meanings."""
    errors: tuple[int, ...] = ()
    """Error statuses besides 401, 403 and 422, which follow from the other fields."""
    participant: bool = False
    """Whether a participant's key (level "user") may call it."""
    writes: bool = False
    """Whether data of the body becomes part of the simulation."""
    asks: bool = False
    """Whether it is a POST that only reads and therefore needs no fence."""

    @cached_property
    def tag(self) -> str:
        """The subject under which the route is listed: the first part of its path, or a name for this part."""
        first = self.path.split("/")[1]
        return _SUBJECTS.get(first, first)

    @property
    def changes(self) -> bool:
        """Whether the route may change the simulation."""
        return self.method != "GET" and not self.asks


class Routes(list[Route[C]]):
    """Routes in the order of their declarations on handlers."""

    def declare(
        self, method: str, path: str, permission: str, *responses: type[BaseModel], **more: Any
    ) -> Callable[[H], H]:
        """Add a route; the handler's docstring is its summary, and ``more`` are further fields of ``Route``."""

        def add(handler: H) -> H:
            summary = " ".join((handler.__doc__ or "").split())
            route = Route(
                method=method,
                path=path,
                summary=summary,
                handler=handler,
                permission=permission,
                responses=responses,
                **more,
            )
            self.append(route)
            return handler

        return add


class Router(Generic[C]):
    """Finds a route by method and path.

    A fixed path hides paths with variable parts, as in OpenAPI: ``DELETE /events/next`` has a wrong method.
    """

    def __init__(self, routes: Iterable[Route[C]]) -> None:
        self.routes = tuple(routes)
        self._exact: dict[str, dict[str, Route[C]]] = {}
        self._templates: dict[tuple[str, ...], dict[str, Route[C]]] = {}
        for route in self.routes:
            if "{" in route.path:
                by_method = self._templates.setdefault(tuple(route.path.split("/")), {})
            else:
                by_method = self._exact.setdefault(route.path, {})
            if route.method in by_method:
                raise ValueError(f"{route.method} {route.path} is declared twice")
            by_method[route.method] = route

    def find(self, method: str, path: str) -> tuple[Route[C], dict[str, str]]:
        """Find the route and the path's variable parts. Raises NotFound (404) or WrongMethod (405)."""
        by_method, values = self._methods(path)
        route = by_method.get(method)
        if route is not None:
            return route, values
        if by_method:
            allowed = sorted(by_method)
            raise WrongMethod(f"{path[:200]} doesn't take {method[:20]}; it takes {', '.join(allowed)}.", allowed)
        raise NotFound(f"There is no path {path[:200]!r}; /openapi.json lists those that exist.")

    def _methods(self, path: str) -> tuple[dict[str, Route[C]], dict[str, str]]:
        exact = self._exact.get(path)
        if exact is not None:
            return exact, {}
        segments = path.split("/")
        for template, by_method in self._templates.items():
            values = _fit(template, segments)
            if values is not None:
                return by_method, values
        return {}, {}


def _fit(template: tuple[str, ...], segments: list[str]) -> dict[str, str] | None:
    if len(template) != len(segments):
        return None
    values = {}
    for part, segment in zip(template, segments, strict=True):
        if part.startswith("{"):
            if not segment:
                return None
            values[part[1:-1]] = segment
        elif part != segment:
            return None
    return values


def problem_reply(problem: Problem) -> Reply:
    """Return a problem in the contract's form: ``{"error": …, "detail": …}``; an unknown modality adds two fields."""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if isinstance(problem, WrongMethod):
        headers = ((b"allow", ", ".join(problem.allowed).encode()),)
    elif problem.status == 401:
        headers = ((b"www-authenticate", b"Bearer"),)
    content = {"error": problem.title, "detail": problem.detail}
    if isinstance(problem, UnknownModality):
        content |= {"requested_modality": problem.requested, "available_modalities": problem.available}
    return Reply(content, problem.status, headers=headers)
