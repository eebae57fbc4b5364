"""The routes of the pages, and what browsers are told about them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from proctor_protocol.callers import caller_of
from proctor_storage.archive import Archive, EntryDamagedError, NoSuchEntryError
from proctor_storage.folder import StoreUnavailableError
from viewer.pages import Pages, Running, static

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_LIVE_SECONDS = 2.0
"""How long an overview waits for Temporal to say what runs."""

Live = Callable[[], Awaitable[Sequence[Running]]]

log = logging.getLogger(__name__)


async def nothing_runs() -> Sequence[Running]:
    """For who looks at an archive alone."""
    return ()


def routes(archive_url: str, ui_url: str | None = None, live: Live = nothing_runs) -> list[BaseRoute]:
    """The pages' routes.

    Args:
        archive_url: the archive.
        ui_url: the Temporal UI, while there is one.
        live: says what is under way.
    """
    everything = Pages(Archive(archive_url), ui_url)

    def seen(request: Request) -> Pages:
        return everything.seen_by(caller_of(request.scope))

    async def overview(request: Request) -> Response:
        pages, caller = seen(request), caller_of(request.scope)
        running = [each for each in await _running(live) if caller.may_see(each.owner)]
        search = request.query_params.get("search", "")[:200]
        return await _answer(pages, lambda: pages.overview(running, search))

    async def assessment(request: Request) -> Response:
        pages, name, turn = seen(request), request.path_params["id"], _turn(request)
        return await _answer(pages, lambda: pages.assessment(pages.archive.find(name), turn))

    async def export(request: Request) -> Response:
        pages, name = seen(request), request.path_params["id"]
        answer = await _answer(pages, lambda: pages.assessment(pages.archive.find(name), as_file=True))
        if answer.status_code == 200:
            # The file has a policy of its own, which names its style and script; as a download it is no page of ours.
            answer.headers["Content-Disposition"] = 'attachment; filename="assessment.html"'
        return answer

    async def comparison(request: Request) -> Response:
        pages = seen(request)
        a, b = request.query_params.get("a", ""), request.query_params.get("b", "")
        return await _answer(pages, lambda: pages.comparison(pages.archive.find(a), pages.archive.find(b)))

    async def style(request: Request) -> Response:
        return Response(static("viewer.css"), media_type="text/css", headers=_HEADERS)

    async def script(request: Request) -> Response:
        return Response(static("viewer.js"), media_type="text/javascript", headers=_HEADERS)

    return [
        Route("/", overview, methods=["GET"]),
        Route("/view", lambda _: RedirectResponse("/"), methods=["GET"]),
        Route("/view/{id}", assessment, methods=["GET"]),
        Route("/view/{id}/assessment.html", export, methods=["GET"]),
        Route("/compare", comparison, methods=["GET"]),
        Route("/viewer.css", style, methods=["GET"]),
        Route("/viewer.js", script, methods=["GET"]),
    ]


def create_app(archive_url: str, ui_url: str | None = None, live: Live = nothing_runs) -> Starlette:
    """The pages alone, as ``proctor view`` serves them; see ``routes``."""
    return Starlette(routes=routes(archive_url, ui_url, live))


async def _running(live: Live) -> Sequence[Running]:
    """What is under way; nothing where that isn't known soon: what has ended can be looked at all the same."""
    try:
        return await asyncio.wait_for(live(), _LIVE_SECONDS)
    except Exception as problem:
        log.info("it is not known what runs: %s", problem or type(problem).__name__)
        return ()


async def _answer(pages: Pages, make: Callable[[], str]) -> Response:
    try:
        return HTMLResponse(await asyncio.to_thread(make), headers=_HEADERS)
    except NoSuchEntryError as problem:
        return HTMLResponse(pages.problem(_sentence(problem)), 404, headers=_HEADERS)
    except (EntryDamagedError, StoreUnavailableError) as problem:
        return HTMLResponse(pages.problem(_sentence(problem)), 500, headers=_HEADERS)


def _sentence(problem: Exception) -> str:
    said = str(problem)
    return f"{said[:1].upper()}{said[1:]}"


def _turn(request: Request) -> int | None:
    said = request.query_params.get("turn")
    if said is None:
        return None
    if not said.isdecimal() or len(said) > 6:
        raise HTTPException(400, "turn is a whole number")
    return int(said)
