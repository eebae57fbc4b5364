"""One archive, its pages served, and one browser for all tests of this folder."""

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import uvicorn
from playwright.async_api import Browser, Page, async_playwright, expect
from starlette.applications import Starlette

from proctor.storage.archive import Archive
from proctor.viewer.app import create_app
from purple_sdk.processes.ports import free_ports
from tests.ui.browser import FLAGS, require_chromium
from tests.viewer.campaign_entries import ESCAPES, write_campaign, write_run
from tests.viewer.entries import HOSTILE, write_day
from tests.waiting import PATIENCE


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Two ordinary days that part in turn 1, a hostile one, one whose first subject has 300,000 characters; and
    campaigns of assessments and of trials, ordinary and hostile.
    """
    kept = Archive(str(tmp_path_factory.mktemp("archive")))
    write_day(kept, "day-one", transcripts=2)
    write_day(kept, "day-two", did="fyi")
    write_day(kept, "hostile", text=HOSTILE, transcripts=2)
    write_day(kept, "huge", turns=1, text="huge " * 60_000, transcripts=1)
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
        self._listeners: dict[Any, Callable[[Any], None]] = {
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda problem: self.complaints.append(str(problem)),
            "request": lambda request: self.asked.append(request.url),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    async def opens(self, url: str) -> None:
        await self.page.goto(url)

    async def leaves(self) -> None:
        """Leave the page as it was at first."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        await self.page.context.set_offline(False)
        await self.page.context.clear_cookies()
        await self.page.goto("about:blank")

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


class Readers:
    """Readers that come one after another to one page, as a new page costs as much as what most of them do.

    The page of a reader that failed is closed.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._page: Page | None = None

    @asynccontextmanager
    async def __call__(self, width: int = 1400, scheme: str = "light") -> AsyncIterator[Reader]:
        page, self._page = self._page or await self._browser.new_page(), None
        try:
            page.set_default_timeout(PATIENCE * 1000)
            await page.set_viewport_size({"width": width, "height": 900})
            await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            reader = Reader(page)
            yield reader
            await reader.leaves()
            self._page = page
        finally:
            if self._page is None:
                await page.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def reading() -> AsyncIterator[Reading]:
    """Has a reader come: ``async with reading(width, scheme) as reader``; there is one Chromium for all of them."""
    async with browsing() as browser:
        yield Readers(browser)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
