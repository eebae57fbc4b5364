"""The pages of the families are those that ``python -m tests.docs.families`` writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.audit.instances import digest_of
from scenarios.kit.making.days import make_day
from tests.docs.families import FAMILIES, FIGURES, pages

_ROWS = json.loads(FIGURES.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("path", "text"), [pytest.param(*page, id=page[0].name) for page in pages()])
def test_a_page_is_current(path: Path, text: str) -> None:
    assert path.read_text(encoding="utf-8") == text, "run: python -m tests.docs.families"


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row['family']}-{row['difficulty']}") for row in _ROWS])
def test_figures_are_of_the_days_that_a_family_makes(row: dict[str, Any]) -> None:
    seed, digest = row["first_day"]["seed"], row["first_day"]["digest"]
    day = make_day(FAMILIES / row["family"], row["difficulty"], seed)
    remedy = "its days are others now: measure its figures again (docs/FAMILIES.md, Change a family)"
    assert digest_of(day) == digest, remedy
