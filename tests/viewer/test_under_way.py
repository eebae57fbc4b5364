"""Pages of what runs: they keep up, and become those of what has ended."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect
from starlette.testclient import TestClient

from proctor_storage.archive import Archive
from tests.viewer.conftest import Reading, in_the_browser, serving_pages
from tests.viewer.entries import HOSTILE, write_day
from tests.viewer.under_way import ScriptedLive, campaign, story, trial, updates_of
from tests.work import only_nightly
from viewer.actions import Actions
from viewer.app import create_app
from viewer.live import RunningDetails


@pytest.fixture
def live() -> ScriptedLive:
    return ScriptedLive()


@pytest.fixture
def kept(tmp_path: Path) -> Archive:
    return Archive(str(tmp_path))


@pytest.fixture
def live_site(kept: Archive, live: ScriptedLive) -> Iterator[str]:
    with serving_pages(create_app(kept.folder.root, None, live)) as url:
        yield url


@in_the_browser
async def test_an_assessment_is_followed_until_it_has_ended(
    live_site: str, live: ScriptedLive, kept: Archive, reading: Reading
) -> None:
    async with reading() as reader:
        page = reader.page
        await reader.opens(f"{live_site}/?search=agent.example")
        await expect(page.locator("#live tbody tr")).to_have_count(1)
        await page.get_by_role("link", name="lunch").click()
        await expect(page.locator(".phase")).to_contain_text("in turn 2 of about 8")
        await expect(page.locator("article").first).to_contain_text("Lunch on Thursday? (2)")
        await expect(page.locator("article").first).to_contain_text("the participant is working")
        await expect(page.locator("article").last).to_contain_text("1 answer from characters (anna)")
        await page.locator("article").last.get_by_text("show the text").click()

        live.stories["live-1"] = story("live-1", updates_of(3))
        await expect(page.locator(".phase")).to_contain_text("in turn 3")
        await expect(page.locator("article").last.get_by_text("Would one o'clock suit you?")).to_be_visible()

        write_day(kept, "live-1")
        del live.stories["live-1"]
        await expect(page.locator("#scores")).to_be_visible()
        await expect(page.get_by_role("heading", level=1)).to_have_text("A lunch is arranged")
        await reader.require_calm(live_site)


@only_nightly  # by default: test_an_assessment_is_followed_until_it_has_ended
@in_the_browser
async def test_a_campaign_fills_up(live_site: str, live: ScriptedLive, kept: Archive, reading: Reading) -> None:
    write_day(kept, "first", campaign="live-2")
    async with reading(400, "dark") as reader:
        page = reader.page
        await reader.opens(live_site)
        await expect(page.locator("#live tbody tr", has_text="campaign")).to_contain_text("1 of 40")
        await expect(page.locator("#live")).not_to_contain_text("Ended", timeout=1000)
        await page.get_by_role("link", name="lunch, move_house").click()
        await expect(page.locator("#grid tbody tr")).to_have_count(1)
        await expect(page.locator("#grid")).to_contain_text("50.0 %")
        write_day(kept, "second", campaign="live-2", scenario="move_house")
        await expect(page.locator("#grid tbody tr")).to_have_count(3)
        await reader.require_calm(live_site)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 400


@in_the_browser
async def test_what_is_told_meanwhile_is_dead_text(live_site: str, live: ScriptedLive, reading: Reading) -> None:
    live.stories = {
        "live-1": story("live-1", updates_of(2, HOSTILE), HOSTILE),
        "live-2": campaign("live-2", HOSTILE),
        "live-3": trial("live-3", HOSTILE),
    }
    async with reading(400) as reader:
        for path in ("/", "/view/live-1", "/view/live-2", "/view/live-3"):
            await reader.opens(live_site + path)
            await reader.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
            await reader.require_calm(live_site)
            assert await reader.page.locator("main script, main iframe, main img, main style").count() == 0
            assert await reader.page.evaluate("document.documentElement.scrollWidth") <= 400


class Away(ScriptedLive):
    """Temporal is away; counts how often it is asked."""

    asked = 0

    async def details(self, name: str) -> RunningDetails | None:
        type(self).asked += 1
        raise OSError("nobody answers")


def test_who_does_not_answer_is_not_asked_for_every_page(kept: Archive) -> None:
    write_day(kept, "day-one")
    with TestClient(create_app(kept.folder.root, None, Away(), Actions())) as browser:
        for _ in range(5):
            assert "A lunch is arranged" in browser.get("/view/day-one").text
    assert Away.asked == 1
