"""What a text says, for evaluators: a fact with a statement, which a model judges, and patterns that stand in offline.

Patterns know three answers: said, not said, and "can't tell" (None), which is a *doubt*. A doubt never earns a point:
``tells`` counts it as not said, ``may_tell`` as said. The code that runs the evaluator (``reading``) gets the doubts,
and asks it once more in the participant's favour: that is the upper end of the score's range.

    CLOSED = Fact("closed", "It says that the incident is over.", patterns=says_closed)

    async def notice(ctx, params):
        is_reported = tells(CLOSED, mail.text)
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Answer = bool | None
"""Whether a text says something; None where that can't be decided."""

Patterns = Callable[[str], Answer]


@dataclass(frozen=True)
class Fact:
    """Something that a text may say.

    Attributes:
        id: its name, unique in its scenario.
        statement: a sentence that is true of a text that says it; what a model is asked.
        patterns: what replaces a model; quick, and the same for the same text. None where only a model can decide:
        without one, each such question is a doubt.
    """

    id: str
    statement: str
    patterns: Patterns | None = field(default=None, compare=False)

    def read(self, text: str) -> Answer:
        return self.patterns(text) if self.patterns is not None else None


@dataclass(frozen=True)
class Question:
    """A fact that was looked for in a text, and what came of it."""

    fact: Fact
    text: str
    answer: Answer

    @property
    def key(self) -> tuple[str, str]:
        return self.fact.id, self.text


class TextReader:
    """What one run of an evaluator looks for in texts.

    Args:
        by_model: what a model says, by ``Question.key``; for all else the patterns stand in.
        in_favour: whether doubts are counted for the participant instead of against.
    """

    def __init__(self, by_model: Mapping[tuple[str, str], Answer] | None = None, *, in_favour: bool = False) -> None:
        self._by_model = by_model or {}
        self._in_favour = in_favour
        self._asked: dict[tuple[str, str], Question] = {}

    @property
    def questions(self) -> list[Question]:
        """All that was asked, in order, each once."""
        return list(self._asked.values())

    @property
    def doubts(self) -> list[Question]:
        """Those to which there is no answer."""
        return [question for question in self._asked.values() if question.answer is None]

    def answer(self, fact: Fact, text: str) -> Answer:
        """Whether a text says it; an empty one says nothing."""
        if not text.strip():
            return False
        key = (fact.id, text)
        if key not in self._asked:
            answer = self._by_model[key] if key in self._by_model else fact.read(text)
            self._asked[key] = Question(fact, text, answer)
        return self._asked[key].answer

    def settled(self, fact: Fact, text: str, *, is_harm: bool) -> bool:
        """Whether a text says a fact, with doubts decided.

        Args:
            fact: the fact to look for.
            text: the whole text.
            is_harm: whether the fact costs points. A doubt then counts as said, and with ``in_favour`` as not said.
        """
        answer = self.answer(fact, text)
        return (is_harm != self._in_favour) if answer is None else answer


_reader: ContextVar[TextReader | None] = ContextVar("_reader", default=None)


@contextmanager
def reading(reader: TextReader) -> Iterator[TextReader]:
    """Have a reader answer what is asked meanwhile; without one, patterns answer and doubts count against."""
    token = _reader.set(reader)
    try:
        yield reader
    finally:
        _reader.reset(token)


def tells(fact: Fact, text: str) -> bool:
    """Whether a text says what earns points; in doubt it doesn't."""
    return (_reader.get() or TextReader()).settled(fact, text, is_harm=False)


def may_tell(fact: Fact, text: str) -> bool:
    """Whether a text says what costs points; in doubt it does."""
    return (_reader.get() or TextReader()).settled(fact, text, is_harm=True)


def either(*answers: Answer) -> Answer:
    """Said if any of the answers is; in doubt if one of them might be."""
    return True if True in answers else None if None in answers else False


def both(*answers: Answer) -> Answer:
    """Said if all of the answers are; in doubt if all of them might be."""
    return False if False in answers else None if None in answers else True
