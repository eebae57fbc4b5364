"""What a text has to say: patterns in linear time, and what one pattern can't say."""

from datetime import date
from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError

from proctor.language.moments import Reading
from proctor.language.patterns import compiled
from proctor.language.text_tests import TextTest
from proctor.protocol.scenario import RubricCheck, ScriptedReply
from tests.sentences import says

WEDNESDAY = date(2026, 6, 10)
LONG = 20_000
read = partial(Reading, first_day=WEDNESDAY, foreign="Berlin|CEST")


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)b",
        "(?!a)b",
        "(?<=a)b",
        "(?<!a)b",
        r"(a)\1",
        "a{2000}",
        "(a",
        "a" * 20_001,
        "((a{100}){100}){100}",
    ],
)
def test_what_cant_be_searched_in_linear_time_is_refused_with_a_remedy(pattern: str) -> None:
    for make in (
        lambda: TextTest(pattern=pattern),
        lambda: TextTest.model_validate({"all": [{"none": [pattern]}]}),
        lambda: ScriptedReply(pattern=pattern, reply="Yes."),
        lambda: RubricCheck(kind="pattern_found", pattern=pattern),
        lambda: RubricCheck.model_validate({"kind": "pattern_found", "any": [pattern]}),
        lambda: RubricCheck(kind="count", to=pattern),
    ):
        with pytest.raises(ValidationError, check=says()):
            make()


LONG_TEXTS = ["a " * LONG, "a" * LONG, " " * LONG, "re" + " " * LONG, "Friday 13:30 " * (LONG // 13), "\n>" * LONG]


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a )*b", r"(?:a ){3}.{0,200}b", r"\A(\s*re\s*(\[\d+\])?\s*:)+"])
def test_no_text_makes_a_search_stand_still(pattern: str) -> None:
    """Python's own engine takes minutes, or for ever, for several of these."""
    for text in LONG_TEXTS:
        assert compiled(pattern).search(text + "c") is None


@pytest.mark.parametrize("text", LONG_TEXTS)
def test_no_text_makes_reading_it_stand_still(text: str) -> None:
    said = read(text)
    assert said.text == text
    assert said.moments == said.moments
    assert TextTest.model_validate({"sentence": "zzz"}).holds(said) is False
    assert TextTest(asks=True).holds(said) is False


def test_ordinary_patterns_mean_what_they_mean_in_python() -> None:
    assert TextTest(pattern=r"^two\b.*mails?$").holds(read("Two\nnew mails"))
    assert not TextTest(pattern=r"mails?\b.*two").holds(read("Two\nnew mails"))


@pytest.mark.parametrize(
    ("test", "text", "holds"),
    [
        ({"all": ["two", "mails"]}, "Mails: two.", True),
        ({"all": ["two", "mails"]}, "Two texts.", False),
        ({"any": ["two", "three"]}, "Three texts.", True),
        ({"none": ["two"]}, "Three texts.", True),
        ({"none": ["two"]}, "Two texts.", False),
        ({"pattern": "texts", "none": [{"all": ["two", "new"]}]}, "Two texts.", True),
        ({"pattern": "texts", "none": [{"all": ["two", "new"]}]}, "Two new texts.", False),
        ({"sentence": {"pattern": "fixed", "none": ["not"]}}, "It is not fixed. I call.", False),
        ({"sentence": {"pattern": "fixed", "none": ["not"]}}, "It's not late. It is fixed.", True),
        ({"moment": ["2026-06-12T13:30"]}, "Friday at half past one", True),
        ({"moment": ["2026-06-12T13:30"]}, "Friday at half past one won't work", False),
        ({"moment": ["2026-06-12T13:30", "2026-06-15T10:30"]}, "Would 10:30 on Monday work?", True),
        ({"moment": ["2026-06-12T13:30"]}, "Friday 12:30-13:30", False),
        ({"moment": ["2026-06-12T13:30"]}, "Friday 13:30 Berlin time", False),
        ({"marked_moment": ["2026-06-12T13:30"]}, "Friday 13:30 Berlin time", True),
        ({"day": ["2026-06-15"]}, "Monday?", True),
        ({"day": ["2026-06-15"]}, "Monday 22 June?", False),
        ({"day": ["2026-06-15"]}, "Yes.\n\nOn Wed Ann wrote:\n> Monday?", False),
        ({"time": ["13:30"]}, "13.30 is fine", True),
        ({"time": ["13:30"]}, "13.30 on Friday is fine", False),
        ({"asks": True}, "The roof\nWould it suit you? Thanks", True),
        ({"asks": True}, "Re: Would it suit you?\nI'd like to propose the roof.", True),
        ({"asks": True}, "Please let me know which hour works.", True),
        ({"asks": True}, "Re: Would it suit you?\nIt would.\n> Is it the roof?", False),
        ({"asks": True}, "Please let me know if you have questions.", False),
        ({"asks": False, "pattern": "roof"}, "The roof.", True),
    ],
)
def test_what_a_text_has_to_say(test: dict[str, Any], text: str, holds: bool) -> None:
    assert TextTest.model_validate(test).holds(read(text)) is holds


def test_a_test_that_asks_for_nothing_is_refused() -> None:
    refused: list[dict[str, object]] = [{}, {"all": []}, {"pattern": ""}, {"asks": False}]
    for empty in refused:
        with pytest.raises(ValidationError):
            TextTest.model_validate(empty)
    with pytest.raises(ValidationError, check=says()):
        ScriptedReply(reply="Yes.")


def test_tests_are_not_nested_without_end() -> None:
    nested: dict[str, Any] = {"pattern": "a"}
    for _ in range(10):
        nested = {"all": [nested]}
    with pytest.raises(ValidationError, check=says()):
        TextTest.model_validate(nested)
