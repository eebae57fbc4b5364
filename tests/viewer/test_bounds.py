"""The page of an assessment with a large mailbox: bounded, and all of it can be reached."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.async_api import expect

from proctor.protocol.archive import ArchiveEntry
from proctor.storage.archive import Archive
from proctor.viewer.app import create_app
from proctor.viewer.bounds import MOST_CARDS, MOST_IN_A_FILE, Look
from proctor.viewer.pages import Pages
from proctor.viewer.versions import anchor_of
from tests.viewer.conftest import Reading, in_the_browser, serving_pages
from tests.viewer.entries import MORNING, mail, write_day

MAILS = 2_500
LONG = "word " * 2_000
LAST = "email/emails/old-0"
"""The oldest of them: too many come before it for a page."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Archive, ArchiveEntry]:
    """A day with 2,500 more mails of 10,000 characters."""
    archive = Archive(str(tmp_path_factory.mktemp("large")))
    entry = write_day(archive, "large")
    initial = dict(archive.initial_state(entry))
    for number in range(MAILS):
        at = MORNING + timedelta(days=1, hours=number)  # so they come before all others on the page
        initial[f"email/emails/old-{number}"] = mail(f"Old {number}", f"{LONG}end of {number}", at)
    files = {name: archive.read(entry, name) for name in entry.files}
    again = entry.model_copy(update={"fence": 2})
    return archive, archive.write(again, files, {"initial_state": json.dumps(initial).encode()})


def cards_in(page: str) -> list[str]:
    return re.findall(r'data-item="(i\w+)"', page)


def test_a_page_has_what_changed_and_the_first_cards(large: tuple[Archive, ArchiveEntry]) -> None:
    archive, entry = large
    page = Pages(archive).assessment(entry, 2)
    assert len(page) < 900_000
    assert len(cards_in(page)) == MOST_CARDS
    assert f"data-count>{MAILS + 3} ·" in page
    assert {anchor_of(f"email/emails/{name}") for name in ("m1", "m2")} <= set(cards_in(page))
    assert {anchor_of("sms/messages/s0"), anchor_of("calendar/events/e0")} <= set(cards_in(page))
    assert anchor_of(LAST) not in page
    assert anchor_of(LAST) in cards_in(Pages(archive).assessment(entry, 2, look=Look(item=anchor_of(LAST))))


def test_further_pages_have_all_other_cards(large: tuple[Archive, ArchiveEntry]) -> None:
    archive, entry = large
    seen, skip = set[str](), 0
    while True:
        page = Pages(archive).assessment(entry, 1, look=Look(shelf="email", skip=skip))
        seen |= set(cards_in(page))
        following = re.search(r"shelf=email&amp;skip=(\d+)", page)
        if following is None:
            break
        assert int(following[1]) > skip
        skip = int(following[1])
    assert {anchor_of(f"email/emails/old-{number}") for number in range(MAILS)} <= seen


def test_a_file_has_what_changed_and_the_first_cards(large: tuple[Archive, ArchiveEntry]) -> None:
    archive, entry = large
    cards = cards_in(Pages(archive).assessment(entry, as_file=True))
    assert len(cards) == MOST_IN_A_FILE
    assert {anchor_of(f"email/emails/m{number}") for number in range(4)} <= set(cards)


@pytest.fixture
def large_site(large: tuple[Archive, ArchiveEntry]) -> Iterator[str]:
    with serving_pages(create_app(large[0].folder.root)) as url:
        yield url


@in_the_browser
async def test_a_reader_opens_a_long_text_and_goes_to_a_mail_that_is_not_there(
    large_site: str, reading: Reading, tmp_path: Path
) -> None:
    async with reading() as reader:
        page = reader.page
        await reader.opens(f"{large_site}/view/large?turn=1")
        shelf = page.locator("#shelf-email")
        await expect(shelf.locator("[data-count]").first).to_contain_text(f"{MAILS + 2:d} ·")
        card = shelf.locator(".card", has_text=f"Old {MAILS - 1}").first
        assert f"end of {MAILS - 1}" not in await page.content()
        await card.locator("summary").click()
        await expect(card).to_contain_text(f"end of {MAILS - 1}")
        await shelf.get_by_role("link", name="The next ones").click()
        await expect(shelf.locator(".more")).to_contain_text("The first ones")

        await reader.opens(f"{large_site}/view/large?turn=1&item={anchor_of(LAST)}#{anchor_of(LAST)}")
        await expect(page.locator("[data-item]:focus")).to_contain_text("end of 0")
        await reader.require_calm(large_site)
