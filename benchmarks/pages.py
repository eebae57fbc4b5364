"""How long the largest pages take: ``python -m benchmarks.pages``.

An assessment of 1,000 turns (under 1 s is wanted) and a campaign of 1,000 runs (under 2 s): the first time, when the
archive has to be read, and after that; as a page and as a file.
"""

import tempfile
import time
from collections.abc import Callable

from proctor_storage.archive import Archive
from tests.viewer.campaign_entries import write_campaign
from tests.viewer.entries import write_day
from viewer.pages import Pages


def _took(make: Callable[[], str]) -> str:
    began, used = time.perf_counter(), time.process_time()
    page = make()
    took, used = time.perf_counter() - began, time.process_time() - used
    return f"{took:6.3f} s  {used:6.3f} s of the processor  {len(page) / 1000:8,.0f} kB"


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        archive = Archive(place)
        write_day(archive, "assessment of 1,000 turns", turns=1_000)
        write_campaign(archive, "campaign of 1,000 runs", seeds=125, repeats=2)
        for name in ("assessment of 1,000 turns", "campaign of 1,000 runs"):
            pages = Pages(Archive(place))
            for what, as_file in (("page, first", False), ("page, again", False), ("file", True)):
                took = _took(lambda: pages.entry(pages.archive.find(name), as_file=as_file))  # noqa: B023
                print(f"{name}  {what:12}  {took}", flush=True)


if __name__ == "__main__":
    main()
