"""A player's actions, as typed in a line. The simulator's routes declare the available actions.

``email.archive 2,3`` is an action with its required fields in order. ``FIELD=VALUE`` sets any field by its name.
Numbers stand for items of the lists that were shown.
"""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from proctor.ues.http.routes.modalities import ROUTES
from purple_sdk.protocol.actions import action_name
from purple_sdk.protocol.problems import describe

_OWN = frozenset({"from_address", "from_number", "phone_number", "attendee_email", "role"})
"""Fields that name the user or the participant. They are filled in."""
_NUMBERED = frozenset({"message_ids", "message_id", "event_id", "contact_id", "replied_to_message_id"})
_MOMENTS = frozenset({"start", "end"})
_SHORT = {"to": "to_addresses", "cc": "cc_addresses", "bcc": "bcc_addresses", "body": "body_text", "text": "body_text"}

IdOf = Callable[[str, int], str]
"""A function from a modality and a number in its list to the item's id. It raises ``NotUnderstoodError``."""


class NotUnderstoodError(Exception):
    """A line can't be carried out; the message says why, and what to write instead."""


@dataclass(frozen=True)
class Action:
    modality: str
    path: str
    summary: str
    body: type[BaseModel]

    @property
    def name(self) -> str:
        return action_name(f"{self.modality}.{self.path}")

    @cached_property
    def fields(self) -> dict[str, FieldInfo]:
        return {name: field for name, field in self.body.model_fields.items() if name not in _OWN}

    @property
    def positional(self) -> list[str]:
        return [name for name, field in self.fields.items() if field.is_required()]

    @property
    def usage(self) -> str:
        return " ".join([self.name, *(name.upper() for name in self.positional)])

    def read(self, words: list[str], id_of: IdOf, zone: tzinfo = UTC) -> dict[str, Any]:
        """The action's parameters, from the words after its name.

        Args:
            id_of: finds the id of the item that a number stands for.
            zone: the time zone of times that are typed without an offset.

        Raises:
            NotUnderstoodError: a field is missing, unknown or wrong.
        """
        values: dict[str, Any] = {}
        order = iter(self.positional)
        for word in words:
            name, equals, value = word.partition("=")
            named = self._field(name) if equals else None
            field = named or next((candidate for candidate in order if candidate not in values), None)
            if field is None:
                raise NotUnderstoodError(f"{word!r} is too much: {self.usage}; `help {self.name}` has all fields")
            text = value if named else word
            values[field] = _moment(text, zone) if field in _MOMENTS else self._value(field, text, id_of)
        if missing := [name for name in self.positional if name not in values]:
            raise NotUnderstoodError(f"{', '.join(missing)} missing: {self.usage}")
        self._check(values)
        return values

    def _check(self, values: Mapping[str, Any]) -> None:
        own = {name: "assistant" if name == "role" else "me@example.org" for name in _OWN & set(self.body.model_fields)}
        try:
            self.body.model_validate({**own, **values})
        except ValidationError as error:
            raise NotUnderstoodError(f"{self.name}: {describe(error)}") from None

    def _field(self, name: str) -> str | None:
        candidates = (name, _SHORT.get(name, ""), f"{name}_numbers", f"{name}_text")
        return next((candidate for candidate in candidates if candidate in self.fields), None)

    def _value(self, field: str, text: str, id_of: IdOf) -> Any:
        kind = str(self.fields[field].annotation)
        if text[:1] in ("[", "{") and ("list" in kind or "dict" in kind or "models" in kind):
            try:
                return json.loads(text)
            except ValueError as error:
                raise NotUnderstoodError(f"{field} isn't JSON: {error}") from None
        if field in _NUMBERED:
            ids = [id_of(self.modality, int(part)) if part.isdigit() else part for part in _parts(text)]
            return ids if field.endswith("s") else "".join(ids[:1])
        if field == "attendees":
            return [{"email": address} for address in _parts(text)]
        if "list[str]" in kind and "dict" not in kind:
            return _parts(text)
        if "bool" in kind:
            return {"yes": True, "true": True, "no": False, "false": False}.get(text.lower(), text)
        return text.replace("\\n", "\n")


def _moment(text: str, zone: tzinfo) -> str:
    """A time as the simulator reads it. A time without an offset gets that of the zone; other texts stay unchanged."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return text
    return text if at.tzinfo else at.replace(tzinfo=zone).isoformat()


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _actions() -> list[Action]:
    actions = []
    for route in ROUTES:
        if route.participant and route.changes and isinstance(route.body, type) and issubclass(route.body, BaseModel):
            modality, path = route.path.strip("/").split("/", 1)
            actions.append(Action(modality, path, route.summary, route.body))
    return actions


ACTIONS = _actions()
"""All actions of a participant."""


def find(word: str) -> Action | None:
    """The action that a word names, by its full name or by the last part of its name; None if the word names none.

    Raises:
        NotUnderstoodError: several actions have the name.
    """
    name = action_name(word)
    matches = [action for action in ACTIONS if name in (action.name, action_name(f"{action.modality}.{action.path}"))]
    matches = matches or [action for action in ACTIONS if word in (action.path, action.name.partition(".")[2])]
    if len(matches) > 1:
        raise NotUnderstoodError(f"{word!r} may be {' or '.join(action.name for action in matches)}: write which")
    return matches[0] if matches else None


def split_line(line: str) -> list[str]:
    """A line's words. A quoted text is a single word.

    Raises:
        NotUnderstoodError: a quote isn't closed.
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.quotes = '"'
    lexer.escape = ""
    try:
        return list(lexer)
    except ValueError:
        raise NotUnderstoodError('a " is not closed') from None
