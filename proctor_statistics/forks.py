"""Forks of one assessment at its turns: how much of the score's spread is left at each, and which turn decided.

By the law of total variance the spread that remains among forks from turn N is what the turns from N on still decide;
what turn N itself decided is the spread before it less the spread after it.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from pydantic import BaseModel, ConfigDict


class TurnSpread(BaseModel):
    """Forks that began with one turn.

    Attributes:
        turn: the first that was played anew.
        forks: how many there are.
        mean: of their percent.
        variance: of their percent (n - 1 in the denominator).
        decided: the share of the first turn's variance that this turn decided; None for the last turn that was forked
            and where the first turn's forks don't vary. Chance can make it negative.
    """

    model_config = ConfigDict(frozen=True)

    turn: int
    forks: int
    mean: float
    variance: float
    decided: float | None


def spread_by_turn(percents: Mapping[int, Sequence[float]]) -> list[TurnSpread]:
    """From the forks' percents by turn, in order of turns; turns with fewer than two forks are left out."""
    turns = sorted(turn for turn, forks in percents.items() if len(forks) > 1)
    variances = {turn: float(np.var(percents[turn], ddof=1)) for turn in turns}
    after = dict(pairwise(turns))
    whole = variances[turns[0]] if turns else 0.0
    return [
        TurnSpread(
            turn=turn,
            forks=len(percents[turn]),
            mean=float(np.mean(percents[turn])),
            variance=variances[turn],
            decided=(variances[turn] - variances[after[turn]]) / whole if turn in after and whole > 0 else None,
        )
        for turn in turns
    ]
