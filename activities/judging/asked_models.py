"""The models that judge one criterion, and their calibrations."""

import asyncio
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from temporalio import activity

from proctor.activities.attempts import failures
from proctor.activities.judging.calibration import Asked, list_calibrations
from proctor.activities.judging.facts_by_model import read_facts
from proctor.activities.judging.model_judge import PROMPT_VERSION
from proctor.activities.judging.panel import Judge
from proctor.activities.models.configured import ConfiguredModels
from proctor.activities.models.factory import ModelError, prepare
from proctor.activities.models.failing import classified
from proctor.activities.models.usage import Meter
from proctor.activities.plan import Plan
from proctor.activities.scenario_code.facts_asked import FactsAsked
from purple_sdk.protocol.json_safe import storable_text
from purple_sdk.protocol.problems import describe
from purple_sdk.protocol.results import CriterionResult

_LONGEST_WHY = 500
_SEEDS = 1_000
_VOTING_TEMPERATURE = 0.5
"""The temperature of a model with several votes. At temperature 0, all its votes would be the same."""


@dataclass(frozen=True)
class AskedModels:
    """The panel of an assessment, for one attempt at one criterion."""

    plan: Plan
    user_prompt: str
    configured: ConfiguredModels
    meter: Meter
    state: Path

    @property
    def names(self) -> list[str]:
        """The models' names; if the plan has no judges, the model of the settings."""
        return list(self.plan.judges or [self.configured.judge_name])

    @cached_property
    def panel(self) -> list[Judge]:
        """The judging models; empty offline. See ``_judges``."""
        return self._judges(PROMPT_VERSION)

    @cached_property
    def _first(self) -> Judge:
        return self._judges(None)[0]

    def _judges(self, prompt_version: str | None) -> list[Judge]:
        """Return the panel: each model once per vote, with consecutive seeds. It is empty offline. Each attempt uses
        other seeds. ``prompt_version`` is None for evaluators' own questions.
        """
        if self.plan.offline:
            return []
        seed, votes = self.plan.seed + _SEEDS * (activity.info().attempt - 1), self.plan.votes
        temperature = 0.0 if votes == 1 else _VOTING_TEMPERATURE
        make = self.configured.for_judging
        return [
            Judge(name, make(name, temperature, (seed + vote) % 2**63, self.meter, prompt_version))
            for name in self.names
            for vote in range(votes)
        ]

    async def answer(self, question: Any) -> bytes:
        """Answer an evaluator's question. The whole panel looks for facts in texts; the panel's first model answers all
        other questions.
        """
        await prepare()
        from proctor.activities.scenario_code.relayed_model import ModelQuestion, answer, find_refused

        try:
            if isinstance(question, dict) and "facts" in question:
                asked: FactsAsked | ModelQuestion = FactsAsked.model_validate(question)
            else:
                asked = ModelQuestion.model_validate(question)
                asked.read_messages()
        except (ValueError, KeyError, TypeError) as error:
            why = describe(error) if isinstance(error, ValidationError) else str(error)
            raise failures.EVALUATOR_FAILED.final(
                f"The evaluator asks the model what can't be read: {storable_text(why, _LONGEST_WHY)}."
            ) from None
        if isinstance(asked, ModelQuestion) and (refused := find_refused(asked)) is not None:
            raise failures.EVALUATOR_FAILED.final(f"The evaluator asks the model with {refused}: leave it out.")

        try:
            if isinstance(asked, FactsAsked):
                facts = await read_facts(asked, self.user_prompt, self.panel, self.configured.judge_window)
                return json.dumps(facts).encode()
            return await answer(asked, self._first.llm)
        except ModelError:
            raise
        except Exception as error:
            raise classified(error, self.names[0]) from error

    async def with_calibration(self, result: CriterionResult, what: Asked) -> CriterionResult:
        """Add the calibrations of the judging models to a verdict."""
        calibrations = await asyncio.to_thread(list_calibrations, self.state, self.plan.scenario_id, self.names, what)
        return result.model_copy(
            update={
                "details": {**(result.details or {}), "calibration": calibrations},
                "judge_warnings": [calibration["warning"] for calibration in calibrations if calibration["warning"]],
            }
        )
