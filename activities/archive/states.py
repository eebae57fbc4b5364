"""The states after each turn, from the simulation's checkpoints, each as its difference to the one before."""

from collections.abc import Sequence
from typing import Any

from activities.archive.payloads import TurnNote
from activities.simulation.states import states_in
from proctor_protocol.archive import Content, Items, StateRecord, items_of, merge_patch
from proctor_storage.blobs import BlobDamagedError, BlobNotFoundError, BlobStore

READ_AT_MOST = 512 * 1024 * 1024
"""Bytes of checkpoints that are read for one assessment; of a larger one, states are kept every few turns."""

_LEFT_OUT = "the assessment is so large that not every turn's state is kept"


class StateHistory:
    """The states of an assessment: the first one whole, then what changes, turn by turn."""

    def __init__(self) -> None:
        self.initial: Items = {}
        self.records: list[StateRecord] = []
        self.by_turn: dict[int, Items] = {}
        self._last: Items = {}

    def add(self, note: TurnNote, items: Items | None, lacking: str | None = None) -> None:
        """Add a turn's state; None where it can't be determined."""
        if items is not None and not self.records:
            self.initial = self._last = items
        patch = {} if items is None else merge_patch(self._last, items)
        if items is not None:
            self._last = self.by_turn[note.turn] = items
        self.records.append(
            StateRecord(
                turn=note.turn,
                time=note.reached,
                checkpoint=Content(sha256=note.checkpoint.sha256, size=note.checkpoint.size),
                patch=patch,
                lacking=lacking,
            )
        )


def read_states(notes: Sequence[TurnNote], store: BlobStore) -> StateHistory:
    """Read the states of all turns; this may take some seconds.

    Raises:
        proctor_storage.blobs.StoreUnavailableError: the store can't be read just now.
    """
    history = StateHistory()
    known: dict[str, Any] = {}
    chosen = _chosen([note.checkpoint.size for note in notes])
    for place, note in enumerate(notes):
        if place not in chosen:
            history.add(note, None, _LEFT_OUT)
            continue
        try:
            history.add(note, items_of(states_in(store.get_blocking(note.checkpoint), store, known)))
        except (BlobNotFoundError, BlobDamagedError, ValueError) as problem:
            history.add(note, None, str(problem))
    return history


def _chosen(sizes: Sequence[int]) -> set[int]:
    """The checkpoints to read: all, or every n-th and the last, so that they stay below the limit."""
    step = max(1, -(-sum(sizes) // READ_AT_MOST))
    return {*range(0, len(sizes), step), len(sizes) - 1}
