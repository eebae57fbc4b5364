"""No interleaving of two workers, simulator and participant loses an action or doubles one; without fences some do.

``python -m tests.model`` goes further than there is time for here.
"""

from typing import Any

import pytest

from tests.model.fences import BrokenError, Rules, explore
from tests.work import only_nightly

TROUBLE = {
    "a worker stopped": {"give_ups": 1, "losses": 0, "resets": 0},
    "a worker stopped, the simulator lost": {"give_ups": 1, "losses": 1, "resets": 0},
    "a reset": {"give_ups": 0, "losses": 0, "resets": 1},
    "a simulator out of reach": {"give_ups": 0, "losses": 1, "resets": 0, "moves": 1},
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE)
@pytest.mark.parametrize("kinds", ["MT", "TT", pytest.param("TOT", marks=only_nightly)])
def test_nothing_is_lost_or_doubled(kinds: str, trouble: dict[str, Any]) -> None:
    assert explore(kinds, Rules(), **trouble) > 100


@only_nightly
def test_nor_when_a_worker_is_stopped_twice_or_before_a_reset() -> None:
    explore("T", Rules(), give_ups=2, losses=1, resets=0)
    explore("OT", Rules(), give_ups=1, losses=0, resets=1)


def test_nor_when_a_participant_goes_on_after_its_answer() -> None:
    explore("TT", Rules(), give_ups=1, losses=0, resets=0, late_actions=True)


def test_nor_when_a_worker_is_stopped_and_goes_on_at_a_simulator_that_others_have_left() -> None:
    explore("OT", Rules(), give_ups=1, losses=0, resets=0, moves=1)


@pytest.mark.parametrize("rule", Rules._fields)
def test_without_any_of_the_rules_something_is_lost_or_doubled(rule: str) -> None:
    """Fences: a stopped worker changes what others did. Keys: an abandoned turn acts on. And so on."""
    with pytest.raises(BrokenError, match="attempt 1 of step 0 handed out"):
        explore(
            "MT" if rule == "fences" else "TT",
            Rules(**{rule: False}),
            give_ups=1,
            losses=1,
            resets=0,
            moves=int(rule == "new_keys_elsewhere"),
            late_actions=rule in ("turns_end", "time_stops"),
        )
