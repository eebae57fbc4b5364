"""docs/reference/commands.md shows the commands and options that there are."""

from tests.docs.command_reference import PAGE, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "run: .venv/bin/python -m tests.docs.command_reference"
