"""A headless Chromium, and what a person does with it in the Temporal UI."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Locator, Page, ViewportSize, async_playwright, expect

from tests.system_programs import find_chromium, refuse
from tests.waiting import PATIENCE

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--in-process-gpu",
    "--disable-features=SpareRendererForSitePerProcess",  # a process that no test uses
]
_NO_IMAGES = "--blink-settings=imagesEnabled=false"
_SIZE: ViewportSize = {"width": 1280, "height": 1000}


def require_chromium(of_playwright: str) -> str:
    """A Chromium's path: the system's, else the one that playwright can install for itself.

    Skips the test where neither is there; fails it where a run has to be complete.
    """
    found = find_chromium() or of_playwright
    if not Path(found).is_file():
        refuse("chromium")
    return found


@asynccontextmanager
async def temporal_ui(address: str) -> AsyncIterator["TemporalUI"]:
    """Open the Temporal UI in a browser that knows nothing yet; ``address`` is the UI's."""
    async with async_playwright() as playwright:
        program = require_chromium(playwright.chromium.executable_path)
        with tempfile.TemporaryDirectory(prefix="proctor-browser-", ignore_cleanup_errors=True) as profile:
            browser = await playwright.chromium.launch_persistent_context(
                profile, executable_path=program, args=[*FLAGS, _NO_IMAGES], viewport=_SIZE
            )
            try:
                browser.set_default_timeout(PATIENCE * 1000)
                yield TemporalUI(browser.pages[0], address)
            finally:
                await browser.close()


class TemporalUI:
    """The Temporal UI as a person uses it: by what stands on the screen."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self._address = address

    async def open(self, workflow_id: str) -> None:
        """Go to a workflow's page."""
        await self.page.goto(f"{self._address}/namespaces/default/workflows/{workflow_id}")

    async def open_list(self) -> None:
        """Go to the list of workflows."""
        await self.page.goto(f"{self._address}/namespaces/default/workflows")

    async def require_row(self, *texts: str) -> None:
        """Wait until the open list has a row that shows all of these texts."""
        row = self.page.get_by_role("row")
        for text in texts:
            row = row.filter(has=self.page.get_by_text(text).locator("visible=true"))
        await expect(row.first).to_be_visible(timeout=PATIENCE * 1000)

    async def require_status(self, status: str) -> None:
        """Wait until the open workflow's badge says this."""
        badge = self.page.get_by_role("main").get_by_role("status").filter(has_text=status)
        await expect(badge.first).to_be_visible(timeout=PATIENCE * 1000)

    async def workflow_task_before(self, summary: str) -> int:
        """Look up, in the open workflow's history, the workflow task that scheduled the activity of this summary.

        Returns:
            The id of its WorkflowTaskCompleted event.
        """
        await self.page.get_by_role("tab", name="Event History").click()
        row = self.page.get_by_role("row").filter(has=self.page.get_by_text(summary, exact=True)).first
        number = await row.get_by_role("link").first.inner_text()
        await row.get_by_role("link").first.click()
        await self.page.wait_for_url(f"**/history/events/{number}")
        term = self.page.get_by_text("Workflow Task Completed Event ID", exact=True).locator("visible=true").first
        return int((await term.locator("xpath=following-sibling::*[1]").inner_text()).strip())

    async def reset(self, event_id: int, reason: str) -> None:
        """*Reset* the open workflow to a WorkflowTaskCompleted event."""
        await self.fill_in_reset(event_id, reason)
        await self._dialog.get_by_role("button", name="Confirm").click()
        await expect(self._dialog).to_be_hidden(timeout=PATIENCE * 1000)

    async def fill_in_reset(self, event_id: int, reason: str) -> None:
        """Open the form of *Reset* and fill it in."""
        await self.page.get_by_role("button", name="Reset", exact=True).click()
        await self._dialog.get_by_test_id("workflow-reset-event-id-select-button").click()
        await self._dialog.get_by_role("option", name=f"{event_id} - WorkflowTaskCompleted", exact=True).click()
        await self._dialog.get_by_placeholder("Enter a reason").fill(reason)

    @property
    def _dialog(self) -> Locator:
        return self.page.get_by_role("dialog", name="Reset Workflow")
