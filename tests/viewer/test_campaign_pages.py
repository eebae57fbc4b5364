"""Pages of campaigns and of trials in a terminal: what a reader finds there, from the server and from a file."""

import re
from pathlib import Path

import pytest
from playwright.async_api import expect
from pydantic_core import from_json, to_json

from proctor_protocol.runs import RunResults
from proctor_statistics import compared, summaries
from proctor_storage.archive import Archive
from proctor_storage.folder import Folder
from tests.viewer.campaign_entries import ESCAPES, lines, write_campaign, write_run
from tests.viewer.conftest import Reader, Reading, in_the_browser, serving_pages
from tests.viewer.entries import HOSTILE, write_day
from tests.work import only_nightly
from viewer.app import create_app
from viewer.pages import Pages


@in_the_browser
async def test_a_campaign_leads_from_its_means_to_a_single_assessment(site: str, reading: Reading) -> None:
    async with reading() as reader:
        page = reader.page
        await reader.opens(site)
        await page.locator("tr", has_text="careful, hasty").get_by_role("link").first.click()
        grid = page.locator("#grid tbody tr")
        await expect(grid).to_have_count(3)
        await expect(grid.first).to_contain_text("All together")
        await expect(grid.first.locator("svg.interval")).to_have_count(2)
        await expect(page.locator("#comparisons tbody tr")).to_contain_text("careful − hasty")
        await expect(page.locator(".distribution")).to_have_count(2)
        await expect(page.locator("svg.curves polyline")).to_have_count(2)
        await expect(page.locator("svg.scatter circle.mean")).to_have_count(2)
        await expect(page.get_by_text("judge judge: kappa 0.41 on the cases of lunch, below 0.6")).to_be_visible()
        criteria = page.locator("#criteria")
        await expect(criteria.locator("tbody tr", has_text="Anna is asked").first.locator("svg.dots")).to_be_visible()
        await criteria.get_by_text("that no run meets").click()
        await expect(criteria).to_contain_text("perfect")
        failures = page.locator("#failures summary").first
        await expect(failures).to_contain_text("2 ParticipantMisbehaved")
        await expect(failures).to_contain_text("the participant's fault")
        await expect(page.get_by_text("2 assessments did not end. Stopped before its costs")).to_be_visible()
        await page.locator("#runs summary").first.click()
        await page.locator("#runs details[open] a").first.click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("A lunch is arranged")
        await expect(page.get_by_text("judge judge: not calibrated on the items of lunch")).to_be_visible()
        await page.locator("#rest").get_by_role("link", name="campaign-1").click()
        await expect(page.locator("#grid")).to_be_visible()
        await reader.require_calm(site)


def test_the_page_of_a_campaign_names_lost_cells_and_says_of_how_many_runs_a_cost_is(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    entry = write_campaign(archive, "c", seeds=2)
    results = archive.campaign_results(entry)
    assert isinstance(results, RunResults)
    first, *others = runs = archive.runs(entry)
    lost = first.model_copy(update={"status": "failed", "overall": None, "criteria": {}, "cost": None})
    rows, pairs = summaries([lost, *others]), [compared("careful", "hasty", [lost, *others])]
    cells = [results.cells[0].model_copy(update={"cost": None}), *results.cells[1:]]
    changed = results.model_copy(update={"summaries": rows, "comparisons": pairs, "cells": cells, "cost": 1.5})
    files = {"result.json": changed.model_dump_json().encode(), "runs.jsonl": lines([lost, *others])}
    page = Pages(archive).campaign(archive.write(entry.model_copy(update={"fence": 2, "files": {}}), files, {}))
    assert "mean over 3 of 4 planned cells; without a run: seed 0" in page
    assert page.count("+ 1 alone, not in these means") == 1
    assert f"cost 1.5 (known for {len(runs) - 1} of {len(runs)})" in page


async def plays(reader: Reader) -> None:
    """The recording is started by the keyboard, and shows what was printed."""
    page = reader.page
    await expect(page.locator(".ap-player")).to_be_visible()
    await page.locator(".ap-player").focus()
    await page.keyboard.press("Space")
    await expect(page.locator(".ap-term")).to_contain_text("ls -l /app")
    await expect(page.locator(".ap-term")).to_contain_text("access.log")


@in_the_browser
async def test_a_run_leads_to_a_trial_whose_recording_plays(site: str, reading: Reading) -> None:
    async with reading() as reader:
        page = reader.page
        await reader.opens(f"{site}/view/run-1")
        await expect(page.locator(".accuracy")).to_contain_text("Accuracy 66.7% (42.0% to 88.0%) · pass@2 90.0%")
        await expect(page.get_by_role("status")).to_contain_text(
            "2 verdicts are doubtful: accuracy 60.0% without, 50.0% to 66.7% if settled"
        )
        await expect(page.locator("#grid tbody tr")).to_have_count(5)
        await expect(page.locator("#grid tbody tr").first).to_contain_text("2 doubtful")
        await expect(page.locator("#grid tbody tr").first).to_contain_text("% without the doubtful ones")
        await page.locator("#runs summary", has_text="sort-log").click()
        await expect(page.locator("#runs .mark", has_text="doubtful")).to_have_count(2)
        await page.get_by_role("link", name="attempt 2").first.click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("sort-log")
        await expect(page.get_by_text("Doubtful. The agent may have moved this verdict.")).to_be_visible()
        await expect(page.get_by_text("The agent changed pytest's settings (/conftest.py).")).to_be_visible()
        await expect(page.get_by_text("processes: 98 could not be started")).to_be_visible()
        await expect(page.locator("#instruction")).to_contain_text("Count the requests")
        await expect(page.locator("#tests li.met")).to_have_count(2)
        failed, by_docker = page.locator(".steps li.failed").first, page.locator(".steps li.failed").last
        await expect(by_docker).to_contain_text("make test' exit code 2")
        await expect(by_docker).to_contain_text("its output went only to the agent")
        await expect(failed).to_contain_text("python3 report.py")
        await expect(failed).to_contain_text("exit code 1")
        await expect(failed.locator("pre")).to_contain_text("FileNotFoundError")
        await expect(page.locator(".steps li").nth(3).locator("pre")).to_have_text("written: report.txt (ok)\n")
        await page.locator("#logs summary", has_text="tests.log").click()
        await expect(page.locator("#logs")).to_contain_text("2 passed in 0.31s")
        await plays(reader)
        await page.get_by_role("link", name="its run").click()
        await expect(page.locator(".accuracy")).to_be_visible()
        await reader.require_calm(site)


@only_nightly  # by default: test_pages.py has it of assessments
@in_the_browser
async def test_campaigns_and_trials_open_from_the_disk_without_a_network(
    archive: Archive, tmp_path: Path, reading: Reading
) -> None:
    for name in ("campaign-1", "run-1", "run-1.sort-log.1", "hostile-run.sort-log.1", "hostile-campaign"):
        (tmp_path / f"{name}.html").write_text(Pages(archive).entry(archive.find(name), as_file=True))
    async with reading() as reader:
        await reader.page.context.set_offline(True)
        await reader.opens((tmp_path / "campaign-1.html").as_uri())
        await expect(reader.page.locator("svg.curves polyline")).to_have_count(2)
        await reader.opens((tmp_path / "run-1.html").as_uri())
        await expect(reader.page.locator(".accuracy")).to_be_visible()
        await reader.opens((tmp_path / "run-1.sort-log.1.html").as_uri())
        await plays(reader)
        for name in ("hostile-run.sort-log.1", "hostile-campaign"):
            await reader.opens((tmp_path / f"{name}.html").as_uri())
            await reader.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
        await reader.require_calm("file://")


@in_the_browser
async def test_what_was_printed_in_a_terminal_is_dead_text(site: str, reading: Reading) -> None:
    """Markup and escape sequences, in commands, outputs, recordings, logs, names of tests, agents and failures."""
    async with reading(400, "dark") as reader:
        page = reader.page
        for path in ("/?search=hostile", "/view/hostile-campaign", "/view/hostile-run", "/view/hostile-run.sort-log.1"):
            await reader.opens(site + path)
            await page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
            if path.endswith("sort-log.1"):
                await page.locator(".ap-player").focus()
                await page.keyboard.press("Space")
                await expect(page.locator(".ap-term")).to_contain_text("red")
                said = await page.locator(".steps").inner_text()
                assert HOSTILE[:40] in said
                assert "\x1b" not in said
                assert "]8;;" not in said
                assert await page.locator(".ap-term a, .ap-term img, .ap-term script, .ap-term iframe").count() == 0
            await reader.require_calm(site)
            assert await page.evaluate("document.documentElement.scrollWidth") <= 400
            assert await page.locator("main script, main iframe, main img, main style, main svg[onload]").count() == 0
            assert await page.locator('a[href^="javascript"]').count() == 0
        answer = await page.request.get(f"{site}/view/hostile-run.sort-log.1/recording.cast")
        assert answer.headers["content-type"] == "application/x-asciicast"
        assert answer.headers["content-disposition"].startswith("attachment")


class Counting(Folder):
    """Counts the files that are read."""

    reads = 0

    def read(self, path: str, size: int = 0) -> bytes:
        type(self).reads += 1
        return super().read(path, size)


def counting(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> Pages:
    """Pages of an archive that is known already; what they read from now on is counted."""
    again = Archive(archive.folder.root)
    again.folder = Counting(archive.folder.root, "archive")
    again.entries()
    monkeypatch.setattr(Counting, "reads", 0)
    return Pages(again)


def test_a_campaign_of_many_runs_is_read_in_a_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive(str(tmp_path))
    write_campaign(archive, "large", seeds=25, repeats=2)
    pages = counting(archive, monkeypatch)
    html = pages.entry(pages.archive.find("large"))
    assert len(re.findall("<li><a href", html)) == 200
    assert Counting.reads <= 5, "its results, its runs, one assessment of each scenario, whether it is damaged"
    assert len(html) < 150_000


def test_an_assessment_of_many_turns_shows_one_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive(str(tmp_path))
    write_day(archive, "long", turns=300)
    pages = counting(archive, monkeypatch)
    html = pages.entry(pages.archive.find("long"), 150)
    assert html.count("<article") == 1
    assert html.count('class="card') < 360
    assert Counting.reads <= 5, "results, turns, states, the first state, whether it is damaged"
    assert len(html) < 450_000


def test_escape_sequences_are_no_text() -> None:
    from viewer.words import plain

    assert plain(ESCAPES) == "clickredhidden"
    assert plain("10%\r50%\r100%\ndone\r\n") == "100%\ndone\n"
    assert plain("a\x00b\x07c\x9b31m\tü") == "abc31m\tü"
    assert plain("\x1b" * 3) == ""


def test_a_run_and_its_trials_go_elsewhere(archive: Archive, tmp_path: Path) -> None:
    there = Archive(str(tmp_path))
    write_run(there, "other", tasks=1, attempts=1)
    for name in ("run-1", "run-1.sort-log.1"):
        archive.copy(archive.find(name), there)
        assert Pages(there).entry(there.find(name)) == Pages(archive).entry(archive.find(name))


BROKEN_WORDS = """
[...document.querySelectorAll("table bdi")].flatMap((name) => {
  const text = name.firstChild;
  return [...name.textContent.matchAll(/[^\\s-]+/g)].filter(({ 0: word, index }) => {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    return new Set([...range.getClientRects()].map((each) => each.top)).size > 1;
  }).map(({ 0: word }) => word);
})
"""
"""The words of names in tables that begin in one line and end in another; a line may end after a hyphen."""


@in_the_browser
async def test_no_name_breaks_within_a_word_on_a_narrow_screen(folder: Path, reading: Reading) -> None:
    archive = Archive(str(folder))
    agents = ("forgets_every_evening + keeps_notes_of_everything", "keeps_notes_of_everything + forgets_every_evening")
    write_campaign(archive, "casts", agents=agents, scenarios=("too_risky_to_guess_whose_it_is",))
    with serving_pages(create_app(archive.folder.root)) as url:
        async with reading(420) as reader:
            await reader.opens(f"{url}/view/casts")
            await expect(reader.page.locator("#comparisons")).to_contain_text("keeps_notes_of_everything")
            await reader.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
            assert await reader.page.evaluate(BROKEN_WORDS) == []
            assert await reader.page.evaluate("document.documentElement.scrollWidth") <= 420


def test_a_criterion_of_which_no_agent_is_known_is_shown(tmp_path: Path) -> None:
    """Results that others wrote may have one."""
    archive = Archive(str(tmp_path))
    entry = write_campaign(archive, "campaign")
    files = {name: archive.read(entry, name) for name in entry.files}
    results = from_json(files["result.json"])
    for item in results["items"]:
        item["by_agent"] = {}
    files["result.json"] = to_json(results)
    other = archive.write(entry.model_copy(update={"id": "other", "files": {}, "contents": {}}), files, {})
    assert "Agents apart" in Pages(archive).campaign(other)
