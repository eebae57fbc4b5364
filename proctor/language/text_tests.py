"""Declare conditions on a text in scenarios: patterns, days and times, combined with all, any and none.

Combined patterns express more than a single one can: "agrees, and asks nothing" is
``{"all": ["works|fine"], "none": ["\\\\?"]}``.
"""

from datetime import date, datetime
from datetime import time as time_of_day
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, NaiveDatetime, model_validator

from proctor.language.moments import Named
from proctor.language.patterns import Pattern, has_match
from proctor.language.reader.mentions import Kind
from proctor.language.reader.questions import asks
from proctor.language.reader.reading import Reading

_DEEPEST = 6


def _of_pattern(value: Any) -> Any:
    return {"pattern": value} if isinstance(value, str) else value


class TextTest(BaseModel):
    """A condition on a text; all given fields must hold.

    Attributes:
        pattern: a regular expression (RE2) that must match in the text, ignoring case; ``.`` matches line ends.
        moment: days with times (``2026-06-12T12:30``). The text must name one of them, by the rules of the scenario's
            reader.
        marked_moment: days with times, in the zone of the scenario's ``foreign_times``. The text must name one of them
            and mark it as a time of that zone.
        time: times. The text must name one of them, and no day.
        day: days. The text must name one of them, with or without a time.
        value: a kind (``Kind``). The text must name a value of that kind, certain or not.
        asks: whether the author must ask or propose something (``reader.questions``).
        sentence: a test that must hold for one of the text's sentences (or lines) alone.
        all: tests or patterns that must all hold.
        any: tests or patterns of which one must hold.
        none: tests or patterns of which none may hold.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    pattern: Pattern | None = None
    moment: tuple[NaiveDatetime, ...] = ()
    marked_moment: tuple[NaiveDatetime, ...] = ()
    time: tuple[time_of_day, ...] = ()
    day: tuple[date, ...] = ()
    value: Kind | None = None
    asks: bool = False
    sentence: "Test | None" = None
    all: tuple["Test", ...] = ()
    any: tuple["Test", ...] = ()
    none: tuple["Test", ...] = ()

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.asks_for_anything:
            raise ValueError(
                "a test of a text needs a pattern, moment, time, day, value, asks or sentence, or all, any or none of "
                "such tests"
            )
        if self._depth > _DEEPEST:
            raise ValueError(f"tests of texts are nested more than {_DEEPEST} deep")
        return self

    @property
    def asks_for_anything(self) -> bool:
        tests = (self.moment, self.marked_moment, self.time, self.day, self.all, self.any, self.none)
        is_one_given = any(test is not None for test in (self.pattern, self.value, self.sentence))
        return is_one_given or self.asks or any(tests)

    @property
    def _depth(self) -> int:
        parts = [*self.all, *self.any, *self.none, *([self.sentence] if self.sentence else [])]
        return 1 + max((test._depth for test in parts), default=0)

    def holds(self, reading: Reading) -> bool:
        return (
            (self.pattern is None or has_match(self.pattern, reading.text))
            and (not self.moment or _names(self.moment, reading, is_foreign=False))
            and (not self.marked_moment or _names(self.marked_moment, reading, is_foreign=True))
            and (not self.time or _names_alone(self.time, reading))
            and (not self.day or not reading.days.isdisjoint(self.day))
            and (self.value is None or reading.has_value(self.value))
            and (not self.asks or asks(reading.text))
            and (self.sentence is None or any(self.sentence.holds(alone) for alone in reading.sentences))
            and all(test.holds(reading) for test in self.all)
            and (not self.any or any(test.holds(reading) for test in self.any))
            and not any(test.holds(reading) for test in self.none)
        )


def _names(moments: tuple[datetime, ...], reading: Reading, *, is_foreign: bool) -> bool:
    return any(Named(m.date(), m.hour, m.minute, is_foreign) in reading.moments for m in moments)


def _names_alone(times: tuple[time_of_day, ...], reading: Reading) -> bool:
    named = {(time.hour, time.minute) for time in reading.bare_times}
    return any((time.hour, time.minute) in named for time in times)


Test = Annotated[TextTest, BeforeValidator(_of_pattern)]
TextTest.model_rebuild()
