"""Forks of one assessment at its turns: how much of the score's spread is left at each, and which turn decided.

By the law of total variance the spread that remains among forks from turn N is what the turns from N on still decide;
what turn N itself decided is the spread before it less the spread after it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from purple_sdk.protocol.statistics import ForkSpread, TurnSpread


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


def forks_compared(forks: Iterable[tuple[str, int, float]]) -> list[ForkSpread]:
    """Agent by agent, from each fork's agent, turn and percent."""
    by_agent: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for agent, turn, percent in forks:
        by_agent[agent][turn].append(percent)
    return [_compared(agent, spread_by_turn(percents)) for agent, percents in by_agent.items()]


def _compared(agent: str, turns: list[TurnSpread]) -> ForkSpread:
    if len(turns) < 2 or not turns[0].variance:
        return ForkSpread(agent=agent, turns=turns)
    shares = {spread.turn: spread.decided for spread in turns if spread.decided is not None}
    shares[turns[-1].turn] = turns[-1].variance / turns[0].variance
    return ForkSpread(agent=agent, turns=turns, deciding=max(shares, key=lambda turn: shares[turn]))
