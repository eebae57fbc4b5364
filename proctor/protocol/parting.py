"""Where two assessments part: the turns in which not the same was done."""

from collections.abc import Sequence
from typing import Any

from proctor.protocol.archive import TurnRecord

_OF_ONE_RUN = ("message_id", "thread_id", "input_id")
"""What is another one in every simulation, and so makes no difference."""


def parting_turns(one: Sequence[TurnRecord], other: Sequence[TurnRecord]) -> list[int]:
    """The turns whose actions differ, or that only one of the two has, in order."""
    first, second = ({turn.turn: _actions(turn) for turn in side} for side in (one, other))
    return [turn for turn in sorted({**first, **second}) if first.get(turn) != second.get(turn)]


def _actions(turn: TurnRecord) -> list[tuple[str, dict[str, Any]]]:
    return [
        (action.action, {name: value for name, value in action.parameters.items() if name not in _OF_ONE_RUN})
        for action in turn.actions
    ]
