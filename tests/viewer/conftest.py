"""One archive, its pages served, and one browser for all tests of this folder."""

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
import uvicorn
from playwright.async_api import Browser, Page, async_playwright, expect
from starlette.applications import Starlette

from proctor_processes.ports import free_ports
from proctor_storage.archive import Archive
from tests.ui.browser import FLAGS, require_chromium
from tests.viewer.campaign_entries import ESCAPES, write_campaign, write_run
from tests.viewer.entries import HOSTILE, write_day
from tests.waiting import PATIENCE
from viewer.app import create_app


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Two ordinary days that part in turn 1, a hostile one, one whose first subject has a million characters; and
    campaigns of assessments and of trials, ordinary and hostile.
    """
    kept = Archive(str(tmp_path_factory.mktemp("archive")))
    write_day(kept, "day-one", transcripts=2)
    write_day(kept, "day-two", did="fyi")
    write_day(kept, "hostile", text=HOSTILE, transcripts=2)
    write_day(kept, "huge", turns=1, text="huge " * 200_000, transcripts=1)
    write_campaign(kept, "campaign-1")
    write_run(kept, "run-1", doubtful=2)
    write_campaign(kept, "hostile-campaign", text=HOSTILE + ESCAPES)
    write_run(kept, "hostile-run", tasks=1, attempts=1, text=HOSTILE + ESCAPES)
    return kept


@contextmanager
def serving_pages(app: Starlette) -> Iterator[str]:
    """Serve them on a free port; gives the address."""
    (port,) = free_ports(1)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="session")
def site(archive: Archive) -> Iterator[str]:
    """The pages' address."""
    with serving_pages(create_app(archive.folder.root, "http://127.0.0.1:8233")) as url:
        yield url


expect.set_options(timeout=PATIENCE * 1000)


class Reader:
    """Somebody with a browser: the page, what it complained of, and whom it asked."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda problem: self.complaints.append(str(problem)))
        page.on("request", lambda request: self.asked.append(request.url))

    async def opens(self, url: str) -> None:
        await self.page.goto(url)

    async def require_calm(self, site: str) -> None:
        """Nothing has run that isn't ours, nothing was complained of, nobody else was asked."""
        assert await self.page.evaluate("typeof window.pwned") == "undefined"
        assert self.complaints == []
        assert [url for url in self.asked if not url.startswith((site, "data:"))] == []


Reading = Callable[..., AbstractAsyncContextManager[Reader]]

in_the_browser = pytest.mark.asyncio(loop_scope="session")
"""For tests that have the fixture ``reading``: the browser's loop is theirs."""


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    """A headless Chromium."""
    async with async_playwright() as playwright:
        program = require_chromium(playwright.chromium.executable_path)
        browser = await playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def a_reader(browser: Browser, width: int = 1400, scheme: str = "light") -> AsyncIterator[Reader]:
    """One whose browser knows nothing yet, with one page."""
    context = await browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    try:
        context.set_default_timeout(PATIENCE * 1000)
        yield Reader(await context.new_page())
    finally:
        await context.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One Chromium for all tests of a session; what a reader leaves in it, no other finds."""
    async with browsing() as browser:
        yield browser


@pytest.fixture
def reading(browser: Browser) -> Reading:
    """Has a reader come: ``async with reading(width, scheme) as reader``."""
    return partial(a_reader, browser)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
