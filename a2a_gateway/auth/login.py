"""A browser's way in: a token is exchanged for a cookie, which no script reads and no other site sends."""

import json
import time
from html import escape
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from a2a_gateway.auth.identity import Identity, IdentityUnavailableError, UnknownCallerError
from proctor_settings.config import GreenAgentConfig
from proctor_storage.sealing import NotOursError, seal, unseal

LOGIN_PATH, LOGOUT_PATH = "/login", "/logout"
COOKIE = "proctor_session"
SESSION_SECONDS = 12 * 3600
"""How long a browser stays logged in; it ends sooner when its token does."""

_PURPOSE = "browser session"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # Browsers say where a form comes from only if it isn't "no-referrer"; then it would be refused.
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
    """Cookies of browsers that have logged in: the token, sealed with the deployment's secret, and until when it holds.

    So every gateway of a deployment knows them, none of them is kept anywhere, and a token that is revoked ends them. A
    logout ends one too, at this gateway until it restarts.
    """

    def __init__(self, config: GreenAgentConfig) -> None:
        self._config = config
        self._ended: dict[str, float] = {}
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

    def token_in(self, header: str) -> str:
        """The token that a ``Cookie`` header stands for; empty where it stands for none."""
        try:
            cookie = SimpleCookie(header).get(COOKIE)
            session = json.loads(unseal(self._config, _PURPOSE, cookie.value)) if cookie else {}
        except (CookieError, NotOursError, ValueError):
            return ""
        is_open = session and session["until"] > time.time() and cookie is not None and cookie.value not in self._ended
        return str(session["token"]) if is_open else ""

    def end(self, header: str) -> None:
        """Let the cookie in a ``Cookie`` header open nothing any more."""
        if self.token_in(header):
            now = time.time()
            self._ended = {cookie: until for cookie, until in self._ended.items() if until > now}
            self._ended[SimpleCookie(header)[COOKIE].value] = now + SESSION_SECONDS


def login_address(path: str) -> str:
    """Where a browser logs in that wants to see ``path``."""
    return f"{LOGIN_PATH}?next={quote(path, safe='/')}"


def login_routes(identity: Identity, sessions: Sessions) -> list[Route]:
    """The page with the form, what it sends, and the way out."""

    async def form(request: Request) -> Response:
        return _page(_next(request))

    async def log_in(request: Request) -> Response:
        after = _next(request)
        fields = parse_qs((await request.body()).decode(errors="replace"))
        token = fields.get("token", [""])[0].strip()
        try:
            await identity.find(token)
        except UnknownCallerError as problem:
            return _page(after, str(problem), 401)
        except IdentityUnavailableError as problem:
            return _page(after, str(problem), 503)
        answer = RedirectResponse(after, 303, headers=_HEADERS)
        sessions.open(answer, token)
        return answer

    async def log_out(request: Request) -> Response:
        sessions.end(request.headers.get("cookie", ""))
        answer = RedirectResponse(LOGIN_PATH, 303, headers=_HEADERS)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer

    return [
        Route(LOGIN_PATH, form, methods=["GET"]),
        Route(LOGIN_PATH, log_in, methods=["POST"]),
        Route(LOGOUT_PATH, log_out, methods=["POST"]),
    ]


def _next(request: Request) -> str:
    """The path after the login; anything but a path of this server is ignored."""
    path = request.query_params.get("next", "/")
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_ours else "/"


def _page(after: str, problem: str = "", status: int = 200) -> HTMLResponse:
    notice = f'<p class="failure" role="status">{escape(problem)}</p>' if problem else ""
    return HTMLResponse(_PAGE.format(problem=notice, action=escape(login_address(after))), status, headers=_HEADERS)
