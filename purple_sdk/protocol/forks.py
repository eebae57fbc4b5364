"""Forks: assessments that begin with another one's turns, so that it is seen what somebody makes of the rest."""

from typing import Self

from pydantic import Field

from purple_sdk.protocol._wire import WireModel


class ForkedFrom(WireModel):
    """Where a fork comes from.

    The turns before ``turn`` are those of the assessment ``task_id`` and were not played again; ``turn`` is the first
    that was. ``forked_from`` says the same of that assessment, where it is a fork, too.
    """

    task_id: str
    turn: int = Field(ge=1)
    forked_from: Self | None = None

    @property
    def chain(self) -> list[Self]:
        """This origin, its own origin, and so on."""
        return [self, *(self.forked_from.chain if self.forked_from else [])]

    def player_of(self, turn: int) -> str | None:
        """The id of the assessment that an inherited turn was played in; None for a turn that was not inherited."""
        task_id = None
        for origin in self.chain:
            if turn >= origin.turn:
                break
            task_id = origin.task_id
        return task_id

    def in_words(self) -> str:
        """The origin and its own origins: ``turn 3 of B, itself a fork from turn 5 of A``."""
        return ", itself a fork from ".join(f"turn {origin.turn} of {origin.task_id}" for origin in self.chain)

    def inherited_in_words(self) -> str:
        """Which turns are inherited."""
        if self.turn == 1:
            return "no turn is inherited"
        return "turn 1 is inherited" if self.turn == 2 else f"turns 1 to {self.turn - 1} are inherited"
