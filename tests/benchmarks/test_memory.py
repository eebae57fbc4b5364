"""The benchmark of memory: with its notes the player earns everything, and without them nearly nothing."""

import pytest

from benchmarks.memory import FAMILIES, measured, page, plot, table


@pytest.mark.parametrize("family", FAMILIES)
async def test_notes_decide(family: str) -> None:
    cells = await measured(family, 2, [201], 0.0)
    assert cells["keeps notes"].mean == 100
    assert cells["forgets"].mean < 50
    assert cells["reads again"].mean > 90
    assert cells["reads again"].mails > 3 * cells["keeps notes"].mails


async def test_the_page_has_the_table_and_the_plot_its_lines() -> None:
    cells = {(family, 1): await measured(family, 1, [201], 0.0) for family in FAMILIES}
    lines = table(cells)
    assert len(lines) == 2 + len(FAMILIES)
    assert "\n".join(lines) in page(lines, 1, 0.05)
    assert "passes over\n5% of the mails" in page(lines, 1, 0.05)
    cells |= {(family, 2): cells[family, 1] for family in FAMILIES}
    assert plot(cells, [1, 2]).count('stroke-width="2"') == 2 * 2 * len(FAMILIES)
