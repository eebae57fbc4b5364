"""What a text has to say, in scenarios: patterns, days and times, and what is made of them with all, any and none.

That is how what one pattern can't say is said by several: "agrees, and asks nothing" is
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
    """What a text has to say; everything that is given has to hold.

    Attributes:
        pattern: a regular expression (RE2) that is found in the text, ignoring case; ``.`` matches line ends.
        moment: one of these is named, a day with its time (``2026-06-12T12:30``), as the scenario's reader finds it.
        marked_moment: the same, marked as a time of another zone (the scenario's ``foreign_times``), as it is said
        there. time: one of these is named, and no day at all.
        day: one of these is named, with any time.
        value: a value of this kind is named, sure or not, whichever it is (``Kind``).
        asks: its author asks or proposes something (``reader.questions``).
        sentence: this holds of one of its sentences (or lines) alone.
        all: these hold, each a test or a pattern.
        any: one of these holds.
        none: none of these holds.
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
        is_one_given = any(each is not None for each in (self.pattern, self.value, self.sentence))
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
    named = {(each.hour, each.minute) for each in reading.bare_times}
    return any((each.hour, each.minute) in named for each in times)


Test = Annotated[TextTest, BeforeValidator(_of_pattern)]
TextTest.model_rebuild()
