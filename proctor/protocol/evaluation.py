"""What a scenario's evaluator functions get and give (seed 000, section 3.2.1).

An evaluator is ``async def name(ctx: AgentBeatsEvalContext, params: dict) -> EvalResult`` in a scenario's
``evaluators.py``.
"""

from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from purple_sdk.protocol.results import ActionLogEntryWithTurn


class CannotJudgeError(Exception):
    """Raised by an evaluator that lacks what it needs to judge, such as a model.

    What needs a model is declared in ``scenario.json`` (``needs_model_for``), and isn't asked for where there is none;
    so an evaluator that raises this has met something that it didn't declare, and the judging fails. What a participant
    did is worth points or none, but never takes them out of the maximum.
    """


@dataclass(frozen=True)
class EvalResult:
    """What an evaluator found.

    ``score`` and ``max_score`` are in the evaluator's own units; where ``max_score`` differs from the criterion's,
    the score is scaled. ``unscored_points`` (same units, part of ``max_score``) were not judged because there is no
    model; they have to be what the criterion declares (``needs_model_for``).
    """

    score: float
    max_score: float
    explanation: str
    details: dict[str, Any] | None = None
    unscored_points: float = 0.0


@dataclass(frozen=True)
class AgentBeatsEvalContext:
    """What an evaluator may look at.

    Attributes:
        client: an asynchronous UES client with a key that reads and can't act; the simulation is in its final
        state. scenario_config: the scenario as JSON data. action_log: what the participant did, from the simulation's
        own event log, in order. initial_state: modality name to state, before the first turn. final_state: modality
        name to state, after the last turn. user_prompt: what the participant was asked to do. llm: the judge's
        LangChain chat model, or None where there is none (offline). turn_notes: turn number to the notes that the
        participant left with the turn.
    """

    client: Any
    scenario_config: dict[str, Any]
    action_log: list[ActionLogEntryWithTurn]
    initial_state: dict[str, Any]
    final_state: dict[str, Any]
    user_prompt: str
    llm: Any = None
    turn_notes: dict[int, str] = field(default_factory=dict)

    async def get_state(self, modality: str) -> Any:
        """A modality's final state, a copy of that in ``final_state``. Raises ``ValueError`` for an unknown one."""
        if modality not in self.final_state:
            raise ValueError(f"Unknown modality: {modality}; there are {', '.join(sorted(self.final_state))}")
        return deepcopy(self.final_state[modality])

    async def get_time(self) -> datetime:
        """The simulation's current time."""
        current: datetime = (await self.client.time.get_state()).current_time
        return current


EvaluatorFunc = Callable[[AgentBeatsEvalContext, dict[str, Any]], Awaitable[EvalResult]]
EvaluatorRegistry = dict[str, EvaluatorFunc]
