"""The expected share of a graded player's points, computed from the losses that lapses declare (see check 3).

Unlike a mean of random plays it has no noise, so the means of difficulties can be compared.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from proctor.scenarios.kit.damage import PRICES, Damage, Harm, due, shares_of
from proctor.scenarios.kit.making.days import OTHER_POINTS, Day
from proctor.scenarios.kit.making.duty import Duty, Lapse

CARELESS = ("sent", "tagged", "moved", "added")
"""The kinds of harm that careless players do beside their work. The lapse rate is the probability of each kind."""

_Lost = tuple[int, int, int, int]
"""Four numbers: lost points of ungated checks, lost points of gated checks, damage in percent, and points of ungated
checks that were not attempted.
"""
Skipped = Mapping[tuple[str, str], frozenset[str]]
"""Ids of the checks that are not attempted, by (duty's key, lapse's name)."""
_Spread = dict[_Lost, float]
_NOISE = 1e-9
_RARE = 1e-8
"""Sums of losses that are less probable than this are left out. In `broken_tools` 4 that changes a share by less than
0.001 points.
"""


def worst(day: Day, duty: Duty, lapses: Sequence[Lapse]) -> Lapse:
    """The lapse that costs the most points; the first one if several cost the same."""
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
    """The mean share of the points over all plays of ``players.graded``. Lapses of different duties are independent."""
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
    """Each lapse with the probability that it happens and is the worst; None stands for no lapse."""
    chances: dict[str | None, float] = {None: 1.0}
    for names in duty.points:
        after = {name: chance * (1 - rate) for name, chance in chances.items()}
        for before, chance in chances.items():
            for name in names:
                both = [duty.lapse(lapse_name) for lapse_name in (before, name) if lapse_name is not None]
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
    """The distribution of the sum of independent losses."""
    total: _Spread = {(0, 0, 0, 0): 1.0}
    for spread in spreads:
        summed: _Spread = defaultdict(float)
        for ((a, b, c, d), share), ((x, y, z, w), chance) in product(total.items(), spread.items()):
            summed[a + x, b + y, min(100, c + z), d + w] += share * chance
        total = {lost: share for lost, share in summed.items() if share > _RARE}
    return total
