"""The pages of the families are those that ``python -m tests.docs.families`` writes."""

from pathlib import Path

import pytest

from tests.docs.families import pages


@pytest.mark.parametrize(("path", "text"), [pytest.param(*page, id=page[0].name) for page in pages()])
def test_a_page_is_current(path: Path, text: str) -> None:
    assert path.read_text(encoding="utf-8") == text, "run: python -m tests.docs.families"
