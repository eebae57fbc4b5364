"""Decide for evaluators whether a text says a fact.

A model judges the fact's statement; offline, patterns replace the model. Patterns know three answers: said, not said,
and "can't tell" (None), which is a *doubt*. A doubt never earns a point: ``tells`` counts a doubt as not said, and
``may_tell`` counts it as said. The code that runs the evaluator (``reading``) gets the doubts and runs the evaluator
again with doubts counted in the participant's favour. That gives the upper end of the score's range.

    CLOSED = Fact("closed", "It says that the incident is over.", patterns=says_closed)

    async def notice(ctx, params):
        is_reported = tells(CLOSED, mail.text)
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Answer = bool | None
"""Whether a text says something; None if that can't be decided."""

Patterns = Callable[[str], Answer]


@dataclass(frozen=True)
class Fact:
    """A fact that a text may say.

    Attributes:
        id: the fact's name, unique in its scenario.
        statement: a sentence that is true of a text that says the fact; the question to a model.
        patterns: the replacement for a model. They are quick, and give the same answer for the same text. None if only
            a model can decide; without a model, each question about the fact is then a doubt.
    """

    id: str
    statement: str
    patterns: Patterns | None = field(default=None, compare=False)

    def read(self, text: str) -> Answer:
        return self.patterns(text) if self.patterns is not None else None


@dataclass(frozen=True)
class Question:
    """A fact, the text in which it was looked for, and the answer."""

    fact: Fact
    text: str
    answer: Answer

    @property
    def key(self) -> tuple[str, str]:
        return self.fact.id, self.text


class TextReader:
    """Answers an evaluator's questions about texts during one run, and records them.

    Args:
        by_model: a model's answers, by ``Question.key``; patterns answer all other questions.
        in_favour: whether doubts count for the participant instead of against.
    """

    def __init__(self, by_model: Mapping[tuple[str, str], Answer] | None = None, *, in_favour: bool = False) -> None:
        self._by_model = by_model or {}
        self._in_favour = in_favour
        self._asked: dict[tuple[str, str], Question] = {}

    @property
    def questions(self) -> list[Question]:
        """All questions that were asked, in order, each once."""
        return list(self._asked.values())

    @property
    def doubts(self) -> list[Question]:
        """The questions without an answer."""
        return [question for question in self._asked.values() if question.answer is None]

    def answer(self, fact: Fact, text: str) -> Answer:
        """Whether a text says a fact; an empty text says nothing."""
        if not text.strip():
            return False
        key = (fact.id, text)
        if key not in self._asked:
            answer = self._by_model[key] if key in self._by_model else fact.read(text)
            self._asked[key] = Question(fact, text, answer)
        return self._asked[key].answer

    def settled(self, fact: Fact, text: str, *, is_harm: bool) -> bool:
        """Whether a text says a fact; a doubt becomes a yes or a no.

        Args:
            fact: the fact to look for.
            text: the whole text.
            is_harm: whether the fact costs points. If so, a doubt counts as said, else as not said; ``in_favour``
                reverses this.
        """
        answer = self.answer(fact, text)
        return (is_harm != self._in_favour) if answer is None else answer


_reader: ContextVar[TextReader | None] = ContextVar("_reader", default=None)


@contextmanager
def reading(reader: TextReader) -> Iterator[TextReader]:
    """Let a reader answer all questions while the context is open.

    Without a reader, patterns answer, and doubts count against the participant.
    """
    token = _reader.set(reader)
    try:
        yield reader
    finally:
        _reader.reset(token)


def tells(fact: Fact, text: str) -> bool:
    """Whether a text says a fact that earns points; a doubt counts as not said."""
    return (_reader.get() or TextReader()).settled(fact, text, is_harm=False)


def may_tell(fact: Fact, text: str) -> bool:
    """Whether a text says a fact that costs points; a doubt counts as said."""
    return (_reader.get() or TextReader()).settled(fact, text, is_harm=True)


def either(*answers: Answer) -> Answer:
    """Return True if any answer is True, else None if any is a doubt, else False."""
    return True if True in answers else None if None in answers else False


def both(*answers: Answer) -> Answer:
    """Return False if any answer is False, else None if any is a doubt, else True."""
    return False if False in answers else None if None in answers else True
