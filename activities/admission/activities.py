"""The check of a request, and all decisions before its assessment starts."""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from importlib.metadata import version

from temporalio import activity
from temporalio.exceptions import ApplicationError

from proctor.activities.admission.origins import Origins
from proctor.activities.admission.payloads import AdmitInput, ForkSetUp, Inherited
from proctor.activities.attempts import failures
from proctor.activities.judging.judge import points_left_out
from proctor.activities.models.factory import ModelSettingsError, missing_setting
from proctor.activities.plan import CriterionBrief, ForkPlan, Plan
from proctor.activities.scenario_code.manager import (
    EvaluatorLoadError,
    ScenarioNotFoundError,
    ScenarioPackage,
    ScenarioValidationError,
)
from proctor.activities.scenario_code.scenarios import Loaded, Scenarios
from proctor.activities.simulation.hosts import Step
from proctor.activities.simulation.lifecycle import count_items
from proctor.activities.simulation.payloads import Prepared
from proctor.activities.simulation.shown import Shown
from proctor.activities.simulation.simulations import Simulations
from proctor.protocol.roles import name_of_role
from proctor.protocol.scenario import ScenarioConfig
from proctor.protocol.task_ids import unique_part
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from purple_sdk.protocol.clocks import STANDING
from purple_sdk.protocol.durations import parse_iso8601_duration
from purple_sdk.protocol.forks import ForkedFrom
from purple_sdk.protocol.request import AssessmentRequest, BadRequestError, parse_request, unknown_settings

log = logging.getLogger(__name__)


class AdmissionActivities:
    def __init__(self, config: GreenAgentConfig, store: BlobStore, scenarios: Scenarios) -> None:
        self._config = config
        self._store = store
        self._scenarios = scenarios

    @activity.defn
    async def admit(self, payload: AdmitInput) -> Plan:
        """Check a request and fix its scenario. A bad request fails as ``Rejected`` with a sentence for its sender."""
        try:
            return await self._admit(payload)
        except ApplicationError as error:
            log.info("%s: %s: %s", payload.task_id, (error.type or "failed").lower(), error.message)
            raise

    async def _admit(self, payload: AdmitInput) -> Plan:
        if self._config.card_subject == "terminal-bench":
            raise failures.REJECTED.final(
                "This evaluator runs terminal tasks only: write config.benchmark terminal-bench and config.dataset, or "
                "ask an evaluator that was started with `proctor up`."
            )
        try:
            request = parse_request(payload.request)
            config = request.config
            loaded = await self._scenarios.load(
                config.scenario_id, config.difficulty, choose_seed(request, payload.task_id)
            )
        except (BadRequestError, ScenarioNotFoundError, ScenarioValidationError, EvaluatorLoadError) as error:
            raise failures.REJECTED.final(str(error)) from None
        return await plan_assessment(
            self._config, self._store, payload.task_id, request, loaded, unknown_settings(payload.request)
        )


async def plan_assessment(
    settings: GreenAgentConfig,
    store: BlobStore,
    task_id: str,
    request: AssessmentRequest,
    loaded: Loaded,
    unknown: Sequence[str],
) -> Plan:
    """Make the plan of an assessment.

    Raises:
        ApplicationError: ``Rejected``: the participants don't fit the scenario, a model is missing, or the simulator
            has no such clock or noise.
    """
    package = loaded.package
    who = _plan_participants(request, package.config)
    _require_conditions(request, package.config, settings)
    if not request.config.offline:
        require_models(package, settings, request.config.judges or [settings.evaluation_model])
    scenario, config = package.config, request.config
    plan = Plan(
        assessment_id=task_id,
        simulation_id=unique_part(task_id),
        scenario=await store.put(scenario.model_dump_json().encode()),
        initial_state=package.large_state or await store.put(package.initial_state),
        is_state_in_package=package.large_state is not None,
        scenario_id=scenario.scenario_id,
        scenario_name=loaded.instance.title if loaded.instance else scenario.name,
        **who,
        instance=loaded.instance,
        seed=choose_seed(request, task_id),
        offline=config.offline,
        clock=config.clock or STANDING,
        noise=max(config.noise or 0, scenario.noise),
        verbose_updates=config.verbose_updates and settings.verbose_updates,
        max_turns=config.max_turns or settings.default_max_turns,
        turn_timeout=config.turn_timeout or settings.default_turn_timeout,
        turn_tries=config.turn_tries or settings.default_turn_tries,
        judge_timeout=settings.judge_timeout,
        judges=[] if config.offline else config.judges or [settings.evaluation_model],
        votes=config.votes,
        assessment_timeout=parse_iso8601_duration(settings.assessment_timeout).total_seconds(),
        models_task_queue=settings.models_task_queue,
        start_time=scenario.start_time,
        end_time=scenario.end_time,
        default_time_step=scenario.default_time_step,
        nights=list(scenario.nights),
        expected_turns=min(scenario.expected_turns, config.max_turns or settings.default_max_turns),
        scenario_turns=scenario.expected_turns,
        character_count=len(scenario.characters),
        criteria=_briefs(scenario),
        warnings=[
            *package.warnings,
            *_left_out(scenario, has_model=not config.offline),
            *(f"config.{name} is not a setting of this evaluator" for name in unknown),
        ],
        package=await store.put(loaded.files),
        scenario_version=scenario.version,
        reader=scenario.reader,
        canary=scenario.canary,
        proctor_version=version("proctor"),
    )
    return await _with_roles(plan, store, request, package) if scenario.roles else plan


def _plan_participants(request: AssessmentRequest, scenario: ScenarioConfig) -> dict[str, str]:
    """Return the plan's ``participant`` and ``participant_url``. Several participants are joined with commas. Fails as
    ``Rejected`` if the participants don't fit the scenario's roles.
    """
    try:
        if scenario.roles:
            agents = request.require_roles(scenario.roles)
            return {"participant": ", ".join(agents), "participant_url": ", ".join(dict.fromkeys(agents.values()))}
        role, url = request.require_participant()
    except BadRequestError as error:
        raise failures.REJECTED.final(str(error)) from None
    return {"participant": role, "participant_url": url}


async def _with_roles(plan: Plan, store: BlobStore, request: AssessmentRequest, package: ScenarioPackage) -> Plan:
    roles = []
    for name, role in package.config.roles.items():
        max_turns = min(plan.max_turns, role.max_turns or plan.max_turns)
        of_role = {
            "assessment_id": name_of_role(plan.assessment_id, name),
            "simulation_id": name_of_role(plan.simulation_id, name),
            "scenario": await store.put(role.model_dump_json().encode()),
            "initial_state": await store.put(package.role_states[name]),
            "is_state_in_package": False,
            "participant": name,
            "participant_url": request.participants[name],
            "max_turns": max_turns,
            "expected_turns": min(role.expected_turns, max_turns),
            "character_count": len(role.characters),
            "criteria": _briefs(role),
            "warnings": [],
        }
        roles.append(plan.model_copy(update=of_role))
    return plan.model_copy(update={"roles": roles, "criteria": [c for role in roles for c in role.criteria]})


def _briefs(scenario: ScenarioConfig) -> list[CriterionBrief]:
    return [
        CriterionBrief(
            criterion_id=criterion.criterion_id,
            name=criterion.name,
            dimension=criterion.dimension,
            max_score=criterion.max_score,
            by_model=criterion.needs_model,
            items=len(criterion.rubric or ()) or 1,
        )
        for criterion in scenario.criteria
    ]


def _left_out(scenario: ScenarioConfig, has_model: bool) -> list[str]:
    """Return a warning of the points that stay unscored because no model judges. With equal settings, these points are
    the same for all participants.
    """
    criteria = scenario.all_criteria
    left_out = {c.criterion_id: points for c in criteria if (points := points_left_out(c)) and not has_model}
    if not left_out:
        return []
    total = sum(criterion.max_score for criterion in criteria)
    named = ", ".join(f"{criterion_id} ({points})" for criterion_id, points in left_out.items())
    share = f"{sum(left_out.values())} of {total} points"
    return [f"{share} will stay unscored, since no model judges (config.offline): {named}"]


def _require_conditions(request: AssessmentRequest, scenario: ScenarioConfig, settings: GreenAgentConfig) -> None:
    """Reject a running clock or noise unless the simulator is embedded: no other simulator supports them."""
    if not settings.ues_command:
        return
    problem, remedy = "", "leave it out"
    if request.config.clock not in (None, STANDING):
        problem = f"config.clock is {request.config.clock}"
    elif request.config.noise:
        problem = f"config.noise is {request.config.noise}"
    elif scenario.noise:
        problem, remedy = f"{scenario.scenario_id} has noise {scenario.noise}", "choose another scenario"
    if problem:
        raise failures.REJECTED.final(
            f"{problem}, and only the embedded simulator can do that: {remedy}, or unset AGENTBEATS_GREEN_UES_COMMAND "
            "for the worker."
        )


def choose_seed(request: AssessmentRequest, task_id: str) -> int:
    """Return the seed of an assessment. If the request names no seed, derive one from the id."""
    if request.config.seed is not None:
        return request.config.seed
    return int.from_bytes(hashlib.sha256(task_id.encode()).digest()[:4], "big")


def require_models(package: ScenarioPackage, settings: GreenAgentConfig, judges: list[str]) -> None:
    """Reject a scenario that needs a missing model, unless the request chooses to play without one."""
    scenario = package.config
    needs = []
    if any(criterion.needs_model or criterion.needs_model_for for criterion in scenario.all_criteria):
        needs += [("judge", judge, settings.evaluation_base_url) for judge in judges]
    if any(c.email or c.phone for key, c in scenario.characters.items() if key != scenario.user_character):
        needs.append(("characters", settings.response_generator_model, settings.response_generator_base_url))
    for who, model, base_url in needs:
        try:
            setting = missing_setting(model, base_url)
        except ModelSettingsError as error:
            raise failures.REJECTED.final(f"The model for the {who}: {error}.") from None
        if setting:
            raise failures.REJECTED.final(
                f"Scenario {scenario.scenario_id} needs the model {model} for its {who}, but {setting} is not set: "
                "set it for the worker, or choose to play without a model with config.offline: true."
            )


class ForkActivities:
    def __init__(
        self, config: GreenAgentConfig, store: BlobStore, scenarios: Scenarios, simulations: Simulations
    ) -> None:
        self._config = config
        self._store = store
        self._simulations = simulations
        self._origins = Origins(config, store, scenarios)

    @activity.defn
    async def admit_fork(self, payload: AdmitInput) -> Plan:
        """Check a request for a fork and make its plan. A bad request fails as ``Rejected`` with a sentence for its
        sender.
        """
        try:
            asked = parse_request(payload.request)
            origin = await self._origins.find(asked.config.fork_of or "")
            request = origin.merged(asked)
            turn = origin.first_turn(asked.config)
            await self._origins.require_checkpoint(origin, turn)
            loaded = await self._origins.load_package(origin)
        except BadRequestError as error:
            raise failures.REJECTED.final(str(error)) from None
        plan = await plan_assessment(
            self._config, self._store, payload.task_id, request, loaded, unknown_settings(payload.request)
        )
        forks = [
            ForkPlan(
                origin=ForkedFrom(task_id=part.task_id, turn=turn, forked_from=part.forked_from),
                inherited=await self._store.put(part.played.before(turn).model_dump_json().encode()),
            )
            for part in origin.parts
        ]
        if not plan.roles:
            return plan.model_copy(update={"fork": forks[0]})
        roles = [role.model_copy(update={"fork": fork}) for role, fork in zip(plan.roles, forks, strict=True)]
        return plan.model_copy(update={"roles": roles, "fork": ForkPlan(origin=origin.at(turn))})

    @activity.defn
    async def set_up_fork(self, plan: Plan) -> ForkSetUp:
        """Make the fork's simulation from the original's checkpoint, with new keys."""
        assert plan.fork is not None
        assert plan.fork.inherited is not None
        store, simulator = self._store, await self._simulations.choose_server()
        simulations = self._simulations.at(simulator)
        inherited = Inherited.model_validate_json(await store.get(plan.fork.inherited))
        first, last = inherited.turns[0], inherited.turns[-1]
        stepped, _ = await simulations.step(plan.simulation_id, first.checkpoint, Step(shows_all=True))
        simulation = await simulations.adopt(plan.simulation_id, last.checkpoint)
        now = await simulations.keep(simulation, everything=True)
        shown = await simulations.show(simulation, plan.simulation_id, now)
        summary = await asyncio.to_thread(count_items, shown, last.reached)
        initial_state = await store.put(Shown.of(store, stepped).written())

        beginning = Prepared(
            checkpoint=first.checkpoint,
            initial_state=initial_state,
            current_time=first.reached,
            summary=summary,
            simulator=simulator,
        )
        return ForkSetUp(
            beginning=beginning,
            now=beginning.model_copy(update={"checkpoint": now, "current_time": last.reached}),
            inherited=inherited,
        )
