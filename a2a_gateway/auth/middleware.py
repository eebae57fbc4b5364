"""The authentication middleware of an application: it checks every request and adds its caller.

An open stream of updates ends as soon as its caller would no longer be accepted.
"""

import asyncio
from collections.abc import Sequence

from a2a.auth.user import User
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proctor.a2a_gateway.auth.hosts import Hosts
from proctor.a2a_gateway.auth.identity import Identity, IdentityUnavailableError, UnknownCallerError
from proctor.a2a_gateway.auth.login import LOGIN_PATH, LOGOUT_PATH, Sessions, login_address, login_routes
from proctor.a2a_gateway.limits import BodyLimit
from proctor.protocol.callers import CALLER, Caller, get_caller
from proctor.settings.config import GreenAgentConfig
from proctor.storage.folder import StoreUnavailableError

_NOBODY = Caller()
_STATUSES = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 421: "MISDIRECTED", 503: "UNAVAILABLE"}

_LOOKED_AGAIN_EVERY = 10.0
"""Seconds between checks that the caller of a long request is still accepted."""

PUBLIC_PATHS = frozenset(
    {
        "/health",
        "/ready",
        "/.well-known/agent-card.json",
        "/.well-known/agent.json",
        LOGIN_PATH,
        LOGOUT_PATH,
        "/viewer.css",
    }
)
"""Paths that need no authentication: the card, the health checks, and the login."""


class AuthMiddleware:
    """Refuse requests for other hosts, from other sites, and of unknown callers. Pass on all other requests, with their
    caller.

    Args:
        sessions: the cookies of browsers.
        admins_only: whether, with authentication, only admins are accepted.
    """

    def __init__(
        self, app: ASGIApp, hosts: Hosts, identity: Identity, sessions: Sessions, *, admins_only: bool = False
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._identity = identity
        self._sessions = sessions
        self._admins_only = admins_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            if refusal := await self._check(scope):
                await refusal(scope, receive, send)
            else:
                await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; end it when its caller is no longer accepted."""
        has_begun = False

        async def note(message: Message) -> None:
            nonlocal has_begun
            has_begun = has_begun or message["type"] == "http.response.start"
            await send(message)

        serving = asyncio.ensure_future(self._app(scope, receive, note))
        try:
            while not (await asyncio.wait({serving}, timeout=_LOOKED_AGAIN_EVERY))[0]:
                if problem := await self._why_no_longer(scope):
                    await _stop(serving)
                    if not serving.cancelled():  # the request ended at that very moment
                        break
                    if has_begun:
                        await send({"type": "http.response.body", "body": b"", "more_body": False})
                    else:
                        await _refusal(401, problem)(scope, receive, send)
                    return
        finally:
            if not serving.done():
                await _stop(serving)
        await serving

    async def _why_no_longer(self, scope: Scope) -> str | None:
        """Return why an accepted caller would now be refused, as a sentence. None if the caller is still accepted, or
        can't be checked now.
        """
        if scope["path"] in PUBLIC_PATHS:
            return None
        try:
            caller = await self._find(Headers(scope=scope))
        except UnknownCallerError as error:
            return str(error)
        except IdentityUnavailableError:
            return None
        was = get_caller(scope)
        is_the_same = (caller.name, caller.is_admin) == (was.name, was.is_admin)
        return None if is_the_same else "The token is another caller's now, or has other rights: send it again."

    async def _check(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if problem := self._hosts.problem_of_host(headers):
            return _refusal(421, problem)
        if problem := self._hosts.problem_of_origin(scope["method"], headers):
            return _refusal(403, problem)
        is_public = scope["path"] in PUBLIC_PATHS
        try:
            scope[CALLER] = await self._find(headers)
        except UnknownCallerError as error:
            scope[CALLER] = _NOBODY
            return None if is_public else _refuse_unknown(scope, headers, str(error))
        except IdentityUnavailableError as error:
            scope[CALLER] = _NOBODY
            return None if is_public else _refusal(503, str(error))
        if self._admins_only and not is_public and not scope[CALLER].is_admin:
            return _refusal(403, "This is for administrators of the evaluator.")
        return None

    async def _find(self, headers: Headers) -> Caller:
        """Return the caller of a request; raises all errors of ``Identity.find``."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self._identity.find(token.strip())
        try:
            return await self._identity.find(await self._sessions.find_token(headers.get("cookie", "")))
        except StoreUnavailableError:
            raise IdentityUnavailableError(
                "The evaluator's store doesn't answer, so it isn't known whether this login has ended: try again later."
            ) from None


class Authentication:
    """The routes and middleware that authenticate the callers of one deployment.

    Args:
        origins: sites whose pages may send requests, in addition to those of the settings; their cookies count.
        admins_only: whether, with authentication, only admins are accepted.
    """

    def __init__(self, config: GreenAgentConfig, origins: Sequence[str] = (), *, admins_only: bool = False) -> None:
        self.identity = Identity(config)
        sessions, hosts = Sessions(config), Hosts(config, origins)
        self.routes = login_routes(self.identity, sessions)
        self.middleware = [
            *_cors(hosts.origins, with_cookies=bool(origins)),
            Middleware(AuthMiddleware, hosts=hosts, identity=self.identity, sessions=sessions, admins_only=admins_only),
        ]


def guarded(config: GreenAgentConfig, app: Starlette) -> Starlette:
    """Return the application with authentication of its callers."""
    authentication = Authentication(config)
    middleware = [*authentication.middleware, Middleware(BodyLimit, rpc_path="")]
    return Starlette(routes=[*authentication.routes, *app.routes], middleware=middleware)


class CallerUser(User):
    """A request's caller, in a2a-sdk's form."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    @property
    def is_authenticated(self) -> bool:
        return bool(self.caller.name)

    @property
    def user_name(self) -> str:
        return self.caller.name


def get_user(scope: Scope) -> CallerUser:
    """Return the caller of a request, in a2a-sdk's form."""
    return CallerUser(get_caller(scope))


async def _stop(serving: asyncio.Future[None]) -> None:
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


def _refuse_unknown(scope: Scope, headers: Headers, problem: str) -> Response:
    """Answer an unauthenticated request: a person gets the login page, a program an error with the remedy."""
    if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
        query = scope.get("query_string", b"").decode("latin-1")
        return RedirectResponse(login_address(scope["path"] + (f"?{query}" if query else "")), 303)
    return _refusal(401, problem)


def _refusal(code: int, sentence: str) -> Response:
    headers = {"WWW-Authenticate": 'Bearer realm="proctor"'} if code == 401 else {}
    error = {"code": code, "status": _STATUSES[code], "message": sentence}
    return JSONResponse({"error": error}, code, headers={**headers, "Cache-Control": "no-store"})


def _cors(origins: Sequence[str], *, with_cookies: bool) -> list[Middleware]:
    """Return the middleware that lets pages of other sites read answers; empty if ``origins`` names no sites."""
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "A2A-Version", "A2A-Extensions", "X-Namespace"],
            allow_credentials=with_cookies,
        )
    ]
