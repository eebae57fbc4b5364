"""One declaration per endpoint, from which the async and the sync method both follow.

A room (``EmailRoom``, ``EventsRoom``, ...) declares an endpoint as a function with only a signature and a docstring::

    class EmailRoom(Room[Runner]):
        @post("/email/read", ActionResult.read)
        def read(self, message_ids: Sequence[str]) -> None:
            '''Mark emails as read.'''

The parameters are the request's fields: those named in the path go there, the others into the query (GET, DELETE) or
the JSON body (POST); None is left out. ``EmailRoom[AsyncRunner]`` then has ``await email.read([...])`` and
``EmailRoom[SyncRunner]`` has ``email.read([...])``, and type checkers know both. ``declared`` reads such rooms from a
table.
"""

import inspect
import types
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, overload
from urllib.parse import quote

from pydantic_core import to_json

from proctor_protocol.actions import action_name
from purple_sdk.ues import answers
from purple_sdk.ues._reading import json_object, raw

if TYPE_CHECKING:
    from purple_sdk.ues._runners import AsyncRunner, SyncRunner

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
Runner = TypeVar("Runner", bound="AsyncRunner | SyncRunner", covariant=True)

Method = Literal["GET", "POST", "DELETE"]

Time = datetime | str
"""An aware datetime, or ISO 8601 text; the server reads a naive one as UTC."""
Item = Mapping[str, Any]
"""A JSON object whose fields the contract lists, for example an attachment."""


@dataclass(frozen=True)
class OwnValue:
    """A required field that a user's client can fill in: a value in the answer to a GET."""

    path: str
    key: str


@dataclass(frozen=True)
class Route(Generic[Answer]):
    """An endpoint.

    Attributes:
        path: may have ``{parameters}``.
        read: makes the answer from a body.
        is_safe: whether asking twice is the same as asking once, so that a failed request may be repeated.
        own: fields that are filled in where the caller leaves them out.
        whole_body: the parameter that is the body, rather than one field of it.
    """

    method: Method
    path: str
    read: Callable[[bytes], Answer]
    is_safe: bool
    own: Mapping[str, OwnValue] = field(default_factory=dict)
    whole_body: str | None = None

    @property
    def action(self) -> str:
        """The name in action logs: ``/email/send`` is ``email.send``, ``/email/read`` is ``email.mark_read``."""
        return action_name(self.path.strip("/").replace("/", ".").replace("-", "_"))


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """One request: a route with values for its fields."""

    route: Route[Answer]
    fields: dict[str, Any]

    @property
    def target(self) -> str:
        """The path with its parameters filled in."""
        path = self.route.path
        for name, value in self.fields.items():
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", quote(str(value), safe="", errors="surrogatepass"))
        return path

    @property
    def payload(self) -> dict[str, Any]:
        """The fields that don't stand in the path."""
        return {name: value for name, value in self.fields.items() if f"{{{name}}}" not in self.route.path}

    @property
    def query(self) -> dict[str, Any]:
        """The URL's query."""
        if self.route.method == "POST":
            return {}
        return {name: _in_query(value) for name, value in self.payload.items()}

    @property
    def content(self) -> bytes | None:
        """The request's body, as JSON.

        Raises:
            ValueError: a value that JSON can't carry, such as half of a surrogate pair.
        """
        if self.route.method != "POST":
            return None
        body = self.payload.get(self.route.whole_body) if self.route.whole_body else self.payload
        return body if isinstance(body, bytes) else to_json(body)


def _in_query(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


class Room(Generic[Runner]):
    """A group of endpoints, run by a runner: awaited or at once."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner


class Endpoint(Generic[Parameters, Answer]):
    """The descriptor that turns a declaration into a method."""

    def __init__(self, route: Route[Answer], name: str, signature: inspect.Signature, doc: str | None) -> None:
        self.route = route
        self.signature = signature
        self.__doc__ = doc
        self.__name__ = name

    @overload
    def __get__(self, room: None, owner: type) -> Self: ...
    @overload
    def __get__(self, room: "Room[AsyncRunner]", owner: type) -> Callable[Parameters, Coroutine[Any, Any, Answer]]: ...
    @overload
    def __get__(self, room: "Room[SyncRunner]", owner: type) -> Callable[Parameters, Answer]: ...
    def __get__(self, room: Any, owner: type) -> Any:
        """Bind to a room: a function of the declared parameters."""
        if room is None:
            return self

        def method(*args: Any, **kwargs: Any) -> Any:
            return room._runner.run(self.call(room, *args, **kwargs))

        method.__doc__, method.__name__ = self.__doc__, self.__name__
        return method

    def call(self, room: Any, *args: Any, **kwargs: Any) -> Call[Answer]:
        """Describe a call.

        Raises:
            TypeError: arguments that the declaration doesn't have.
        """
        bound = self.signature.bind(room, *args, **kwargs)
        bound.apply_defaults()
        arguments = list(bound.arguments.items())[1:]
        return Call(self.route, {name: value for name, value in arguments if value is not None})


def get(path: str, read: Callable[[bytes], Answer]) -> "Declare[Answer]":
    """Declare a GET."""
    return Declare(Route("GET", path, read, is_safe=True))


def delete(path: str, read: Callable[[bytes], Answer]) -> "Declare[Answer]":
    """Declare a DELETE."""
    return Declare(Route("DELETE", path, read, is_safe=False))


def post(path: str, read: Callable[[bytes], Answer]) -> "Declare[Answer]":
    """Declare a POST that changes something."""
    return Declare(Route("POST", path, read, is_safe=False))


class Declare(Generic[Answer]):
    def __init__(self, route: Route[Answer]) -> None:
        self._route = route

    def __call__(self, declaration: Callable[Concatenate[Any, Parameters], None]) -> Endpoint[Parameters, Answer]:
        name, doc = declaration.__name__, inspect.getdoc(declaration)
        return Endpoint(self._route, name, inspect.signature(declaration), doc)


def declared(table: Mapping[str, Any], module: str) -> dict[str, type[Room[Any]]]:
    """The rooms of a table, as ``_rooms.json`` has them, by the names of their classes."""
    return {name: _room(name, room, module) for name, room in table.items()}


def _room(name: str, room: Mapping[str, Any], module: str) -> type[Room[Any]]:
    endpoints = {method: _endpoint(method, each) for method, each in room["endpoints"].items()}
    content = {"__module__": module, "__doc__": room["doc"], **endpoints}
    base: Any = Room
    return types.new_class(name, (base[Runner],), exec_body=lambda own: own.update(content))


def _endpoint(name: str, declaration: Mapping[str, Any]) -> Endpoint[Any, Any]:
    route = Route[Any](
        declaration["method"],
        declaration["path"],
        _named(declaration["read"]),
        declaration["is_safe"],
        {field: OwnValue(*own) for field, own in declaration.get("own", {}).items()},
        declaration.get("whole_body"),
    )
    parameter = inspect.Parameter
    kind = parameter.POSITIONAL_OR_KEYWORD if declaration["by_position"] else parameter.KEYWORD_ONLY
    required, optional = declaration["required"].items(), declaration["optional"].items()
    parameters = [
        parameter("self", parameter.POSITIONAL_OR_KEYWORD),
        *(parameter(field, kind, annotation=_named(of)) for field, of in required),
        *(parameter(field, parameter.KEYWORD_ONLY, default=None, annotation=_named(of)) for field, of in optional),
    ]
    return Endpoint(route, name, inspect.Signature(parameters), declaration["doc"])


_NAMES = {
    "Any": Any,
    "Item": Item,
    "Literal": Literal,
    "Sequence": Sequence,
    "Time": Time,
    "answers": answers,
    "json_object": json_object,
    "raw": raw,
}


@cache
def _named(expression: str) -> Any:
    """A type or a reader of a table. Tables are part of this package: the generator writes them."""
    return eval(expression, _NAMES)
