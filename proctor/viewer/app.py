"""The routes of the pages, and their HTTP headers."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from proctor.protocol.archive import ArchiveEntry
from proctor.protocol.callers import get_caller
from proctor.storage.archive import Archive, EntryDamagedError, NoSuchEntryError, SeveralEntriesError
from proctor.storage.folder import StoreUnavailableError
from proctor.viewer.actions import LONGEST_FIELD, NOT_FROM_HERE, Action, ActionRefusedError, ActionRequest, Actions
from proctor.viewer.bounds import Look
from proctor.viewer.live import Live, Running, RunningDetails
from proctor.viewer.overviews import Overview
from proctor.viewer.pages import Pages, build_address, static
from proctor.viewer.words import clip

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""WebAssembly is for our player of recordings; no data is executed."""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Other sites get no referrer. With "no-referrer", browsers wouldn't report a form's origin even to us.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LIVE_SECONDS = 2.0  # how long a page waits for Temporal to report running work
_AWAY_SECONDS = 5.0
_UNKNOWN = "Temporal did not say in time what runs. If it runs, load this page again in some seconds."

_AGAIN = {"Retry-After": "5", "Refresh": "5"}
"""Headers of a page that can't be made at the moment: browsers load it again."""

_LONGEST_FORM = 64_000
_LONGEST_TEXT = 1_000_000
_STATIC = {
    "viewer.css": "text/css",
    "viewer.js": "text/javascript",
    "asciinema-player.min.js": "text/javascript",
    "asciinema-player.css": "text/css",
}

T = TypeVar("T")

log = logging.getLogger(__name__)


def routes(
    archive_url: str,
    ui_url: str | None = None,
    live: Live | None = None,
    actions: Actions | None = None,
    table: str = "",
) -> list[BaseRoute]:
    """Return the pages' routes.

    Args:
        archive_url: the archive.
        table: the file with this machine's table of the archive.
        ui_url: the Temporal UI's address, if there is one.
    """
    archive = Archive(archive_url, table, in_background=True)
    served = _Served(Pages(archive, ui_url), live or Live(), actions or Actions())
    return [
        Route("/", served.overview, methods=["GET"]),
        Route("/view", lambda _: RedirectResponse("/"), methods=["GET"]),
        Route("/view/{id}", served.entry, methods=["GET"]),
        Route("/view/{id}/assessment.html", served.export, methods=["GET"]),
        Route("/view/{id}/recording.cast", served.recording, methods=["GET"]),
        Route("/view/{id}/files/{sha256}", served.file, methods=["GET"]),
        Route("/view/{id}/texts/{name}", served.text, methods=["GET"]),
        Route("/view/{id}/do/{action}", served.ask, methods=["GET"]),
        Route("/view/{id}/do/{action}", served.do, methods=["POST"]),
        Route("/compare", served.comparison, methods=["GET"]),
        *(Route(f"/{name}", _file(name, kind), methods=["GET"]) for name, kind in _STATIC.items()),
    ]


def create_app(
    archive_url: str,
    ui_url: str | None = None,
    live: Live | None = None,
    actions: Actions | None = None,
    table: str = "",
) -> Starlette:
    """Return an application with the pages alone, as ``proctor view`` serves them."""
    return Starlette(routes=routes(archive_url, ui_url, live, actions, table))


class _Served:
    def __init__(self, pages: Pages, live: Live, actions: Actions) -> None:
        self._pages = pages
        self._live = live
        self._actions = actions
        self._ask_again_at = 0.0

    def _restrict_pages(self, request: Request) -> Pages:
        return self._pages.restrict_view(get_caller(request.scope))

    async def overview(self, request: Request) -> Response:
        pages, caller = self._restrict_pages(request), get_caller(request.scope)
        nothing: Sequence[Running] = ()
        known = await self._ask_live(lambda: self._live.running(caller), nothing)
        running = [work for work in known if caller.may_see(work.owner)]
        filters = Overview.of(request.query_params)
        return await self._answer(lambda: pages.overview(running, filters))

    async def entry(self, request: Request) -> Response:
        pages, name, turn = self._restrict_pages(request), request.path_params["id"], _turn(request)
        look = _look(request)
        none: RunningDetails | None = None
        details = await self._ask_live(lambda: self._live.details(name), none)
        if details is not None and get_caller(request.scope).may_see(details.running.owner):
            return await self._answer(lambda: pages.running(details))

        async def make() -> str:
            entry = await asyncio.to_thread(pages.archive.find, name)
            offered = await self._offered(request, entry)
            return await asyncio.to_thread(pages.entry, entry, turn, offered=offered, look=look)

        return await self._answering(make, may_run=time.monotonic() < self._ask_again_at)

    async def export(self, request: Request) -> Response:
        pages, name = self._restrict_pages(request), request.path_params["id"]
        answer = await self._answer(lambda: pages.entry(pages.archive.find(name), as_file=True))
        if answer.status_code == 200:
            # The file has its own policy, which names its style and script. As a download, it is not one of our pages.
            answer.headers["Content-Disposition"] = 'attachment; filename="assessment.html"'
        return answer

    async def recording(self, request: Request) -> Response:
        pages, name = self._restrict_pages(request), request.path_params["id"]
        answer = await self._answer(lambda: pages.recording(pages.archive.find(name)))
        if answer.status_code == 200:  # an agent's output: a browser must not show it as a page
            answer.headers["Content-Type"] = "application/x-asciicast"
            answer.headers["Content-Disposition"] = 'attachment; filename="recording.cast"'
        return answer

    async def file(self, request: Request) -> Response:
        """Send an attached file as a download: a browser must not show the scenario's content as one of our pages."""
        pages, name = self._restrict_pages(request), request.path_params["id"]
        try:
            entry = await asyncio.to_thread(pages.archive.find, name)
            content = await asyncio.to_thread(pages.file, entry, request.path_params["sha256"])
        except (NoSuchEntryError, EntryDamagedError) as error:
            return HTMLResponse(self._pages.problem(self._sentence(error)), 404, headers=_HEADERS)
        except StoreUnavailableError as error:
            return self._unavailable(error)
        if content is None:
            raise HTTPException(404, "the assessment has no file with this SHA-256")
        headers = {**_HEADERS, "Content-Disposition": "attachment"}
        return Response(content, media_type="application/octet-stream", headers=headers)

    async def text(self, request: Request) -> Response:
        """Send a long text, of which a page has only the beginning."""
        pages, path, turn = self._restrict_pages(request), request.path_params, _turn(request) or 0

        def read() -> str:
            text = pages.text(pages.archive.find(path["id"]), path["name"], turn)
            if text is None:
                raise NoSuchEntryError("the assessment has no such text")
            return clip(text, _LONGEST_TEXT)

        answer = await self._answer(read)
        if answer.status_code == 200:
            answer.headers["Content-Type"] = "text/plain; charset=utf-8"
        return answer

    async def comparison(self, request: Request) -> Response:
        a, b = request.query_params.get("a", ""), request.query_params.get("b", "")
        pages = self._restrict_pages(request)
        return await self._answer(lambda: pages.comparison(pages.archive.find(a), pages.archive.find(b)))

    async def ask(self, request: Request) -> Response:
        action, action_request = await self._read_action(request, {})
        if not self._actions.may_act(request):
            return HTMLResponse(self._pages.problem(NOT_FROM_HERE), 403, headers=_HEADERS)
        return self._question(action, action_request)

    async def do(self, request: Request) -> Response:
        form = await _form(request)
        action, action_request = await self._read_action(request, form)
        if refusal := self._actions.refusal(request, action, action_request, form.get("token", "")):
            return HTMLResponse(self._pages.problem(refusal), 403, headers=_HEADERS)
        try:
            shown = await action.do(action_request)
        except ActionRefusedError as error:
            return self._question(action, action_request, self._sentence(error), 409)
        return RedirectResponse(build_address(shown), 303, headers=_HEADERS)

    def _question(
        self, action: Action, action_request: ActionRequest, refusal: str | None = None, status: int = 200
    ) -> Response:
        token = self._actions.token(action, action_request.entry, action_request.turn)
        return HTMLResponse(self._pages.question(action, action_request, token, refusal), status, headers=_HEADERS)

    async def _read_action(self, request: Request, form: dict[str, str]) -> tuple[Action, ActionRequest]:
        action = self._actions.find(request.path_params["action"])
        try:
            entry = await asyncio.to_thread(self._restrict_pages(request).archive.get, request.path_params["id"])
        except EntryDamagedError as error:
            raise HTTPException(500, self._sentence(error)) from None
        except StoreUnavailableError as error:
            raise HTTPException(503, self._sentence(error), headers=_AGAIN) from None
        if action is None or entry is None or not action.is_offered(entry):
            raise HTTPException(404, "there is nothing of that kind to be done")
        turn = _number(form["turn"]) if form.get("turn") else _turn(request)
        if action.at_each_turn and turn is None:
            raise HTTPException(400, "turn is missing: it is a whole number")
        inputs = {field.name: form.get(field.name, "").strip()[:LONGEST_FIELD] for field in action.fields}
        return action, ActionRequest(entry, turn, inputs, get_caller(request.scope))

    async def _ask_live(self, ask: Callable[[], Awaitable[T]], otherwise: T) -> T:
        """Ask for running work. If that fails or takes too long, return ``otherwise``.

        Pages of ended work thus stay readable. For some seconds after a failure, ``otherwise`` is returned at once, so
        pages stay fast without Temporal.
        """
        if time.monotonic() < self._ask_again_at:
            return otherwise
        try:
            return await asyncio.wait_for(ask(), _LIVE_SECONDS)
        except Exception as error:
            log.info("it is not known what runs: %s", str(error) or type(error).__name__)
            self._ask_again_at = time.monotonic() + _AWAY_SECONDS
            return otherwise

    async def _offered(self, request: Request, entry: ArchiveEntry) -> list[Action]:
        if not self._actions.may_act(request):
            return []
        has_history = await self._ask_live(lambda: self._live.may_continue(entry.id), False)
        return self._actions.offered(request, entry, has_history=has_history)

    def _sentence(self, problem: Exception) -> str:
        text = self._pages.archive.folder.without_place(problem)
        return f"{text[:1].upper()}{text[1:]}"

    async def _answer(self, make: Callable[[], str]) -> Response:
        return await self._answering(lambda: asyncio.to_thread(make))

    async def _answering(self, make: Callable[[], Awaitable[str]], *, may_run: bool = False) -> Response:
        try:
            return HTMLResponse(await make(), headers=_HEADERS)
        except NoSuchEntryError as error:
            if may_run and not isinstance(error, SeveralEntriesError):
                return HTMLResponse(self._pages.problem(f"{self._sentence(error)}. {_UNKNOWN}"), 503, headers=_HEADERS)
            return HTMLResponse(self._pages.problem(self._sentence(error)), 404, headers=_HEADERS)
        except EntryDamagedError as error:
            return HTMLResponse(self._pages.problem(self._sentence(error)), 500, headers=_HEADERS)
        except StoreUnavailableError as error:
            return self._unavailable(error)

    def _unavailable(self, problem: StoreUnavailableError) -> Response:
        return HTMLResponse(self._pages.problem(self._sentence(problem)), 503, headers={**_HEADERS, **_AGAIN})


def _file(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return Response(static(name), media_type=kind, headers=_HEADERS)

    return answer


async def _form(request: Request) -> dict[str, str]:
    """Read a form's fields; of a repeated field, the last value counts."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > _LONGEST_FORM:
            raise HTTPException(413, "the form is too long")
    try:
        return dict(parse_qsl(content.decode(), keep_blank_values=True, max_num_fields=100))
    except ValueError:
        raise HTTPException(400, "this is not a form") from None


def _turn(request: Request) -> int | None:
    value = request.query_params.get("turn")
    return None if value is None else _number(value)


def _look(request: Request) -> Look:
    query = request.query_params
    return Look(query.get("item", ""), query.get("shelf", ""), _number(query.get("skip", "0"), "skip"))


def _number(digits: str, name: str = "turn") -> int:
    if not digits.isdecimal() or len(digits) > 6:
        raise HTTPException(400, f"{name} is a whole number")
    return int(digits)
