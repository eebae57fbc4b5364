"""The states of all modalities as evaluators see them: JSON by modality. ``parts`` lists data in a checkpoint's
parts.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json, to_json

from proctor.activities.simulation.hosts import Stepped
from proctor.storage.parts import Contents, InParts

_PARTS = "parts"


class Shown:
    """States as the simulator showed them; the methods read the store, and block until it answers.

    Attributes:
        states: each modality's state, without data in parts.
        listed: the data in parts; empty without a ``store``.
    """

    def __init__(
        self, states: dict[str, Any], listed: list[dict[str, Any]] | None = None, store: Contents | None = None
    ) -> None:
        self.states = states
        self.listed = listed or []
        self._parts = InParts(store, self.listed, "an assessment's first or last states") if store else None

    @classmethod
    def of(cls, store: Contents, stepped: Stepped) -> "Shown":
        return cls(stepped.states, stepped.states_parts, store)

    @classmethod
    def read(cls, store: Contents, content: bytes) -> "Shown":
        states = from_json(content)
        listed = states.pop(_PARTS, [])
        return cls(states, listed, store)

    def written(self) -> bytes:
        return to_json({**({_PARTS: self.listed} if self.listed else {}), **self.states})

    def entries(self, modality: str, collection: str) -> Iterator[Any]:
        for path, pages in self._parts.paths(modality) if self._parts else ():
            if self._parts and path == (modality, collection):
                for page in self._parts.pages(pages):
                    yield from _values(page)
        yield from _values((self.states.get(modality) or {}).get(collection) or ())


def below(listed: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return the list of data in parts with paths that begin at a member of this name."""
    return [{**file, "path": [name, *file["path"]]} for file in listed]


def _values(entries: Any) -> Any:
    return entries.values() if isinstance(entries, Mapping) else entries
