"""One declaration per route. The router, the permissions, OpenAPI and the documentation page all derive from it."""

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
        """Whose event it is, when the call makes one."""
        return Author(agent_id=self.key.key_id, key_id=self.key.key_id)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that isn't just JSON with the route's usual status."""

    content: Any
    """JSON-ready data, or bytes that go out as they are."""
    status: int = 200
    media_type: str = "application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def to_bytes(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else orjson.dumps(self.content)

    def encode(self) -> "Reply":
        """The same with its content as bytes."""
        return self if isinstance(self.content, bytes) else replace(self, content=self.to_bytes())


C = TypeVar("C")
"""What a route's handler gets: a ``Call``, or the host's counterpart."""

_SUBJECTS = {"simulator": "time", "simulations": "host", "": "server", "health": "server"}

Handler = Callable[[C], JsonObject | Reply]
H = TypeVar("H", bound=Callable[..., JsonObject | Reply])


@dataclass(frozen=True, kw_only=True)
class Route(Generic[C]):
    """A method and a path, who may call it, what it takes and what it answers."""

    method: str
    path: str
    summary: str
    handler: Handler[C]
    permission: str | None
    """The one permission that the caller's key needs. None: the route is open."""
    body: type[BaseModel] | type[bytes] | None = None
    body_required: bool = True
    params: type[Request] | None = None
    responses: tuple[type[BaseModel], ...] = ()
    """What a success looks like; several when it depends on the parameters; none where it is free-form JSON."""
    status: int = 200
    also_text: bool = False
    """Whether a success may be plain text instead of JSON, depending on the parameters."""
    further_statuses: Mapping[int, str] | None = None
    """Other successful statuses and what they mean."""
    errors: tuple[int, ...] = ()
    """Error statuses besides 401, 403 and 422, which follow from the other fields."""
    participant: bool = False
    """Whether a participant's key (level "user") may call it."""
    writes: bool = False
    """Whether what the body says becomes part of the simulation."""
    asks: bool = False
    """Whether it is a POST that only asks, so that it needs no fence."""

    @cached_property
    def tag(self) -> str:
        """The subject that it is listed under: the first part of its path, or what that is called."""
        first = self.path.split("/")[1]
        return _SUBJECTS.get(first, first)

    @property
    def changes(self) -> bool:
        """Whether it may change the simulation."""
        return self.method != "GET" and not self.asks


class Routes(list[Route[C]]):
    """Routes that are declared on their handlers, in this order."""

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
    """Finds a route by method and path: whole paths by dictionary, the few with variable parts by their segments.

    A whole path hides variable ones, as OpenAPI says: ``DELETE /events/next`` has a wrong method.
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
        """The route and the path's variable parts. Raises NotFound (404) or WrongMethod (405)."""
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
    """A problem as the contract renders it: ``{"error": …, "detail": …}``, for an unknown modality with two more."""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if isinstance(problem, WrongMethod):
        headers = ((b"allow", ", ".join(problem.allowed).encode()),)
    elif problem.status == 401:
        headers = ((b"www-authenticate", b"Bearer"),)
    content = {"error": problem.title, "detail": problem.detail}
    if isinstance(problem, UnknownModality):
        content |= {"requested_modality": problem.requested, "available_modalities": problem.available}
    return Reply(content, problem.status, headers=headers)
