"""docs/ARCHITECTURE.md shows the packages and imports that there are."""

from tests.docs.layers import table, written


def test_the_table_of_packages_is_current() -> None:
    assert written() == table(), "run: .venv/bin/python -m tests.docs.layers"
