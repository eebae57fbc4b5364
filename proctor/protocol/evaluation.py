"""The input and output of a scenario's evaluator functions (seed 000, section 3.2.1).

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
    """Raised by an evaluator if something that it needs to judge is missing, such as a model.

    ``needs_model_for`` in ``scenario.json`` declares the points that need a model. Without a model, these points stay
    unscored. An evaluator that raises this error therefore needs something undeclared, and the judging fails. The
    participant's actions never lower the maximum of points.
    """


@dataclass(frozen=True)
class EvalResult:
    """An evaluator's finding.

    Attributes:
        score, max_score: in the evaluator's own units. If ``max_score`` differs from the criterion's, the score is
            scaled.
        unscored_points: the part of ``max_score`` that was not judged because there is no model. It must equal the
            criterion's ``needs_model_for``.
    """

    score: float
    max_score: float
    explanation: str
    details: dict[str, Any] | None = None
    unscored_points: float = 0.0


@dataclass(frozen=True)
class AgentBeatsEvalContext:
    """The data that an evaluator may use.

    Attributes:
        client: an asynchronous UES client with a read-only key; the simulation is in its final state.
        scenario_config: the scenario as JSON data.
        action_log: the participant's actions in order, from the simulation's own event log.
        initial_state: modality name to state, before the first turn.
        final_state: modality name to state, after the last turn.
        user_prompt: the participant's instructions.
        llm: the judge's LangChain chat model; None if there is none (offline).
        turn_notes: turn number to the notes that the participant left with the turn.
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
        """Return a copy of a modality's final state. Raises ``ValueError`` for an unknown modality."""
        if modality not in self.final_state:
            raise ValueError(f"Unknown modality: {modality}; there are {', '.join(sorted(self.final_state))}")
        return deepcopy(self.final_state[modality])

    async def get_time(self) -> datetime:
        """Return the simulation's current time."""
        current: datetime = (await self.client.time.get_state()).current_time
        return current


EvaluatorFunc = Callable[[AgentBeatsEvalContext, dict[str, Any]], Awaitable[EvalResult]]
EvaluatorRegistry = dict[str, EvaluatorFunc]
