"""Every setting is described, and docs/reference/settings.md shows those that there are."""

from proctor_settings.config import GreenAgentConfig, PurpleAgentConfig
from tests.docs.settings import PAGE, every_setting, page, reader_of


def test_every_setting_has_a_description() -> None:
    settings = dict(every_setting())
    assert len(settings) > 100
    assert [name for name, field in settings.items() if not field.description] == []


def test_every_setting_of_a_service_says_who_reads_it() -> None:
    for kind in (GreenAgentConfig, PurpleAgentConfig):
        assert [name for name, field in kind.model_fields.items() if not reader_of(field)] == []


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "run: python -m tests.docs.settings"
