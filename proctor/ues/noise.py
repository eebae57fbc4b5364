"""Noise: how a real service fails its callers now and then. Everything is drawn; no clock and no other state decides.

A draw is named by (seed, turn, number of the request in the turn, kind), so that a turn that is played again with the
same requests meets the same noise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from proctor.ues.problems import Broken, Unavailable

_LATE_SECONDS = (5.0, 60.0)
"""Between these, in simulated seconds, lies what a late answer costs where the clock runs."""

_FEWEST = 4
"""Entries that a list needs to be cut in half."""

_MOST_KEPT, _LARGEST_KEPT = 64, 256 * 1024
"""Earlier answers that a turn keeps to give them out again, and the bytes of the largest of them."""

_RETURNED = "returned_count"
"""The field of a query's answer that counts its entries."""


@dataclass(frozen=True, slots=True)
class Rates:
    """How often each kind of noise comes, as shares of all requests that it may come to.

    Attributes:
        before: the request fails, and nothing was done.
        after: the action was done, and the answer says that the request failed.
        late: the answer is late.
        half: a list has only its first half.
        stale: the answer is the one that the same request got before.
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
    """A number from 0 to below 1 that the names alone decide."""
    digest = sha256("/".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


class Noise:
    """The noise of one turn.

    Attributes:
        level, seed: of the assessment.
        counts: how often each kind has come, for the evaluator.
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
        """Raise Unavailable (503) or Broken (500) where this request fails before anything is done."""
        if self._comes("before"):
            raise Unavailable() if self._draw("status") < 0.5 else Broken()

    def fail_after(self) -> None:
        """Raise Broken (500) for an action that was done, where its answer gets lost."""
        if self._comes("after"):
            raise Broken()

    def alter(self, asked: bytes, content: bytes, *, is_list: bool) -> bytes:
        """What the caller gets to read in place of an answer.

        Args:
            asked: what names the request: two that are equal here ask for the same.
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
    """The answer with the first half of its longest list; its totals still say how many entries there are."""
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
