"""The running steps of an assessment, so that each of their troubles is published once."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from activities.attempts.troubles import Trouble


class UnderWay:
    """The running steps, and their published troubles."""

    def __init__(self) -> None:
        self._steps: Counter[str] = Counter()
        self._told: set[tuple[str, int, str]] = set()

    @contextmanager
    def begin_step(self, name: str) -> Iterator[None]:
        """A step of this name (the activity's type) is under way."""
        if not self._steps[name]:
            self._told = {told for told in self._told if told[0] != name}
        self._steps[name] += 1
        try:
            yield
        finally:
            self._steps[name] -= 1

    def is_news(self, trouble: Trouble) -> bool:
        """Whether a trouble should be published.

        It should not where its step isn't under way, as after a reset, which repeats the signals of the time after its
        point; nor where a parallel step has failed of the same thing at the same try.
        """
        news = (trouble.step, trouble.attempt, trouble.answer)
        if not self._steps[trouble.step] or news in self._told:
            return False
        self._told.add(news)
        return True
