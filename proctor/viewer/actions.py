"""The actions that a page offers: a button, a page that asks for confirmation, and the operation.

An ``Action`` describes an action. The server of the pages passes the list of actions to
``proctor.viewer.app.create_app``, since the pages themselves can't act. To add an action, such as
*fork from this turn*:

1. Write ``async def do(request: ActionRequest) -> str``. It performs the action and returns the id of the entry to
   show next (the same assessment, a new one, a campaign). If it can't, it raises ``ActionRefusedError`` with a sentence
   for the reader.
2. Make an ``Action`` of this function. Give it a ``name`` (a part of the address) and the button's ``label``.
   ``at_each_turn`` says whether the button is at each turn or once on the page. ``is_offered`` chooses the entries with
   the button. ``fields`` are further inputs (an address, a number), which ``do`` gets as ``request.fields``.
3. Add the action to the list in ``proctor.service.page_actions.page_actions``.

This module does the rest. The button leads to a page that asks for confirmation (``question`` says what would be lost).
Its form is posted to ``/view/ID/do/NAME``. A request is refused unless the browser reports the same origin and the form
has the token of that page. With authentication, callers may act on their own entries. Without authentication,
``for_nameless`` says who may act: callers at a loopback address, or no caller if other machines reach the pages. The
setting ``pages_may_act`` permits all callers.
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from starlette.requests import Request

from proctor.protocol.archive import ArchiveEntry
from proctor.protocol.callers import ANYBODY, Caller, get_caller
from purple_sdk.processes.addresses import is_loopback

NOT_FROM_HERE = "Nothing can be done from here: log in, open the pages at http://127.0.0.1, or set pages_may_act."

LONGEST_FIELD = 2_000
"""Characters of a reader's input in one field."""


class ActionRefusedError(Exception):
    """A refused action; the message is a sentence for the reader."""


@dataclass(frozen=True)
class Field:
    """An input of the reader; ``kind`` is its type in HTML (``text``, ``number``, ``url``).

    ``value`` computes the default from the entry.
    """

    name: str
    label: str
    kind: str = "text"
    value: Callable[[ArchiveEntry], str] = lambda entry: ""
    is_required: bool = False


@dataclass(frozen=True)
class ActionRequest:
    """A request of the reader ``caller`` for an action on an entry; ``turn`` is set if the button was at a turn."""

    entry: ArchiveEntry
    turn: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    caller: Caller = ANYBODY


@dataclass(frozen=True)
class Action:
    """An action that readers may perform on an entry; see this module's docstring.

    Attributes:
        name: its part of the address; letters and hyphens.
        question: the question to the reader before it is done, given the entry and the turn.
        at_each_turn: whether the button is at each turn, or only once on the page.
        needs_history: whether it needs the assessment's history in Temporal.
    """

    name: str
    label: str
    do: Callable[[ActionRequest], Awaitable[str]]
    question: Callable[[ArchiveEntry, int | None], str]
    at_each_turn: bool = False
    is_offered: Callable[[ArchiveEntry], bool] = lambda entry: entry.kind == "assessment"
    needs_history: bool = False
    fields: Sequence[Field] = ()


class Actions:
    """The actions of one server of pages.

    Args:
        key: signs the tokens; servers with the same key accept each other's pages. By default a new one.
        for_nameless: the callers who may act without authentication: all who reach the pages (``all``), those who use
            a loopback address (``loopback``), or no caller (``none``).
    """

    def __init__(
        self,
        actions: Sequence[Action] = (),
        *,
        key: bytes | None = None,
        for_nameless: Literal["all", "loopback", "none"] = "loopback",
    ) -> None:
        self._actions = {action.name: action for action in actions}
        self._key = key or secrets.token_bytes(32)
        self._for_nameless = for_nameless

    def find(self, name: str) -> Action | None:
        return self._actions.get(name)

    def offered(self, request: Request, entry: ArchiveEntry, *, has_history: bool) -> list[Action]:
        """Return the actions that the caller of a request may use on an entry."""
        if not self.may_act(request):
            return []
        fitting = (action for action in self._actions.values() if action.is_offered(entry))
        return [action for action in fitting if has_history or not action.needs_history]

    def may_act(self, request: Request) -> bool:
        """Tell whether the caller of a request may use actions.

        A host name other than loopback's own may belong to a site that points it to this machine (DNS rebinding).
        """
        if get_caller(request.scope).name:  # other callers' entries are hidden from them anyway
            return True
        if self._for_nameless == "loopback":
            return is_loopback(_split(f"//{request.headers.get('host', '')}").hostname or "")
        return self._for_nameless == "all"

    def token(self, action: Action, entry: ArchiveEntry, turn: int | None) -> str:
        """Return the token that a form must contain."""
        about = f"{action.name}\n{entry.id}\n{entry.fence}\n{turn}"
        return hmac.new(self._key, about.encode(), sha256).hexdigest()

    def refusal(self, request: Request, action: Action, action_request: ActionRequest, token: str) -> str | None:
        """Return why a form is refused, as a sentence; None if it is accepted."""
        if not self.may_act(request):
            return NOT_FROM_HERE
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin" or not _is_same_origin(request):
            return "This comes from another site, and is not done."
        expected = self.token(action, action_request.entry, action_request.turn)
        if not hmac.compare_digest(token.encode(errors="replace"), expected.encode()):  # as bytes: texts must be ASCII
            return "The page is not of today's state: go back, load it again, and repeat."
        return None


def _is_same_origin(request: Request) -> bool:
    """Tell whether the browser reports that a form is from our page; every browser does so with a POST."""
    origin = _split(request.headers.get("origin", "")).netloc
    return bool(origin) and origin == request.headers.get("host")


def _split(address: str) -> SplitResult:
    """Split an address into its parts; they are empty if it is malformed."""
    try:
        return urlsplit(address)
    except ValueError:
        return SplitResult("", "", "", "", "")
