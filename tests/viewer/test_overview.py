"""The overview filters and sorts by its address, and shows means by agent and scenario."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from proctor_storage.archive import Archive
from proctor_storage.entry_table import EntryQuery
from tests.viewer.conftest import Reading, in_the_browser
from tests.viewer.entries import write_day
from viewer.overviews import Overview
from viewer.pages import Pages


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Two assessments, and a failed one of another agent, in one scenario."""
    kept = Archive(str(tmp_path_factory.mktemp("several")))
    write_day(kept, "one")
    write_day(kept, "two", did="fyi")
    return kept


def test_an_address_says_what_is_shown(several: Archive) -> None:
    (first, *_) = several.select(EntryQuery())
    for params, shown in (
        ({"scenario": first.scenario_id}, 2),
        ({"scenario": "another"}, 0),
        ({"agent": first.agent[:4]}, 2),
        ({"agent": first.agent[:4], "exact": "1"}, 0),
        ({"agent": first.agent, "exact": "1"}, 2),
        ({"seed": str(first.seed)}, 2),
        ({"seed": "12345"}, 0),
        ({"status": "failed"}, 0),
        ({"model": "another"}, 0),
        ({"campaign": "another"}, 0),
    ):
        page = Pages(several).overview([], Overview.of(params))
        assert page.count("data-pick") == shown, params


def test_order_and_filters_are_kept_in_every_link() -> None:
    asked = Overview.of({"agent": "mine", "sort": "cost", "other": "x"})
    assert asked.sorted_by("cost") == "/?agent=mine&sort=cost&up=1"
    assert asked.sorted_by("seed") == "/?agent=mine&sort=seed"
    assert Overview.of({"sort": "cost", "up": "1"}).sorted_by("cost") == "/?sort=cost"
    assert asked.address(agent="", sort="") == "/"
    assert Overview.of({"sort": "; DROP TABLE"}).order == "started"


def test_a_seed_that_is_none_is_named(several: Archive) -> None:
    page = Pages(several).overview([], Overview.of({"seed": "seven"}))
    assert "Seed “seven” is not a whole number" in page
    assert page.count("data-pick") == 2


def test_means_count_runs_that_their_agent_failed_as_zero(tmp_path: Path) -> None:
    kept = Archive(str(tmp_path))
    write_day(kept, "one")
    (good,) = kept.matrix(EntryQuery())
    assert (good.runs, good.scored) == (1, 1)
    assert good.share is not None
    entry = kept.find("one")
    broken = entry.model_copy(
        update={"id": "broken", "status": "failed", "failed_by_participant": True, "score": 0, "max_score": 0}
    )
    kept.write(broken, {}, {})
    (cell,) = kept.matrix(EntryQuery())
    assert (cell.runs, cell.scored, cell.share) == (2, 2, good.share / 2)


@in_the_browser
async def test_a_reader_filters_and_sorts(site: str, reading: Reading) -> None:
    async with reading() as reader:
        page = reader.page
        await reader.opens(f"{site}/")
        await page.locator(".matrix summary").click()
        await page.locator(".matrix td a").first.click()
        await expect(page.locator(".filters summary")).to_contain_text("scenario")
        await page.get_by_role("link", name="Clear").click()
        await page.get_by_role("link", name="Seed", exact=True).click()
        await expect(page.locator("th[aria-sort=descending]")).to_contain_text("Seed")
        await page.locator(".filters summary").click()
        await page.get_by_label("Status").select_option("completed")
        await page.get_by_role("button", name="Filter").click()
        await expect(page.locator(".filters summary")).to_contain_text("status “completed”")
        await expect(page.locator("th[aria-sort=descending]")).to_contain_text("Seed")
        await page.get_by_role("textbox", name="Agent").fill("no such agent")
        await page.get_by_role("button", name="Filter").click()
        await expect(page.locator(".empty")).to_contain_text("Nothing matches")
        await reader.require_calm(site)
