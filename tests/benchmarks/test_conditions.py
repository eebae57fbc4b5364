"""The benchmark of conditions: carelessness under noise, slowness under a clock, and each habit cost points."""

from benchmarks.conditions import HABITS, by_the_clock, decided, in_noise, measured, table
from proctor.scenarios.kit.making.days import make_day
from tests.stack import SCENARIOS

FAMILIES = SCENARIOS / "families"


async def test_carelessness_costs_points_under_noise() -> None:
    means = await measured(in_noise, [make_day(FAMILIES / "invoice_fraud", 2, 6)], [("standing", 3)])
    assert means["careful"] == [(100.0, 0.0)]
    assert means["repeats"][0][0] < 100
    assert means["gives up"][0][0] < 100


async def test_slowness_costs_points_under_a_clock() -> None:
    means = await measured(
        by_the_clock, [make_day(FAMILIES / "deadline_desk", 2, 1)], [("standing", 0), ("fixed:600", 0)]
    )
    (standing, _), (running, _) = means["reader"]
    assert standing == 100 > running


async def test_only_who_decides_passes_a_group() -> None:
    days = [make_day(FAMILIES / "which_alex", 1, seed) for seed in (1, 3, 5)]
    means, whole = await decided(days)
    assert whole == dict.fromkeys(HABITS, 0.0) | {"decides each": 100.0}
    assert "| always asks |" in table("player", ["a", "b", "c"], means, whole)
