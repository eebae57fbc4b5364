"""The expected share of a graded player's points, worked out from the lapses' declared losses (check 3 proves those).

It has no noise of drawn plays, so difficulties can be compared by their means.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from proctor.scenarios.kit.damage import PRICES, Damage, Harm, due, shares_of
from proctor.scenarios.kit.making.days import OTHER_POINTS, Day
from proctor.scenarios.kit.making.duty import Duty, Lapse

CARELESS = ("sent", "tagged", "moved", "added")
"""The kinds of harm that careless players do beside their work, each with a probability of the lapse rate."""

_Lost = tuple[int, int, int, int]
"""Lost points of ungated checks and of gated checks, damage in percent, and points of ungated checks without an
attempt."""
Skipped = Mapping[tuple[str, str], frozenset[str]]
"""The checks that are not attempted, by the keys of a duty and of its lapse."""
_Spread = dict[_Lost, float]
_NOISE = 1e-9
_RARE = 1e-8
"""The chance below which a sum of losses is left out: a share in `broken_tools` 4 moves by less than 0.001 points."""


def worst(day: Day, duty: Duty, lapses: Sequence[Lapse]) -> Lapse:
    """The lapse that costs most; the first of equal ones."""
    points = {check.id: check.points for duty in day.duties for check in duty.checks}
    total = sum(points.values()) + OTHER_POINTS

    def cost(lapse: Lapse) -> float:
        return sum(points[check] for check in lapse.loses) + total * compute_damage(day, duty, lapse).percent / 100

    return max(lapses, key=cost)


def compute_damage(day: Day, duty: Duty, lapse: Lapse) -> Damage:
    """The damage that a lapse of a duty does."""
    worth = {each.key: sum(check.points for check in each.checks) for each in day.duties}
    shares = shares_of(worth, sum(worth.values()) + OTHER_POINTS)
    return Damage(tuple(Harm(kind, "", duty.key if kind == "duty" else "") for kind in lapse.damage), shares)


def expected_share(day: Day, rate: float, skipped: Skipped) -> float:
    """The mean share of the points over all plays of ``players.graded``; duties' lapses don't touch each other."""
    checks = [check for duty in day.duties for check in duty.checks]
    work = sum(check.points for check in checks if not check.gated)
    gated = sum(check.points for check in checks if check.gated)
    mean = 0.0
    for claims, chance in ((True, rate), (False, 1 - rate)):
        losses = [_spread_losses(day, duty, rate, skipped, claims=claims) for duty in day.duties]
        losses += [{(0, 0, PRICES[kind].each, 0): rate, (0, 0, 0, 0): 1 - rate} for kind in CARELESS]
        for (lost, lost_gated, damage, undone), share in _together(losses).items():
            has_worked = 2 * (work - undone) >= work and 3 * (work - lost) > work
            other, kept = due(damage, work + gated + OTHER_POINTS, OTHER_POINTS)
            earned = work - lost + (gated - lost_gated if has_worked else 0)
            mean += chance * share * (int(earned * kept + _NOISE) + (other if has_worked else 0))
    return mean / (work + gated + OTHER_POINTS)


def _spread_losses(day: Day, duty: Duty, rate: float, skipped: Skipped, *, claims: bool) -> _Spread:
    spread: _Spread = defaultdict(float)
    for lapse, share in _slips(day, duty, rate):
        undone = skipped.get((duty.key, lapse.name), frozenset()) if lapse else frozenset[str]()
        spread[_sum_loss(day, duty, lapse, undone, claims=claims)] += share
    return spread


def _slips(day: Day, duty: Duty, rate: float) -> Iterable[tuple[Lapse | None, float]]:
    """Each lapse with the probability that it is the worst of those that happen."""
    chances: dict[str | None, float] = {None: 1.0}
    for names in duty.points:
        after = {name: chance * (1 - rate) for name, chance in chances.items()}
        for before, chance in chances.items():
            for name in names:
                both = [duty.lapse(each) for each in (before, name) if each is not None]
                key = worst(day, duty, both).name
                after[key] = after.get(key, 0.0) + chance * rate / len(names)
        chances = after
    return [(duty.lapse(name) if name is not None else None, chance) for name, chance in chances.items()]


def _sum_loss(day: Day, duty: Duty, lapse: Lapse | None, undone: frozenset[str], *, claims: bool) -> _Lost:
    lost = set(lapse.loses) if lapse else set()
    if duty.number and claims:
        lost -= {day.report_check(duty)}
        if duty.impossible or (lapse and lapse.reports == "open"):
            lost.add(day.report_check(duty))
    checks = [check for each in day.duties for check in each.checks if check.id in lost]
    points = [sum(check.points for check in checks if check.gated == gated) for gated in (False, True)]
    skipped = sum(check.points for check in duty.checks if check.id in undone)
    return points[0], points[1], compute_damage(day, duty, lapse).percent if lapse else 0, skipped


def _together(spreads: Iterable[_Spread]) -> _Spread:
    """The spread of the sum of independent losses."""
    total: _Spread = {(0, 0, 0, 0): 1.0}
    for spread in spreads:
        summed: _Spread = defaultdict(float)
        for ((a, b, c, d), share), ((x, y, z, w), chance) in product(total.items(), spread.items()):
            summed[a + x, b + y, min(100, c + z), d + w] += share * chance
        total = {lost: share for lost, share in summed.items() if share > _RARE}
    return total
