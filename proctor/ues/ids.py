"""Draw ids from a simulation's seeded state: the same seed and the same requests give the same ids."""

from hashlib import blake2b


class IdSource:
    """Draws UUID-shaped ids from (seed, counter). Checkpoints contain both, so a restored simulation draws the same ids
    as the original.
    """

    __slots__ = ("drawn", "seed")

    def __init__(self, seed: str, drawn: int = 0) -> None:
        self.seed = seed
        self.drawn = drawn

    def draw(self) -> str:
        """Return the next id: 36 characters in the form of a UUID of version 5."""
        self.drawn += 1
        digits = blake2b(f"{self.seed}:{self.drawn}".encode(), digest_size=16).hexdigest()
        return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
