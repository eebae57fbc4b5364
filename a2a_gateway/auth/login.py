"""Login of browsers: a token is exchanged for a cookie, which no script can read and no other site can send."""

import asyncio
import hashlib
import json
import math
import time
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from proctor.a2a_gateway.auth.identity import LONGEST_TOKEN, Identity, IdentityUnavailableError, UnknownCallerError
from proctor.settings.config import GreenAgentConfig
from proctor.storage.folder import Folder, StoreUnavailableError
from proctor.storage.sealing import NotOursError, seal, unseal

LOGIN_PATH, LOGOUT_PATH = "/login", "/logout"
COOKIE = "proctor_session"
SESSION_SECONDS = 12 * 3600
"""The longest time for which a browser stays logged in. A token that expires earlier ends the session earlier."""

LOOK_AGAIN_SECONDS = 1.0
"""How many seconds the gateway relies on its last reading of logouts from the store."""

_STORE_SECONDS = 5.0
_LONGEST_COOKIE = 2 * LONGEST_TOKEN
"""The most characters of a cookie; sealing makes a token a third longer."""

_LOGOUTS = "logouts"
_NOT_TOLD = (
    "This browser is logged out, but the store doesn't answer, so other gateways don't know it: a copy of the cookie "
    "is valid there until it expires. To end it, revoke the token."
)
_PURPOSE = "browser session"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer", browsers don't send a form's origin, and the form would be refused.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Log in · proctor</title><link rel="stylesheet" href="/viewer.css">
</head><body><header class="bar"><span class="brand">proctor</span></header><main id="main"><h1>Log in</h1>
{problem}<form method="post" action="{action}"><p><label>Token <input type="password" name="token" required autofocus
autocomplete="current-password"></label> <button>Log in</button></p></form>
<p class="quiet">The operator creates tokens: <code>proctor token create NAME</code>.</p></main></body></html>
"""


class Sessions:
    """Cookies of logged-in browsers: each contains the token and an expiry, sealed with the deployment's secret.

    Every gateway of a deployment can therefore read them, and revoking the token ends them. A logout also ends a
    cookie: until it expires, the store has a file ``logouts/UNTIL.SESSION``, where SESSION is a hash of the sealed
    content.
    """

    def __init__(self, config: GreenAgentConfig) -> None:
        self._config = config
        self._store = Folder(config.storage_url, "store")
        self._ended: dict[str, int] = {}
        self._looked_at = -math.inf
        self._looking: asyncio.Task[None] | None = None
        self._is_https = config.effective_card_url.startswith("https://")

    def open(self, answer: Response, token: str) -> None:
        content = json.dumps({"token": token, "until": time.time() + SESSION_SECONDS})
        answer.set_cookie(
            COOKIE,
            seal(self._config, _PURPOSE, content),
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=self._is_https,
        )

    async def find_token(self, header: str) -> str:
        """Return the token of a ``Cookie`` header; empty if the header has no valid session.

        Raises StoreUnavailableError if it can't be found out whether the cookie was logged out.
        """
        session = self._read_session(header)
        if session is None or session.until <= time.time():
            return ""
        if time.monotonic() > self._looked_at + LOOK_AGAIN_SECONDS:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look())
            await asyncio.shield(self._looking)
        return "" if session.id in self._ended else session.token

    async def end(self, header: str) -> None:
        """End the session of a ``Cookie`` header, on every gateway with this store.

        Raises StoreUnavailableError if the store can't tell the other gateways.
        """
        if (session := self._read_session(header)) is None or session.until <= time.time():
            return
        until = self._ended[session.id] = math.ceil(session.until)
        path = f"{_LOGOUTS}/{until}.{session.id}"
        await self._store.within_time(lambda: self._write(path), "written", seconds=_STORE_SECONDS)

    def _write(self, path: str) -> None:
        """Write a file to ``logouts``, and remove files whose cookies have expired."""
        self._store.write(path, b"")
        for name in self._store.names(_LOGOUTS):
            until = name.partition(".")[0]
            if until.isdecimal() and int(until) < time.time():
                self._store.remove(f"{_LOGOUTS}/{name}")

    async def _look(self) -> None:
        """Read the ended sessions, and forget those whose cookies have expired."""
        at, now = time.monotonic(), time.time()
        names = await self._store.within_time(lambda: self._store.names(_LOGOUTS), "read", seconds=_STORE_SECONDS)
        for name in names:
            until, _, session_id = name.partition(".")
            if until.isdecimal():
                self._ended[session_id] = int(until)
        self._ended = {session_id: until for session_id, until in self._ended.items() if until > now}
        self._looked_at = at

    def _read_session(self, header: str) -> "_Session | None":
        """Return the session of our cookie; None if the header has no valid one. One session can be written as several
        cookies, so its id is a hash.

        Python's own parser of cookies takes minutes for a hostile one (CVE-2024-7592).
        """
        pairs = [pair.strip().partition("=") for pair in header.split(";")]
        values = [value.strip('"') for name, _, value in pairs if name == COOKIE]
        if not values or len(values[-1]) > _LONGEST_COOKIE:
            return None
        try:
            content = unseal(self._config, _PURPOSE, values[-1])
        except (NotOursError, ValueError):
            return None
        sealed = json.loads(content)
        return _Session(hashlib.sha256(content.encode()).hexdigest(), sealed["token"], sealed["until"])


@dataclass(frozen=True)
class _Session:
    id: str
    token: str
    until: float


def login_address(path: str) -> str:
    """Return the login page's address that leads on to ``path``."""
    return f"{LOGIN_PATH}?next={quote(path, safe='/')}"


def login_routes(identity: Identity, sessions: Sessions) -> list[Route]:
    """Return the routes of the login form, the login and the logout."""

    async def form(request: Request) -> Response:
        return _page(_next(request))

    async def start_session(request: Request) -> Response:
        after = _next(request)
        fields = parse_qs((await request.body()).decode(errors="replace"))
        token = fields.get("token", [""])[0].strip()
        try:
            await identity.find(token)
        except UnknownCallerError as error:
            return _page(after, str(error), 401)
        except IdentityUnavailableError as error:
            return _page(after, str(error), 503)
        answer = RedirectResponse(after, 303, headers=_HEADERS)
        sessions.open(answer, token)
        return answer

    async def end_session(request: Request) -> Response:
        answer: Response = RedirectResponse(LOGIN_PATH, 303, headers=_HEADERS)
        try:
            await sessions.end(request.headers.get("cookie", ""))
        except StoreUnavailableError:
            answer = _page("/", _NOT_TOLD, 503)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer

    return [
        Route(LOGIN_PATH, form, methods=["GET"]),
        Route(LOGIN_PATH, start_session, methods=["POST"]),
        Route(LOGOUT_PATH, end_session, methods=["POST"]),
    ]


def _next(request: Request) -> str:
    """Return the path to open after the login. A target that isn't a path of this server is ignored."""
    path = request.query_params.get("next", "/")
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_ours else "/"


def _page(after: str, problem: str = "", status: int = 200) -> HTMLResponse:
    notice = f'<p class="failure" role="status">{escape(problem)}</p>' if problem else ""
    return HTMLResponse(_PAGE.format(problem=notice, action=escape(login_address(after))), status, headers=_HEADERS)
