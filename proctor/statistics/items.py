"""The criteria that distinguish agents, and those that no agent or every agent meets.

The discrimination of a criterion is its item-rest correlation: Pearson's correlation of the share earned on it with the
share earned on all others (Nunnally and Bernstein, "Psychometric Theory", 1994, chapter 8).
"""

from collections.abc import Sequence

import numpy as np

from proctor.statistics.weights import weighed_mean
from purple_sdk.protocol.statistics import Item, Run


def items(runs: Sequence[Run]) -> list[Item]:
    """Return all criteria of the judged runs, ordered by how well they separate agents, the best first."""
    analyses = []
    for scenario in dict.fromkeys(run.scenario for run in runs):
        judged = [run for run in runs if run.scenario == scenario and run.percent is not None]
        for criterion in dict.fromkeys(name for run in judged for name in run.criteria):
            item = _item(scenario, criterion, judged)
            if item:
                analyses.append(item)
    return sorted(analyses, key=lambda item: -2.0 if item.discrimination is None else item.discrimination, reverse=True)


def _item(scenario: str, criterion: str, judged: Sequence[Run]) -> Item | None:
    earned: list[tuple[Run, float]] = []
    rests: list[float] = []
    for run in judged:
        own, overall = run.criteria.get(criterion), run.overall
        if own is None or own.percent is None or overall is None:
            continue
        rest = overall.max_score - own.max_score
        earned.append((run, own.percent))
        rests.append(100.0 * (overall.score - own.score) / rest if rest else 0.0)
    if not earned:
        return None
    shares = [share for _, share in earned]
    agents = dict.fromkeys(run.agent for run, _ in earned)
    by_agent = {agent: weighed_mean([pair for pair in earned if pair[0].agent == agent]) or 0.0 for agent in agents}
    return Item(
        scenario=scenario,
        criterion=criterion,
        runs=len(shares),
        percent=weighed_mean(earned) or 0.0,
        by_agent=by_agent,
        discrimination=_correlation(shares, rests),
        met_by="everybody" if min(shares) == 100 else "nobody" if max(shares) == 0 else "some",
    )


def _correlation(shares: Sequence[float], rests: Sequence[float]) -> float | None:
    if len(shares) < 3 or np.ptp(shares) == 0 or np.ptp(rests) == 0:
        return None
    return float(np.corrcoef(shares, rests)[0, 1])
