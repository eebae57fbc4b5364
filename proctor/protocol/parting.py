"""The turns in which two assessments differ."""

from collections.abc import Sequence
from typing import Any

from proctor.protocol.archive import TurnRecord

_OF_ONE_RUN = ("message_id", "thread_id", "input_id")
"""Parameters that differ between simulations of the same actions; the comparison ignores them."""


def parting_turns(one: Sequence[TurnRecord], other: Sequence[TurnRecord]) -> list[int]:
    """Return the turns whose actions differ, or that only one of the two has, in order."""
    first, second = ({turn.turn: _actions(turn) for turn in side} for side in (one, other))
    return [turn for turn in sorted({**first, **second}) if first.get(turn) != second.get(turn)]


def _actions(turn: TurnRecord) -> list[tuple[str, dict[str, Any]]]:
    return [
        (action.action, {name: value for name, value in action.parameters.items() if name not in _OF_ONE_RUN})
        for action in turn.actions
    ]
