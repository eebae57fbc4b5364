"""A record of a relay's traffic, in order: answers of the model and calls of tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from purple_sdk.harness.counting import ModelAnswer


@dataclass(frozen=True)
class UsedTool:
    """A call of a tool of the simulation, and its result.

    ``usual`` is the tool's name without noise, for reports of actions: a simulation with noise gives some tools other
    names.
    """

    name: str
    usual: str
    arguments: Mapping[str, Any]
    result: str
    is_error: bool
    at: datetime


@dataclass(frozen=True)
class AskedModel:
    """A request for an answer of the model. ``status`` is the HTTP status; ``answer`` is None if it was an error."""

    status: int
    answer: ModelAnswer | None
    at: datetime


@dataclass
class Record:
    """A record of a relay's traffic, in order.

    Attributes:
        events: answers of the model and calls of tools.
        has_listed_tools: whether the CLI agent requested the list of the simulation's tools.
        has_offered_tools: whether it offered tools to its model.
    """

    events: list[UsedTool | AskedModel] = field(default_factory=list)
    has_listed_tools: bool = False
    has_offered_tools: bool = False

    @property
    def answers(self) -> list[ModelAnswer]:
        """All answers of the model."""
        return [event.answer for event in self.events if isinstance(event, AskedModel) and event.answer is not None]

    @property
    def used_tools(self) -> list[UsedTool]:
        """All calls of tools."""
        return [event for event in self.events if isinstance(event, UsedTool)]
