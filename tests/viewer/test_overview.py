"""The overview filters and sorts by its address, and shows means by agent and scenario."""

import re
import shutil
import threading
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from playwright.async_api import expect

import proctor.storage.archive
import proctor.viewer.overviews
import proctor.viewer.pages
from proctor.protocol.archive import ArchiveEntry
from proctor.storage import local_index
from proctor.storage.archive import Archive
from proctor.storage.archive import _entry as entry_of
from proctor.storage.entry_table import EntryQuery
from proctor.viewer.app import create_app
from proctor.viewer.overviews import Overview
from proctor.viewer.pages import Pages
from tests.sentences import says
from tests.viewer.conftest import Reading, in_the_browser
from tests.viewer.entries import write_day
from tests.waiting import PATIENCE, eventually


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Two assessments, and a failed one of another agent, in one scenario."""
    kept = Archive(str(tmp_path_factory.mktemp("several")))
    write_day(kept, "one")
    write_day(kept, "two", did="fyi")
    kept.write(kept.find("two").model_copy(update={"cost": 0.25}), {}, {})
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
        ({"cost": "0.2"}, 1),
        ({"cost": "0.26"}, 0),
    ):
        page = Pages(several).overview([], Overview.of(params))
        assert page.count("data-pick") == shown, params


def test_order_and_filters_are_kept_in_every_link() -> None:
    asked = Overview.of({"agent": "mine", "sort": "cost", "other": "x"})
    assert asked.toggle_sort("cost") == "/?agent=mine&sort=cost&up=1"
    assert asked.toggle_sort("seed") == "/?agent=mine&sort=seed"
    assert Overview.of({"sort": "cost", "up": "1"}).toggle_sort("cost") == "/?sort=cost"
    assert asked.address(agent="", sort="") == "/"
    assert Overview.of({"sort": "; DROP TABLE"}).order == "started"


def test_a_seed_that_is_none_is_named(several: Archive) -> None:
    page = Pages(several).overview([], Overview.of({"seed": "seven"}))
    assert says("seven").within(page)
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


def test_a_cost_that_is_no_number_is_named(several: Archive) -> None:
    for wrong in ("much", "-1", "1e3", "nan"):
        page = Pages(several).overview([], Overview.of({"cost": wrong}))
        assert says(wrong).within(page)
        assert page.count("data-pick") == 2


def test_pages_follow_one_another_with_the_filters(several: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proctor.viewer.overviews, "PAGE", 1)
    monkeypatch.setattr(proctor.viewer.pages, "PAGE", 1)
    (scenario,) = {summary.scenario_id for summary in several.select(EntryQuery())}

    def shown(**params: str) -> str:
        return Pages(several).overview([], Overview.of({"scenario": scenario, **params}))

    first, second, beyond = shown(), shown(page="2"), shown(page="9")
    assert "Page 1 of 2 · 2 entries" in first
    assert f'rel="next" href="/?scenario={scenario}&amp;page=2"' in first
    assert f'rel="prev" href="/?scenario={scenario}"' in second
    assert "Page 2 of 2" in beyond
    assert {("one" in page, "two" in page) for page in map(_ids_in, (first, second))} == {(True, False), (False, True)}
    assert _ids_in(beyond) == _ids_in(second)
    assert Overview.of({"page": "2", "scenario": "x"}).toggle_sort("cost") == "/?scenario=x&sort=cost"
    assert [Overview.of({"page": wrong}).number for wrong in ("0", "-3", "many", "")] == [1, 1, 1, 1]


def _ids_in(page: str) -> list[str]:
    return re.findall(r'data-pick value="(\w+)"', page)


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


async def test_a_large_archive_is_read_in_the_background_newest_days_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile pages say how far that is, and one assessment can be read."""
    kept = Archive(str(tmp_path))
    entry = write_day(kept, "of-day-0")
    files = {name: kept.read(entry, name) for name in entry.files}
    for day in (1, 2):
        earlier = entry.started_at - timedelta(days=day)
        kept.write(entry.model_copy(update={"id": f"of-day-{day}", "started_at": earlier}), files, {})
    shutil.rmtree(tmp_path / "index")
    is_read, may_continue = [], threading.Event()

    def parse(folder: str, content: bytes) -> ArchiveEntry | None:
        found = entry_of(folder, content)
        if found is not None and threading.current_thread().name == "archive":  # not the page of one entry
            is_read.append(found.id)
            if found.id == "of-day-1":
                may_continue.wait(PATIENCE)
        return found

    monkeypatch.setattr(proctor.storage.archive, "_entry", parse)
    monkeypatch.setattr(local_index, "_PATIENCE", 0.05)
    pages = httpx.ASGITransport(create_app(str(tmp_path)))
    async with httpx.AsyncClient(transport=pages, base_url="http://pages", timeout=PATIENCE) as reader:
        try:
            await reader.get("/")
            await eventually(lambda: "of-day-1" in is_read)
            for path in ("/", "/view/of"):
                answer = await reader.get(path)
                assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
                assert "1 of 3 days" in answer.text
            assert (await reader.get("/view/of-day-0")).status_code == 200
        finally:
            may_continue.set()
        await eventually(lambda: is_there(reader))
        assert (await reader.get("/")).text.count("data-pick") == 3
    assert is_read == ["of-day-0", "of-day-1", "of-day-2"]


async def is_there(reader: httpx.AsyncClient) -> bool:
    return (await reader.get("/")).status_code == 200
