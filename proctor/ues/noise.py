"""Simulate noise: occasional failures, as of a real service. Only seeded draws decide about failures.

A draw depends on (seed, turn, number of the request in the turn, kind). A turn that is played again with the same
requests therefore meets the same noise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from proctor.ues.problems import Broken, Unavailable

_LATE_SECONDS = (5.0, 60.0)
"""The least and the most simulated seconds that a late answer costs, if the clock runs."""

_FEWEST = 4
"""The fewest entries of a list that may be cut in half."""

_MOST_KEPT, _LARGEST_KEPT = 64, 256 * 1024
"""The most earlier answers that a turn keeps for repetition, and the most bytes of one."""

_RETURNED = "returned_count"
"""The field of a query's answer that counts its entries."""


@dataclass(frozen=True, slots=True)
class Rates:
    """The rate of each kind of noise, as a share of all requests that it may affect.

    Attributes:
        before: the request fails before anything is done.
        after: the action is done, but the answer reports a failure.
        late: the answer is late.
        half: a list has only its first half.
        stale: the answer repeats the earlier answer to the same request.
    """

    before: float
    after: float
    late: float
    half: float
    stale: float


RATES = {
    1: Rates(before=0.03, after=0.01, late=0.05, half=0.05, stale=0.05),
    2: Rates(before=0.08, after=0.04, late=0.10, half=0.12, stale=0.12),
    3: Rates(before=0.15, after=0.08, late=0.20, half=0.25, stale=0.25),
}


def draw(*names: object) -> float:
    """Return a number from 0 to below 1, which depends on the names alone."""
    digest = sha256("/".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


class Noise:
    """The noise of one turn.

    Attributes:
        level, seed: the assessment's level and seed of noise.
        counts: the number of occurrences of each kind, for the evaluator.
    """

    def __init__(self, level: int, seed: int, turn: int) -> None:
        self.level, self.seed = level, seed
        self._rates = RATES[level]
        self._names = (seed, turn)
        self._number = 0
        self._earlier: dict[bytes, bytes] = {}
        self.counts: dict[str, int] = {}

    def begin(self) -> float:
        """Count a request; returns the simulated seconds by which its answer is late."""
        self._number += 1
        if not self._comes("late"):
            return 0.0
        least, most = _LATE_SECONDS
        return round(least + (most - least) * self._draw("seconds"), 3)

    def fail_before(self) -> None:
        """Raise Unavailable (503) or Broken (500) if this request fails before anything is done."""
        if self._comes("before"):
            raise Unavailable() if self._draw("status") < 0.5 else Broken()

    def fail_after(self) -> None:
        """Raise Broken (500) if the answer to an executed action is lost."""
        if self._comes("after"):
            raise Broken()

    def alter(self, asked: bytes, content: bytes, *, is_list: bool) -> bytes:
        """Return the answer that the caller gets, with noise.

        Args:
            asked: the request's identity; equal requests have equal bytes.
            content: the true answer.
            is_list: whether the answer may be cut to half a list.
        """
        if is_list and self._comes("half"):
            return _halved(content)
        key = sha256(asked).digest()
        earlier = self._earlier.get(key)
        if earlier is not None and self._comes("stale"):
            return earlier
        if len(content) <= _LARGEST_KEPT and (key in self._earlier or len(self._earlier) < _MOST_KEPT):
            self._earlier[key] = content
        return content

    def _comes(self, kind: str) -> bool:
        rate: float = getattr(self._rates, kind)
        comes = self._draw(kind) < rate
        if comes:
            self.counts[kind] = self.counts.get(kind, 0) + 1
        return comes

    def _draw(self, kind: str) -> float:
        return draw(*self._names, self._number, kind)


def _halved(answer: bytes) -> bytes:
    """Return the answer with the first half of its longest list; its totals still count all entries."""
    content: Any = orjson.loads(answer)
    lists = {name: value for name, value in content.items() if _is_list_of_records(value)}
    name = max(lists, key=lambda each: len(lists[each]), default="")
    if len(lists.get(name, ())) < _FEWEST:
        return answer
    kept = (len(lists[name]) + 1) // 2
    content[name] = _first(lists[name], kept)
    if _RETURNED in content:
        content[_RETURNED] = kept
    return orjson.dumps(content)


def _is_list_of_records(value: Any) -> bool:
    entries: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, dict | list) and all(isinstance(entry, dict) for entry in entries)


def _first(entries: Any, count: int) -> Any:
    return entries[:count] if isinstance(entries, list) else dict(list(entries.items())[:count])
