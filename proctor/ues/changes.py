"""Changes to a modality's state that can be taken back: the undo machinery.

An operation writes only through a ``Change``, which keeps the step that takes each step back, never a copy of the
state. Patches are JSON-ready, so a checkpoint carries them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import getitem
from typing import Any, cast

import orjson

from proctor.ues.problems import OperationFailed, OutOfRoom

State = dict[str, Any]
"""A modality's state: plain JSON-ready data, in the shape of the scenario file."""

Path = Sequence[str | int]
"""The path of a value in a state: dictionary keys and list positions from the top."""

Step = list[Any]
"""One reversible step: ``["put", path, value]``, ``["remove", path]`` or ``["insert", path, value, position]``."""

Patch = list[Step]
"""Steps, in the order in which they are to be applied."""


STEP_BYTES = 100
"""What a step is reckoned to take besides its value: its path, and the same in the patch that takes it back."""


def _at(state: State, path: Path) -> Any:
    return reduce(getitem, path, cast("Any", state))


def _place(node: dict[str, Any], key: str | int) -> int:
    """The position of ``key`` in the dictionary's order; quick for the newest entry, which is what undo takes away."""
    return len(node) - 1 if next(reversed(node)) == key else list(node).index(str(key))


def _apply(state: State, step: Step) -> Step:
    """Carry out one step and return the step that takes it back."""
    kind, path = step[0], step[1]
    node, last = _at(state, path[:-1]), path[-1]
    if kind == "put":
        if isinstance(node, dict) and last not in node:
            node[last] = step[2]
            return ["remove", path]
        before = node[last]
        node[last] = step[2]
        return ["put", path, before]
    if kind == "remove":
        position = last if isinstance(node, list) else _place(node, last)
        return ["insert", path, node.pop(last), position]
    if isinstance(node, list):
        node.insert(step[3], step[2])
    else:
        # A dictionary's order shows in answers, so the entry goes back to the place that it had.
        followers = list(node)[step[3] :]
        node[last] = step[2]
        for key in followers:
            node[key] = node.pop(key)
    return ["remove", path]


def _own(value: Any) -> Any:
    """A copy of JSON-ready data down to the last list, so that it shares none with what it was made from."""
    if isinstance(value, dict):
        return {name: _own(item) for name, item in value.items()}
    return [_own(item) for item in value] if isinstance(value, list) else value


def apply_patch(state: State, patch: Patch) -> Patch:
    """Carry out a patch and return the one that takes it back."""
    inverse = [_apply(state, step) for step in patch]
    inverse.reverse()
    return inverse


class Change:
    """What an operation gets: the state to read, and the only way to write to it.

    A value given to ``put`` or ``append`` is copied into the state. An operation may thus make a new entry from parts
    of an old one: if the two shared a list, a later change to the new one would alter what an undo puts back.
    """

    __slots__ = ("_inverse", "draw_id", "index", "neighbours", "now", "room", "state")

    def __init__(
        self,
        state: State,
        now: str,
        draw_id: Callable[[], str],
        neighbours: Mapping[str, State] | None = None,
        *,
        index: dict[Any, Any] | None = None,
        room: int | None = None,
    ) -> None:
        self.state = state
        """The modality's state, to be read only."""
        self.now = now
        """The simulator's time at which the event runs, as canonical text."""
        self.draw_id = draw_id
        """Draws the next id of this simulation."""
        self.neighbours = neighbours or {}
        """The states of the modalities that this one has declared as neighbours, to be read only."""
        self.index = {} if index is None else index
        """Look-up data that operations derive from the state and keep in step with it. It is emptied whenever the state
        changes in another way than through them."""
        self.room = room
        """How many bytes may still be written; None for any number."""
        self._inverse: Patch = []

    def _spend(self, path: Path, value: Any) -> None:
        """Count what a step writes, and what it takes to take it back. Raises OutOfRoom."""
        if self.room is not None:
            self.room -= STEP_BYTES + len(str(path[-1])) + len(orjson.dumps(value))
            if self.room < 0:
                raise OutOfRoom

    def put(self, path: Path, value: Any) -> None:
        """Set a dictionary's entry, new or not, or replace a list's item."""
        self._spend(path, value)
        self._inverse.append(_apply(self.state, ["put", path, _own(value)]))

    def update(self, path: Path, **fields: Any) -> None:
        """Set several fields of the dictionary at ``path``; fields that already have that value are left alone."""
        node = _at(self.state, path)
        for name, value in fields.items():
            if name not in node or node[name] != value:
                self.put((*path, name), value)

    def remove(self, path: Path) -> None:
        """Delete a dictionary's entry or a list's item (by position)."""
        self._spend(path, None)
        self._inverse.append(_apply(self.state, ["remove", path]))

    def append(self, path: Path, value: Any) -> None:
        """Add ``value`` at the end of the list at ``path``."""
        self._spend(path, value)
        node = _at(self.state, path)
        self._inverse.append(_apply(self.state, ["insert", (*path, len(node)), _own(value), len(node)]))

    def discard(self, path: Path, value: Any) -> bool:
        """Take ``value`` out of the list at ``path``. Says whether it was there."""
        node = _at(self.state, path)
        if value not in node:
            return False
        self.remove((*path, node.index(value)))
        return True

    def fail(self, reason: str) -> OperationFailed:
        """The exception to raise when the operation can't be carried out; its changes so far are undone."""
        return OperationFailed(reason)

    def undo_patch(self) -> Patch:
        return self._inverse[::-1]

    def roll_back(self) -> None:
        apply_patch(self.state, self.undo_patch())
        self._inverse.clear()
