"""Ids drawn from a simulation's own seeded state, so that the same seed and the same requests give the same ids."""

from hashlib import blake2b


class IdSource:
    """Draws UUID-shaped ids from (seed, counter). Both are part of a checkpoint, so a restored simulation draws
    the same ids as the original would have.
    """

    __slots__ = ("drawn", "seed")

    def __init__(self, seed: str, drawn: int = 0) -> None:
        self.seed = seed
        self.drawn = drawn

    def draw(self) -> str:
        """The next id: 36 characters, formed like a UUID of version 5."""
        self.drawn += 1
        digits = blake2b(f"{self.seed}:{self.drawn}".encode(), digest_size=16).hexdigest()
        return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
