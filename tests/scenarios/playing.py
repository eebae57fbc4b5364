"""Shipped scenarios, played in this process (``proctor.local.rehearsal``), with more to look at than an author needs.

That this gives the same result as the whole evaluator is itself tested (``test_reschedule_day``).
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

from proctor.activities.judging.payloads import JudgeInput
from proctor.activities.models.configured import ConfiguredModels
from proctor.activities.plan import CriterionBrief, Plan
from proctor.activities.simulation.payloads import Evidence
from proctor.local import rehearsal
from proctor.local.doing import do
from proctor.local.rehearsal import RehearsedAssessment
from proctor.protocol.evaluation import AgentBeatsEvalContext
from purple_sdk.protocol.results import AssessmentResults, CriterionResult
from tests.stack import SCENARIOS, Script


class _WatchedModels(ConfiguredModels):
    """Models whose judges report every answer."""

    on_answer: BaseCallbackHandler | None = None

    def for_judging(self, *args: Any) -> Any:
        llm = super().for_judging(*args)
        llm.callbacks = [*(llm.callbacks or ()), *filter(None, [self.on_answer])]  # type: ignore[misc]
        return llm


@dataclass(frozen=True)
class Judging:
    """What a model shall judge: by itself, one criterion after the other, those without an evaluator first.

    Attributes:
        is_wanted: asked before each criterion; what isn't wanted stays out of the result.
        on_verdict: told of each verdict, and how many seconds it took.
    """

    is_wanted: Callable[[CriterionBrief], bool] = lambda _criterion: True
    on_verdict: Callable[[CriterionResult, float], None] = lambda _verdict, _seconds: None


class Rehearsal(rehearsal.Rehearsal):
    """Plays scripts of shipped scenarios: ``await rehearsal.play("email_triage_basic", script)``."""

    def __init__(self, folder: Path, on_answer: BaseCallbackHandler | None = None, **settings: Any) -> None:
        self._on_answer = on_answer
        super().__init__(folder, SCENARIOS, **settings)

    def make_models(self) -> ConfiguredModels:
        models = _WatchedModels(self.config)
        models.on_answer = self._on_answer
        return models

    async def play(
        self, scenario_id: str, script: Script, judging: Judging | None = None, *, seed: int = 7, **settings: Any
    ) -> AssessmentResults:
        """Assess a script, offline; with ``judging``, the deployment's model judges, and that judges as it likes."""
        results, _ = await self.play_and_keep(scenario_id, script, judging, seed=seed, **settings)
        return results

    async def play_and_keep(
        self, scenario_id: str, script: Script, judging: Judging | None = None, *, seed: int = 7, **settings: Any
    ) -> tuple[AssessmentResults, AgentBeatsEvalContext]:
        """The same, with what the evaluators got to see (but for a client)."""
        played = (_JudgedByModel(self, judging) if judging else RehearsedAssessment(self)).play
        results, record = await asyncio.wrap_future(self.run(played(scenario_id, script, seed, **settings)))
        states = record.initial_state, record.final_state
        return results, AgentBeatsEvalContext(None, {}, list(record.action_log), *states, user_prompt="")


class _JudgedByModel(RehearsedAssessment):
    offline = False

    def __init__(self, rehearsal: Rehearsal, judging: Judging) -> None:
        super().__init__(rehearsal)
        self._judging = judging

    async def judge(self, plan: Plan, evidence: Evidence) -> list[CriterionResult]:
        plan, found = plan.model_copy(update={"offline": False}), []
        for criterion in sorted(plan.criteria, key=lambda criterion: not criterion.by_model):
            if self._judging.is_wanted(criterion):
                began = time.monotonic()
                given = JudgeInput(plan=plan, criterion_id=criterion.criterion_id, evidence=evidence)
                # The last of its attempts: what a model says that can't be believed is in doubt, and no failure.
                verdict = await do(self.verdicts.judge_criterion, given, attempt=3)
                self._judging.on_verdict(verdict, time.monotonic() - began)
                found.append(verdict)
        return found


@contextmanager
def rehearsing(**settings: Any) -> Iterator[Rehearsal]:
    """A simulator and a store of its own, for any number of plays; settings are the deployment's."""
    with TemporaryDirectory(prefix="rehearsal-") as folder, closing(Rehearsal(Path(folder), **settings)) as rehearsal:
        yield rehearsal
