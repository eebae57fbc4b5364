"""Compare forks of one assessment: how much of the score's spread is left at each turn, and which turn decided.

By the law of total variance, the spread among forks from turn N is the part that turn N and the later turns decide.
Turn N itself decided the difference between this spread and the spread among forks from the next turn.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from purple_sdk.protocol.statistics import ForkSpread, TurnSpread


def spread_by_turn(percents: Mapping[int, Sequence[float]]) -> list[TurnSpread]:
    """Return the spread at each turn, in order, from the forks' percents; turns with fewer than two are left out."""
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
    """Return each agent's spread by turn, from the agent, turn and percent of each fork."""
    by_agent: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for agent, turn, percent in forks:
        by_agent[agent][turn].append(percent)
    return [_compare_turns(agent, spread_by_turn(percents)) for agent, percents in by_agent.items()]


def _compare_turns(agent: str, turns: list[TurnSpread]) -> ForkSpread:
    if len(turns) < 2 or not turns[0].variance:
        return ForkSpread(agent=agent, turns=turns)
    shares = {spread.turn: spread.decided for spread in turns if spread.decided is not None}
    shares[turns[-1].turn] = turns[-1].variance / turns[0].variance
    return ForkSpread(agent=agent, turns=turns, deciding=max(shares, key=lambda turn: shares[turn]))
