"""One declaration per endpoint, which defines both the async and the sync method.

A room (``EmailRoom``, ``EventsRoom``, ...) declares an endpoint as a function with only a signature and a docstring::

    class EmailRoom(Room[Runner]):
        @post("/email/read", ActionResult.read)
        def read(self, message_ids: Sequence[str]) -> None:
            '''Mark emails as read.'''

The parameters are the request's fields. Fields that the path names go into the path. Other fields go into the query
(GET, DELETE) or the JSON body (POST). None is left out. ``EmailRoom[AsyncRunner]`` then has ``await email.read([...])``
and ``EmailRoom[SyncRunner]`` has ``email.read([...])``, and type checkers know both.
"""

import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, overload
from urllib.parse import quote

from pydantic_core import to_json

from purple_sdk.protocol.actions import action_name

if TYPE_CHECKING:
    from purple_sdk.ues._runners import AsyncRunner, SyncRunner

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
Runner = TypeVar("Runner", bound="AsyncRunner | SyncRunner", covariant=True)

Method = Literal["GET", "POST", "DELETE"]


@dataclass(frozen=True)
class OwnValue:
    """A required field that a user's client can fill in from the answer to a GET."""

    path: str
    key: str


OWN_EMAIL = OwnValue("/email/state?compact=true", "user_email_address")
OWN_PHONE = OwnValue("/sms/state?compact=true", "user_phone_number")


@dataclass(frozen=True)
class Route(Generic[Answer]):
    """An endpoint.

    Attributes:
        path: the path; may have ``{parameters}``.
        read: converts a body to the answer.
        is_safe: whether a failed request may be repeated, since a repetition has no further effect.
        own: fields that the client fills in if the caller leaves them out.
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
        """The fields that aren't in the path."""
        return {name: value for name, value in self.fields.items() if f"{{{name}}}" not in self.route.path}

    @property
    def query(self) -> dict[str, Any]:
        """The URL's query."""
        if self.route.method == "POST":
            return {}
        return {name: _in_query(value) for name, value in self.payload.items()}

    @property
    def content(self) -> bytes | None:
        """Return the request's body, as JSON. Raises ValueError for a value that JSON can't represent, such as half of
        a surrogate pair.
        """
        if self.route.method != "POST":
            return None
        body = self.payload.get(self.route.whole_body) if self.route.whole_body else self.payload
        return body if isinstance(body, bytes) else to_json(body)


def _in_query(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


class Room(Generic[Runner]):
    """A group of endpoints. A runner runs their calls, with or without ``await``."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner


class Endpoint(Generic[Parameters, Answer]):
    """The descriptor that turns a declaration into a method."""

    def __init__(self, route: Route[Answer], declaration: Callable[..., None]) -> None:
        self.route = route
        self.signature = inspect.signature(declaration)
        self.__doc__ = inspect.getdoc(declaration)
        self.__name__ = declaration.__name__

    @overload
    def __get__(self, room: None, owner: type) -> Self: ...
    @overload
    def __get__(self, room: "Room[AsyncRunner]", owner: type) -> Callable[Parameters, Coroutine[Any, Any, Answer]]: ...
    @overload
    def __get__(self, room: "Room[SyncRunner]", owner: type) -> Callable[Parameters, Answer]: ...
    def __get__(self, room: Any, owner: type) -> Any:
        """Return a function of the declared parameters that is bound to a room."""
        if room is None:
            return self

        def method(*args: Any, **kwargs: Any) -> Any:
            return room._runner.run(self.call(room, *args, **kwargs))

        method.__doc__, method.__name__ = self.__doc__, self.__name__
        return method

    def call(self, room: Any, *args: Any, **kwargs: Any) -> Call[Answer]:
        """Return the call with these arguments. Raises TypeError if the declaration lacks an argument."""
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


def query(path: str, read: Callable[[bytes], Answer], *, whole_body: str | None = None) -> "Declare[Answer]":
    """Declare a POST as ``post`` does, but for a request that only reads and so may be repeated."""
    return Declare(Route("POST", path, read, is_safe=True, whole_body=whole_body))


def post(
    path: str,
    read: Callable[[bytes], Answer],
    *,
    own: Mapping[str, OwnValue] | None = None,
    whole_body: str | None = None,
) -> "Declare[Answer]":
    """Declare a POST that changes something.

    Args:
        path: may have ``{parameters}``.
        read: converts a body to the answer; raises ``ValueError`` for an invalid body.
        own: required fields that the client fills in if the caller leaves them out.
        whole_body: the parameter that is the body, rather than one field of it.
    """
    return Declare(Route("POST", path, read, is_safe=False, own=own or {}, whole_body=whole_body))


class Declare(Generic[Answer]):
    def __init__(self, route: Route[Answer]) -> None:
        self._route = route

    def __call__(self, declaration: Callable[Concatenate[Any, Parameters], None]) -> Endpoint[Parameters, Answer]:
        return Endpoint(self._route, declaration)
