"""Instances: days that families make, each from a difficulty and a seed."""

from collections.abc import Iterable
from difflib import get_close_matches

from pydantic import Field

from purple_sdk.protocol._wire import WireModel

DIFFICULTIES = (1, 2, 3, 4)
USUAL_DIFFICULTY = 2
"""The default difficulty."""

PRACTICE_SEEDS = range(1, 21)
"""Seeds whose truth is public; the truth of other seeds never leaves the evaluator."""


def group_of(seed: int, size: int) -> int:
    """Return the first seed of a seed's group.

    Days of a group differ only in the fact that decides which action is right. Two groups alternate, so neighbouring
    seeds are in different groups: with ``size`` 3 the groups are 1, 3, 5, and 2, 4, 6, and 7, 9, 11, …
    """
    return seed - 2 * variant_of(seed, size)


def variant_of(seed: int, size: int) -> int:
    """Return the position of a seed in its group, from 0."""
    return (seed - 1) % (2 * size) // 2


class Instance(WireModel):
    """A day of a family."""

    family: str
    difficulty: int = Field(ge=DIFFICULTIES[0], le=DIFFICULTIES[-1])
    seed: int

    @property
    def title(self) -> str:
        """The day's title: ``clear_the_day · difficulty 2 · seed 7``."""
        return instance_title(self.family, self.difficulty, self.seed)

    @property
    def is_practice(self) -> bool:
        """Whether the day's truth is public."""
        return self.seed in PRACTICE_SEEDS


def instance_title(scenario_id: str, difficulty: int | None, seed: int | None) -> str:
    """Return the title of a day: for a family's day, with difficulty and seed; otherwise the scenario's id."""
    if difficulty is None:
        return scenario_id
    return f"{scenario_id} · difficulty {difficulty}" + (f" · seed {seed}" if seed is not None else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest known names that resemble ``name``, as the end of a sentence; empty if none does."""
    close = get_close_matches(name, list(known), n=2)
    return f"; did you mean {' or '.join(close)}?" if close else ""
