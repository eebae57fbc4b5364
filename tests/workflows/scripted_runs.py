"""Campaigns of assessments whose steps are scripted; campaigns' own activities are the real ones."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from a2a.client import Client as Caller
from a2a.types import GetTaskRequest
from google.protobuf.json_format import MessageToDict

from proctor.activities.admission.payloads import AdmitInput
from proctor.activities.attempts.scrubbing import Scrubber
from proctor.activities.campaign.activities import CampaignActivities, CampaignArchiving
from proctor.activities.campaign.assessments import AssessmentRuns
from proctor.activities.judging.payloads import JudgeInput
from proctor.activities.plan import Plan
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.protocol.runs import RunConfig, RunResults
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from purple_sdk.protocol.provenance import ModelUse
from purple_sdk.protocol.request import parse_request
from purple_sdk.protocol.results import CriterionResult
from tests.a2a_gateway.callers import data_part, message, send, state_name
from tests.workflows.scripted import ScriptedActivities, plan


class ScriptedRuns(AssessmentRuns):
    """Knows every scenario whose name doesn't begin with ``no``."""

    async def _load(self, scenario_id: str, config: RunConfig) -> tuple[str, list[str]]:
        return f"hash of {scenario_id}", []


class ScriptedRun(ScriptedActivities):
    """The activities of assessments are scripted, those of campaigns are not.

    An assessment is of the scenario, seed and participant that its request names; its score follows from the seed.
    """

    def __init__(self, config: GreenAgentConfig) -> None:
        super().__init__(BlobStore(config.storage_url))
        self._config = config
        self.plans: dict[str, Plan] = {}
        self.played: Counter[tuple[str, str, int]] = Counter()
        self.replacements["admit"] = self._admit
        self.replacements["judge_criterion"] = self.judged
        self.price: Callable[[str, int], float | None] = lambda _agent, _seed: 0.5

    def all(self) -> list[Any]:
        config, store = self._config, BlobStore(self._config.storage_url)
        runs = ScriptedRuns(config, store, Scenarios(config, store))
        campaigns = CampaignActivities(store, [runs])
        return [
            *super().all(),
            campaigns.plan_campaign,
            campaigns.read_cells,
            campaigns.join_cell,
            campaigns.keep_outcomes,
            campaigns.sum_up_campaign,
            runs.keep_played,
            runs.join_assessment,
            CampaignArchiving(config, store, lambda _: Scrubber(())).archive_campaign,
        ]

    async def _admit(self, given: AdmitInput) -> Plan:
        request = parse_request(given.request)
        role, url = request.require_participant()
        seed = request.config.seed or 0
        self.played[role, request.config.scenario_id, seed] += 1
        changes = {"scenario_id": request.config.scenario_id, "seed": seed, "participant": role, "participant_url": url}
        made = plan(given.task_id, "").model_copy(update={**changes, "max_turns": 1, "models_task_queue": "scripted"})
        self.plans[given.task_id] = made
        return made

    async def judged(self, given: JudgeInput) -> CriterionResult:
        made = given.plan
        points = 5 if made.participant == "good" else made.seed % 3
        price = self.price(made.participant, made.seed)
        use = ModelUse(model="m", calls=1, input_tokens=90, output_tokens=10, cost=price)
        return CriterionResult(
            criterion_id="c1", name="All", dimension="accuracy", explanation="", score=points, max_score=5, usage=[use]
        )


def request(*agents: str, **config: Any) -> dict[str, Any]:
    """For these agents; without any for ``good`` and ``poor``."""
    participants = {name: f"http://{name}.example" for name in agents or ("good", "poor")}
    return {"participants": participants, "config": {"scenarios": ["day", "night"], "offline": True, **config}}


class Ended:
    """A campaign's task, as somebody sees it after the end."""

    def __init__(self, task: Any) -> None:
        self.id = task.id
        self.state = state_name(task.status.state)
        self.sentence = " ".join(part.text for part in task.status.message.parts)
        raw = [part.raw for artifact in task.artifacts for part in artifact.parts if part.HasField("raw")]
        self._results = RunResults.model_validate_json(raw[0]) if raw else None
        parts = [part for said in task.history for part in said.parts]
        self.updates = [MessageToDict(part.data) for part in parts if part.HasField("data")]

    @property
    def results(self) -> RunResults:
        assert self._results is not None
        return self._results


async def play(caller: Caller, asked: dict[str, Any]) -> Ended:
    task = await send(caller, message(data_part(asked)))
    return Ended(await caller.get_task(GetTaskRequest(id=task.id, history_length=10_000)))
