"""Every setting is described, and docs/reference/settings.md shows those that there are."""

import pytest

from proctor.settings.config import GreenAgentConfig
from purple_sdk.settings.config import PurpleAgentConfig, setting
from tests.docs.settings import PAGE, bounds, every_setting, page, reader_of


def test_every_setting_has_a_description() -> None:
    settings = dict(every_setting())
    assert len(settings) > 100
    assert [name for name, field in settings.items() if not field.description] == []


def test_every_setting_of_a_service_says_who_reads_it() -> None:
    for kind in (GreenAgentConfig, PurpleAgentConfig):
        assert [name for name, field in kind.model_fields.items() if not reader_of(field)] == []


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"ge": 0, "le": 65_535}, " From 0 to 65535."),
        ({"gt": 0}, " More than 0."),
        ({"gt": 0, "le": 40}, " More than 0, at most 40."),
        ({"max_length": 40}, " At most 40 characters."),
        ({}, ""),
    ],
)
def test_bounds_are_a_sentence(limits: dict[str, int], words: str) -> None:
    assert bounds(setting("worker", "A number.", 1, **limits)) == words


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "run: .venv/bin/python -m tests.docs.settings"
