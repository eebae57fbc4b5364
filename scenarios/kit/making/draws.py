"""Random choices by name: a new choice does not change the others.

Each choice has its own stream: the SHA-256 of the seed's text and of the choice's name, in counter mode. It is the
same on any machine and in any Python, which ``random.Random`` does not promise for ``choice`` and ``shuffle``.
"""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """Choices under one name.

    Args:
        path: The names that lead here; the first are usually family, difficulty and seed.
    """

    def __init__(self, *path: str | int) -> None:
        self._path = "/".join(map(str, path))

    def of(self, *name: str | int) -> "Draws":
        """The choices under a further name."""
        return Draws(self._path, *name)

    def below(self, bound: int, *name: str | int) -> int:
        """A whole number from 0 to ``bound`` - 1, each equally likely to within 2**-64."""
        if bound < 1:
            raise ValueError(f"{self._path}: no choice among {bound}")
        digest = hashlib.sha256("/".join((self._path, *map(str, name))).encode()).digest()
        return int.from_bytes(digest[:16], "big") * bound >> 128

    def between(self, low: int, high: int, *name: str | int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1, *name)

    def different(self, low: int, high: int, count: int, *name: str | int) -> list[int]:
        """Different whole numbers from ``low`` to ``high``, both included.

        Raises:
            ValueError: the range has fewer numbers.
        """
        if count > high - low + 1:
            raise ValueError(f"{self._path}: {count} of {high - low + 1} numbers")
        found: dict[int, None] = {}
        place = 0
        while len(found) < count:
            found[self.between(low, high, *name, place)] = None
            place += 1
        return list(found)

    def chance(self, probability: float, *name: str | int) -> bool:
        """True with this probability."""
        return self.below(1 << 53, *name) / (1 << 53) < probability

    def pick(self, options: Sequence[T], *name: str | int) -> T:
        """One of the options.

        Raises:
            ValueError: ``options`` is empty.
        """
        return options[self.below(len(options), *name)]

    def shuffled(self, options: Sequence[T], *name: str | int) -> list[T]:
        """All options in a drawn order."""
        keys = [self.below(1 << 64, *name, "order", place) for place in range(len(options))]
        return [options[place] for place in sorted(range(len(options)), key=keys.__getitem__)]

    def some(self, options: Sequence[T], count: int, *name: str | int) -> list[T]:
        """Different options, ``count`` of them.

        Raises:
            ValueError: ``options`` has fewer.
        """
        if count > len(options):
            raise ValueError(f"{self._path}: {count} of {len(options)} options")
        return self.shuffled(options, *name)[:count]

    def hex(self, digits: int, *name: str | int) -> str:
        """Hexadecimal digits, such as for an id without meaning."""
        return f"{self.below(16**digits, *name):0{digits}x}"
