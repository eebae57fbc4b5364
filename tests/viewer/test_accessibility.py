"""The pages have no serious or critical violation that axe (https://github.com/dequelabs/axe-core) can find."""

import pytest
from axe_playwright_python.async_playwright import Axe

from tests.viewer.conftest import Reading, in_the_browser
from tests.work import NIGHTLY, some_of

PAGES = {
    "the overview": "/",
    "a search without a result": "/?search=nothing-like-it",
    "a filtered overview": "/?all&status=completed&sort=cost",
    "an assessment": "/view/day-one?turn=1",
    "an assessment's beginning": "/view/day-one?turn=0",
    "a campaign": "/view/campaign-1",
    "a run of trials": "/view/run-1",
    "two side by side": "/compare?a=day-one&b=day-two",
    "a problem": "/view/unknown",
}


@in_the_browser
@pytest.mark.parametrize(
    ("width", "scheme"), some_of([(1400, "light"), (1400, "dark"), (420, "dark"), (420, "light")], 1)
)
async def test_axe_finds_no_serious_violation(site: str, reading: Reading, width: int, scheme: str) -> None:
    """By default the pages with most kinds of elements in one of the ways, as all share their styles."""
    found = []
    names = list(PAGES) if NIGHTLY else ["an assessment", "a campaign"]
    async with reading(width, scheme) as reader:
        for name in names:
            await reader.opens(f"{site}{PAGES[name]}")
            found_by_axe = await Axe().run(reader.page, options={"resultTypes": ["violations"]})
            for violation in found_by_axe.response["violations"]:
                if violation["impact"] in ("serious", "critical"):
                    some = [node["target"][0] for node in violation["nodes"]][:3]
                    found.append(f"{name}: {violation['id']}: {violation['help']}: {some} of {len(violation['nodes'])}")
    assert not found, "\n".join(found)
