"""What a reader finds on the pages, by keyboard and by mouse, from the server and from a file."""

import re
import subprocess
import sys
from pathlib import Path

from playwright.async_api import expect

from proctor_storage.archive import Archive
from tests.viewer.conftest import Reading, in_the_browser
from tests.viewer.entries import HOSTILE, write_day
from viewer.pages import Pages


@in_the_browser
async def test_a_reader_finds_their_way_from_the_overview_to_the_mail_that_a_verdict_quotes(
    site: str, reading: Reading
) -> None:
    async with reading() as reader:
        page = reader.page
        await reader.opens(f"{site}/?search=day")
        await expect(page.locator("#live tbody tr")).to_have_count(2)
        await page.get_by_role("link", name="A lunch is arranged").first.click()

        await expect(page.get_by_role("heading", level=1)).to_have_text("A lunch is arranged")
        await expect(page.locator("#losses li").first).to_contain_text("−3")
        await expect(page.locator("#losses li").first).to_contain_text("Not met: She is asked in time")
        await expect(page.locator("#losses li").first).to_contain_text("Anna is asked in the first turn.")
        await expect(page.locator(".turn")).to_contain_text("email.label")
        await expect(page.locator("#stood-when")).to_have_text("after turn 1")
        await expect(page.locator(".stood")).to_contain_text("News of turn 1")
        await expect(page.locator(".stood")).not_to_contain_text("News of turn 2")

        await page.keyboard.press("ArrowRight")
        await page.wait_for_url(re.compile(r"turn=2"))
        await expect(page.locator("#stood-when")).to_have_text("after turn 2")
        await expect(page.locator(".stood")).to_contain_text("News of turn 2")
        await page.keyboard.press("ArrowLeft")
        await page.wait_for_url(re.compile(r"turn=1"))

        await page.locator("#losses a").first.click()
        await page.get_by_role("link", name="email at the end").click()
        await expect(page.locator("#stood-when")).to_have_text("after turn 3")
        quoted = page.locator("[data-item]:focus")
        await expect(quoted).to_contain_text("Could we have lunch on Thursday?")
        await expect(page.locator("#rest")).to_contain_text("1 done and not reported")
        await expect(page.locator("#rest")).to_contain_text("1 reported that never happened")
        await expect(page.locator("#rest")).to_contain_text("turn 2: 3 tries")
        await expect(page.locator("#rest")).to_contain_text("0.2500 USD")
        link = page.get_by_role("link", name="in the Temporal UI")
        await expect(link).to_have_attribute("href", re.compile("/namespaces/default/workflows/day-"))
        await reader.require_calm(site)


@in_the_browser
async def test_two_side_by_side(site: str, reading: Reading) -> None:
    async with reading() as reader:
        await reader.opens(f"{site}/?search=day")
        boxes = reader.page.locator("[data-pick]")
        await boxes.nth(0).check()
        await boxes.nth(1).check()
        await reader.page.get_by_role("button", name="Compare").click()
        await expect(reader.page.get_by_text("Turn 1 is the first.")).to_be_visible()
        await expect(reader.page.locator(".side .target").first).to_be_visible()
        await reader.require_calm(site)


@in_the_browser
async def test_what_somebody_wrote_is_dead_text(site: str, reading: Reading) -> None:
    async with reading(400, "dark") as reader:
        page = reader.page
        for path in ("/", "/view/hostile?turn=2", "/compare?a=hostile&b=day-one", "/view/huge", "/view/<script>"):
            reader.complaints.clear()
            await reader.opens(site + path)
            if "huge" in path:
                assert len(await page.content()) < 400_000
            await page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
            expected = 404 if "script" in path else 200
            assert [c for c in reader.complaints if not (expected == 404 and "404" in c)] == []
            reader.complaints.clear()
            await reader.require_calm(site)
            assert await page.evaluate("document.documentElement.scrollWidth") <= 400
            if "hostile" in path:
                assert HOSTILE[:40] in await page.locator("main").inner_text()
                assert (
                    await page.locator("main script, main iframe, main img, main style, main svg[onload]").count() == 0
                )
                assert await page.locator('a[href^="javascript"]').count() == 0


def test_a_turn_has_its_transcript_beside_what_was_done(archive: Archive) -> None:
    page, last = (Pages(archive).assessment(archive.find("day-one"), turn) for turn in (2, 3))
    assert "labelled: Could we have lunch on Thursday?" in page
    assert "Transcript of the agent" in page
    assert "What the agent saw" not in last  # the participant has sent none


def test_pages_without_statistics_import_no_numerics(archive: Archive) -> None:
    code = (
        "import sys; from proctor_storage.archive import Archive; from viewer.overviews import Overview; "
        "from viewer.pages import Pages; pages = Pages(Archive(sys.argv[1])); pages.overview([], Overview()); "
        "days = [pages.archive.find(name) for name in ('day-one', 'day-two')]; pages.entry(days[0]); "
        "pages.comparison(*days); print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, archive.folder.root]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {"numpy", "scipy", "proctor_statistics"}.isdisjoint(ran.stdout.split())


@in_the_browser
async def test_an_export_opens_from_the_disk_without_a_network(
    archive: Archive, tmp_path: Path, reading: Reading
) -> None:
    for name in ("day-one", "hostile"):
        page_of = Pages(archive).assessment(archive.find(name), as_file=True)
        (tmp_path / f"{name}.html").write_text(page_of)
    async with reading() as reader:
        page = reader.page
        await page.context.set_offline(True)
        await reader.opens((tmp_path / "day-one.html").as_uri())
        await expect(page.locator("#stood-when")).to_have_text("after turn 1")
        news = page.locator(".stood .card:visible", has_text="News of turn 2")
        await expect(news).to_have_count(0)
        await page.keyboard.press("ArrowRight")
        await expect(page.locator("#stood-when")).to_have_text("after turn 2")
        await expect(news).to_have_count(1)
        await expect(page.locator('[data-turn-of="2"]')).to_be_visible()
        await expect(page.locator('[data-turn-of="1"]')).to_be_hidden()
        await reader.opens((tmp_path / "hostile.html").as_uri())
        await page.keyboard.press("ArrowRight")
        await expect(page.locator("#stood-when")).to_have_text("after turn 2")
        await reader.require_calm("file://")


def test_what_is_taken_over_elsewhere_shows_the_same_pages(archive: Archive, tmp_path: Path) -> None:
    there = Archive(str(tmp_path))
    for entry in archive.entries():
        archive.copy(entry, there)
    here_pages, there_pages = Pages(archive), Pages(there)
    assert here_pages.overview([]) == there_pages.overview([])
    for name in ("day-one", "hostile"):
        assert here_pages.assessment(archive.find(name), 2) == there_pages.assessment(there.find(name), 2)


def test_damage_and_absence_are_told_on_a_page(archive: Archive, tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from viewer.app import create_app

    there = Archive(str(tmp_path))
    entry = archive.copy(archive.find("day-one"), there)
    next(tmp_path.glob(f"*/{entry.id}.*/turns.jsonl")).write_text("{}")
    client = TestClient(create_app(str(tmp_path)))
    damaged, absent = client.get("/view/day-one"), client.get("/view/nobody")
    assert (damaged.status_code, absent.status_code) == (500, 404)
    assert "is not as it was written" in damaged.text
    assert "has no entry" in absent.text
    assert str(tmp_path) not in damaged.text + absent.text
    for shard in range(256):  # as in an archive of many entries
        (tmp_path / f"index/ids/{shard:02x}").mkdir(parents=True, exist_ok=True)
    for name in ("x" * 300, "é" * 100):  # longer than the name of a file
        assert client.get(f"/view/{name}").status_code == 404
    assert client.get("/view/day-one?turn=x").status_code == 400
    assert "default-src 'none'" in absent.headers["content-security-policy"]


def test_the_turns_of_several_days_have_a_heading_for_each_day(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    long, short = write_day(archive, "long", turns=20), write_day(archive, "short")
    page = Pages(archive).assessment(long)
    assert re.findall(r'<li class="date">(.*)</li>', page) == ["Day 1, Tuesday 10 March", "Day 2, Wednesday 11 March"]
    assert 'class="date"' not in Pages(archive).assessment(short)
