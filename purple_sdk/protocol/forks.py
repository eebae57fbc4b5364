"""Forks: assessments that inherit another one's first turns and play the rest themselves."""

from typing import Self

from pydantic import Field

from purple_sdk.protocol._wire import WireModel


class ForkedFrom(WireModel):
    """The origin of a fork.

    The turns before ``turn`` are inherited from the assessment ``task_id``; ``turn`` is the first turn that was played
    again. If that assessment is a fork too, ``forked_from`` is its origin.
    """

    task_id: str
    turn: int = Field(ge=1)
    forked_from: Self | None = None

    @property
    def chain(self) -> list[Self]:
        """This origin, its own origin, and so on."""
        return [self, *(self.forked_from.chain if self.forked_from else [])]

    def find_player(self, turn: int) -> str | None:
        """Return the id of the assessment in which an inherited turn was played; None if the turn was not inherited."""
        task_id = None
        for origin in self.chain:
            if turn >= origin.turn:
                break
            task_id = origin.task_id
        return task_id

    def in_words(self) -> str:
        """Return the chain of origins: ``turn 3 of B, itself a fork from turn 5 of A``."""
        return ", itself a fork from ".join(f"turn {origin.turn} of {origin.task_id}" for origin in self.chain)

    def inherited_in_words(self) -> str:
        """Name the inherited turns."""
        if self.turn == 1:
            return "no turn is inherited"
        return "turn 1 is inherited" if self.turn == 2 else f"turns 1 to {self.turn - 1} are inherited"
