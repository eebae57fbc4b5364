"""``python -m tests.viewer.screenshots FOLDER [WORD]``: a picture of each page, light and dark, 1,400 and 400 px wide.

With a word, only of the pages whose names have it. The pictures in docs/images are some of these.
"""

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from proctor.storage.archive import Archive
from proctor.viewer.actions import Action, Actions
from proctor.viewer.app import create_app
from tests.viewer.campaign_entries import write_campaign, write_run
from tests.viewer.conftest import Reader, Readers, browsing, serving_pages
from tests.viewer.entries import write_day
from tests.viewer.under_way import ScriptedLive


async def _nothing(asked: object) -> str:
    return "day-one"


ACTIONS = Actions(
    [
        Action("replay", "Replay from this turn", _nothing, lambda e, t: f"Back to turn {t}.", at_each_turn=True),
        Action("judge-again", "Judge again", _nothing, lambda e, t: "All criteria are judged again."),
    ]
)  # fmt: skip

PAGES = {
    "overview": "/",
    "assessment": "/view/day-one?turn=2",
    "compare": "/compare?a=day-one&b=day-two",
    "campaign": "/view/campaign-1",
    "run": "/view/run-1",
    "trial": "/view/run-1.sort-log.1",
    "running": "/view/live-1",
    "running-campaign": "/view/live-2",
    "question": "/view/day-one/do/replay?turn=2",
}


@contextmanager
def served(archive: Archive) -> Iterator[str]:
    """The pages of an archive, with something under way and something to do."""
    with serving_pages(create_app(archive.folder.root, None, ScriptedLive(), ACTIONS)) as url:
        yield url


async def take(folder: Path, word: str) -> None:
    """Take the pictures."""
    with tempfile.TemporaryDirectory() as place:
        archive = Archive(place)
        write_day(archive, "day-one", transcripts=2)
        write_day(archive, "day-two", did="fyi")
        write_campaign(archive, "campaign-1")
        write_run(archive, "run-1")
        write_day(archive, "live-2-a", campaign="live-2")
        async with browsing() as browser:
            with served(archive) as site:
                for width, scheme in product((1400, 400), ("light", "dark")):
                    async with Readers(browser)(width, scheme) as reader:
                        await take_each(reader, site, folder, f"{scheme}-{width}", word)


async def take_each(reader: Reader, site: str, folder: Path, looks: str, word: str) -> None:
    """Take a picture of each page as it looks to somebody."""
    for name, path in PAGES.items():
        if word in name:
            await reader.opens(site + path)
            if name == "trial":
                await reader.page.wait_for_selector(".ap-player")
                await reader.page.wait_for_timeout(500)
            await reader.page.screenshot(path=folder / f"viewer-{name}-{looks}.png", full_page=True)
            print(name, looks, *reader.complaints)
            reader.complaints.clear()


if __name__ == "__main__":
    asyncio.run(take(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
