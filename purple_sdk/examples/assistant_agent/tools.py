"""The simulator as tools: all of a participant's reading and acting calls, from the client's own declarations."""

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from purple_sdk.examples.assistant_agent.memory import cut
from purple_sdk.protocol.actions import USER_ACTIONS
from purple_sdk.protocol.problems import describe
from purple_sdk.ues import ActionResult, AsyncUESClient, AuthenticationError, OvertakenError, UESError
from purple_sdk.ues._call import Endpoint, Room

_ROOMS = ("email", "sms", "chat", "calendar", "contacts")
_HIDDEN: Mapping[str, frozenset[str]] = {
    "email_send": frozenset({"from_address", "body_html"}),
    "sms_send": frozenset({"from_number"}),
    "chat_send": frozenset({"role", "metadata"}),
}
"""Fields that the client fills in, or that are useless for a model."""
_FIXED: Mapping[str, Mapping[str, Any]] = {"chat_send": {"role": "assistant"}}


@dataclass(frozen=True)
class Tool:
    """One route of the simulator.

    Attributes:
        name: the route's name, such as ``email_send``.
        acts: whether it changes something.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    acts: bool

    def as_function(self) -> dict[str, Any]:
        """The tool as a function declaration for models."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self._parameters},
        }

    @cached_property
    def _parameters(self) -> Any:
        """The arguments' JSON schema."""
        return _short(self.arguments.model_json_schema())

    def signature(self) -> str:
        """Return one line for a model that gets its tools as text: ``email_send(to_addresses, subject, [...])``."""
        fields = self.arguments.model_fields
        needed = [name for name, field in fields.items() if field.is_required()]
        others = [name for name in fields if name not in needed]
        listed = ", ".join([*needed, *(f"[{name}]" for name in others[:6])])
        return f"{self.name}({listed}): {self.description}"


class Toolbox:
    """The tools of one simulation.

    Args:
        answer_tokens: maximum tokens of an answer for the model.
    """

    def __init__(self, ues: AsyncUESClient, answer_tokens: int) -> None:
        self._ues = ues
        self._answer_tokens = answer_tokens
        self._endpoints: dict[str, tuple[Room[Any], str]] = {}
        self.tools: dict[str, Tool] = {}
        for room_name in _ROOMS:
            room = getattr(ues, room_name)
            for name, endpoint in vars(type(room)).items():
                if isinstance(endpoint, Endpoint) and _is_for_participants(endpoint):
                    tool = _make_tool(f"{room_name}_{name}", endpoint)
                    self.tools[tool.name] = tool
                    self._endpoints[tool.name] = (room, name)

    async def use(self, name: str, arguments: Any) -> tuple[bool, str]:
        """Run a tool; returns whether it was carried out, and the text for the model. Raises AuthenticationError,
        OvertakenError (the turn is over for this agent).
        """
        if name not in self.tools:
            return False, f"error: there is no tool {name!r}; there are {', '.join(self.tools)}"
        try:
            checked = self.tools[name].arguments.model_validate(arguments)
        except ValidationError as error:
            return False, f"error: {describe(error)}"
        room, method = self._endpoints[name]
        fields = {**checked.model_dump(exclude_none=True, exclude_unset=True), **_FIXED.get(name, {})}
        try:
            answer = await getattr(room, method)(**fields)
        except (AuthenticationError, OvertakenError):
            raise
        except UESError as error:
            return False, cut(f"error: {error}", self._answer_tokens)
        if isinstance(answer, ActionResult):
            return answer.succeeded, cut(f"{answer.status}: {answer.message}", self._answer_tokens)
        return True, cut(json.dumps(_without_empty(answer), ensure_ascii=False), self._answer_tokens)


def _is_for_participants(endpoint: Endpoint[Any, Any]) -> bool:
    route = endpoint.route
    if route.action in USER_ACTIONS:
        return True
    return route.is_safe and route.path.endswith("/query")


@cache  # every turn has a toolbox, and a model of arguments takes milliseconds to make
def _make_tool(name: str, endpoint: Endpoint[Any, Any]) -> Tool:
    hidden = _HIDDEN.get(name, frozenset())
    fields: dict[str, Any] = {}
    for parameter in list(endpoint.signature.parameters.values())[1:]:
        if parameter.name in hidden:
            continue
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (parameter.annotation, default)
    arguments = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    summary = " ".join((endpoint.__doc__ or name).partition("\n\n")[0].split())
    return Tool(name, summary, arguments, acts=not endpoint.route.is_safe)


def _short(schema: Any) -> Any:
    """Drop titles, defaults and null of optional fields from a JSON schema: it takes half the tokens."""
    if isinstance(schema, list):
        return [_short(element) for element in schema]
    if not isinstance(schema, dict):
        return schema
    options = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    if len(options) == 1:
        return _short(options[0])
    kept = {**schema, "anyOf": options} if options else schema
    return {
        name: {field: _short(one) for field, one in member.items()} if name == "properties" else _short(member)
        for name, member in kept.items()
        if name not in ("title", "default")
    }


def _without_empty(value: Any) -> Any:
    """Drop empty fields from a value: they cost a model tokens."""
    if isinstance(value, dict):
        kept = {name: _without_empty(member) for name, member in value.items() if name not in ("query", "body_html")}
        return {name: member for name, member in kept.items() if member not in (None, [], {}, "")}
    if isinstance(value, list):
        return [_without_empty(element) for element in value]
    return value
