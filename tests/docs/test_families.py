"""The pages of the families are those that ``python -m tests.docs.families`` writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.local.audit.instances import hash_day
from proctor.scenarios.kit.making.days import make_day
from tests.docs.families import FAMILIES, FIGURES, merged, pages
from tests.work import NIGHTLY

_ROWS = json.loads(FIGURES.read_text(encoding="utf-8"))
_PLACES = {name: place for place, name in enumerate(sorted({row["family"] for row in _ROWS}))}
_ONE_OF_EACH = [row for row in _ROWS if row["difficulty"] == 1 + _PLACES[row["family"]] % 4]
"""One difficulty of each family: what changes a family changes most of its days."""


@pytest.mark.parametrize(("path", "text"), [pytest.param(*page, id=page[0].name) for page in pages()])
def test_a_page_is_current(path: Path, text: str) -> None:
    assert path.read_text(encoding="utf-8") == text, "run: .venv/bin/python -m tests.docs.families"


def test_measured_rows_replace_those_of_their_family_and_difficulty() -> None:
    measured = {**_ROWS[1], "violations": 7}
    new = {**_ROWS[0], "family": "a_new_one"}
    assert merged(_ROWS, [measured, new]) == [new, _ROWS[0], measured, *_ROWS[2:]]


@pytest.mark.parametrize(
    "row", _ROWS if NIGHTLY else _ONE_OF_EACH, ids=lambda row: f"{row['family']}-{row['difficulty']}"
)
def test_figures_are_of_the_days_that_a_family_makes(row: dict[str, Any]) -> None:
    seed, digest = row["first_day"]["seed"], row["first_day"]["digest"]
    day = make_day(FAMILIES / row["family"], row["difficulty"], seed)
    remedy = "its days are others now: measure its figures again (docs/FAMILIES.md, Change a family)"
    assert hash_day(day) == digest, remedy
