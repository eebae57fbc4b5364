"""Campaigns of assessments: how they are planned and summed up."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from itertools import combinations, product

from pydantic import JsonValue
from temporalio import activity
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError, CancelledError

from proctor.activities.admission.activities import require_models
from proctor.activities.admission.origins import Origins
from proctor.activities.archive.payloads import as_lines
from proctor.activities.attempts import failures
from proctor.activities.campaign import plan as plans
from proctor.activities.campaign.activities import CELLS, await_result, keep_cells, taken_over
from proctor.activities.plan import Model
from proctor.activities.scenario_code.manager import EvaluatorLoadError, ScenarioNotFoundError, ScenarioValidationError
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.protocol.archived_runs import run_of_assessment, scenario_title
from proctor.protocol.runs import (
    MOST_CELLS,
    RunCell,
    RunConfig,
    RunRequest,
    RunResults,
    is_run_request,
    parse_run_request,
    unknown_run_settings,
)
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobRef, BlobStore
from purple_sdk.processes.together import do_all
from purple_sdk.protocol.clocks import conditions_title
from purple_sdk.protocol.instances import USUAL_DIFFICULTY, instance_title
from purple_sdk.protocol.provenance import Drafts, ModelUse, add_costs, count_tokens
from purple_sdk.protocol.request import AssessmentConfig, BadRequestError, Raw
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.protocol.statistics import PlannedCell, Run

CELL_WORKFLOW = "AssessmentCell"
_READ_AT_ONCE = 32
_OF_PLAYED = ("agent", "difficulty", "seed", "repeat", "status", "failed_by_participant")
_OF_CELL = ("scenario_id", "from_turn", "task_id", "failure_kind", "failure")


class PlayedAssessment(Model):
    """One assessment of a campaign and its outcome. ``results`` is None if the assessment never had results."""

    agent: str
    scenario_id: str
    difficulty: int | None = None
    from_turn: int | None = None
    seed: int
    repeat: int
    task_id: str
    results: AssessmentResults | None = None
    failure_kind: str | None = None
    failure: str | None = None
    canceled: bool = False

    @property
    def failed_by_participant(self) -> bool:
        return self.failure_kind in failures.BY_PARTICIPANT

    @property
    def status(self) -> str:
        if self.canceled:
            return "canceled"
        return self.results.status if self.results else "failed"

    @property
    def uses(self) -> list[ModelUse]:
        provenance = self.results.provenance if self.results else None
        return [*provenance.judges, *provenance.characters] if provenance else []


class AssessmentRuns:
    name = "assessments"

    def __init__(self, config: GreenAgentConfig, store: BlobStore, scenarios: Scenarios) -> None:
        self._config = config
        self._store = store
        self._scenarios = scenarios
        self._origins = Origins(config, store, scenarios)

    def accepts(self, request: Raw) -> bool:
        return is_run_request(request)

    async def plan(self, campaign_id: str, request: Raw, owner: str = "") -> plans.CampaignPlan:
        """Check agents and scenarios, and order the assessments. Each is played once before any is repeated."""
        if self._config.card_subject == "terminal-bench":
            raise BadRequestError("This evaluator runs terminal tasks only: write config.benchmark and config.dataset.")
        asked = parse_run_request(request)
        warnings = [f"config.{name} is not a setting of this evaluator" for name in unknown_run_settings(request)]
        roles: dict[str, list[str]] = {}
        if asked.config.fork_of:
            asked, hashes, roles = await self._forks(asked, asked.config.fork_of)
        else:
            played = {name: await self._load(name, asked.config) for name in asked.config.scenarios}
            hashes = {name: sha256_of for name, (sha256_of, _) in played.items()}
            roles = {name: in_it for name, (_, in_it) in played.items()}
        config = asked.config
        cells = self._cells(asked, hashes, self._find_families(config), roles)
        taken = None
        if config.grows:
            taken, cells, notices = await taken_over(
                self._store, config.grows, cells, owner, "a campaign of assessments"
            )
            warnings += notices
        limits: dict[plans.LaneKind, int | None] = {
            "participant": config.at_once_per_participant,
            "model": config.at_once_per_model,
        }
        shared: dict[str, JsonValue] = {
            "agents": dict(asked.participants),
            "scenario_hashes": dict(hashes),
            "config": config.model_dump(mode="json"),
        }
        if sizes := {name: size for name in config.scenarios if (size := self._scenarios.group_size(name)) > 1}:
            shared["group_sizes"] = dict(sizes)
        return plans.CampaignPlan(
            campaign_id=campaign_id,
            kind=self.name,
            title=_title(config.scenarios),
            participant=", ".join(asked.participants)[:500],
            participant_url=next(iter(asked.participants.values())) if len(asked.participants) == 1 else "",
            cells=await keep_cells(self._store, cells),
            groups=plans.count_groups(cells),
            at_once=config.at_once,
            lane_limits={kind: limit for kind, limit in limits.items() if limit is not None},
            tries=config.tries,
            shared=shared,
            verbose_updates=config.verbose_updates and self._config.verbose_updates,
            warnings=warnings,
            max_cost=config.max_cost,
            max_tokens=config.max_tokens,
            max_seconds=None if config.max_hours is None else config.max_hours * 3600,
            taken_over=taken,
            proctor_version=version("proctor"),
        )

    @activity.defn
    async def keep_played(self, payload: PlayedAssessment) -> BlobRef:
        return await self._store.put(payload.model_dump_json().encode())

    @activity.defn
    async def join_assessment(self, task_id: str) -> AssessmentResults:
        """Wait for an assessment that is already running. Fails as the assessment does."""
        workflow = activity.client().get_workflow_handle(task_id, result_type=AssessmentResults)
        try:
            return await await_result(workflow)
        except WorkflowFailureError as error:
            cause = error.cause
            if isinstance(cause, ApplicationError):
                raise ApplicationError(cause.message, *cause.details, type=cause.type, non_retryable=True) from None
            if isinstance(cause, CancelledError):
                raise failures.UNKNOWN.final("The assessment was cancelled.") from None
            raise failures.UNKNOWN.final(f"The assessment ended without a result: {cause}") from None

    async def sum_up(self, payload: plans.SumUpInput, ended: Sequence[plans.EndedCell]) -> plans.Summed:
        slots = asyncio.Semaphore(_READ_AT_ONCE)
        sizes = payload.plan.shared.get("group_sizes") or {}
        assert isinstance(sizes, dict)
        taken = set(payload.plan.taken_over.cell_ids) if payload.plan.taken_over else set()

        warnings: dict[str, None] = {}
        drafts = Drafts()

        async def read(each: plans.EndedCell) -> tuple[RunCell, Run] | None:
            if each.outcome.result is None:
                return None
            async with slots:
                played = PlayedAssessment.model_validate_json(await self._store.get(each.outcome.result))
            nonlocal drafts
            provenance = played.results.provenance if played.results else None
            drafts = drafts.add(provenance.drafts or Drafts()) if provenance else drafts
            warnings.update(dict.fromkeys(played.results.judge_warnings if played.results else []))
            run = _make_run(played).model_copy(update={"group_size": sizes.get(played.scenario_id)})
            return _make_cell_row(played, each, each.cell_id in taken), run

        pairs = [pair for pair in await do_all(*map(read, ended)) if pair is not None]
        pairs.sort(key=_order)
        cells = CELLS.validate_json(await self._store.get(payload.plan.cells.cells))
        sum_up = partial(summed_up, payload, pairs, sorted(warnings), drafts, _planned(cells))
        results = await asyncio.to_thread(sum_up)
        played, mean = len(results.cells), mean_of_agents(results)
        sentence = f"{played} of {played + results.missing} assessments were played"
        sentence += f"; mean {mean:.1f}% of the judged points." if mean is not None else "."
        if results.stopped:
            sentence += f" {results.stopped}"
        return plans.Summed(
            results=await self._store.put(results.model_dump_json().encode()),
            sentence=sentence,
            score=None if mean is None else mean / 100,
            runs=await self._store.put(as_lines(run for _, run in pairs)),
        )

    async def _forks(self, asked: RunRequest, fork_of: str) -> tuple[RunRequest, dict[str, str], dict[str, list[str]]]:
        """Complete a request for forks from the original. Return it with the hash of the original's scenario, and its
        roles if it has several participants.
        """
        config, origin = asked.config, await self._origins.find(fork_of)
        scenario_id, most = origin.config.scenario_id, config.max_turns or origin.config.max_turns or origin.last
        if config.scenarios not in ([], [scenario_id]):
            raise BadRequestError(
                f"config.scenarios is there, and {origin.task_id} was played on {scenario_id}: leave it out, forks "
                "play their original's scenario"
            )
        if config.difficulties:
            raise BadRequestError("config.difficulties is there: leave it out, forks play their original's day")
        every = list(range(1, min(origin.last, most) + 1))
        turns = origin.require_turns(
            config.from_turns if isinstance(config.from_turns, list) else every, "config.from_turns"
        )
        origin.require_turns_left(max(turns), most)
        await self._origins.require_checkpoint(origin, min(turns))
        known = origin.config.model_dump(exclude_none=True, include=set(RunConfig.model_fields))
        chosen = config.model_dump(exclude_unset=True, exclude_none=True)
        fixed = {"fork_of": origin.task_id, "from_turns": turns, "scenarios": [scenario_id]}
        participants = asked.participants
        if participants.keys() <= origin.participants.keys():
            participants = {**origin.participants, **participants}
        filled = RunRequest.model_validate(
            {
                "participants": participants,
                "config": {"seeds": [origin.config.seed], **known, **chosen, **fixed},
            }
        )
        roles = list(origin.participants) if len(origin.parts) > 1 else []
        return filled, {scenario_id: origin.package.sha256}, {scenario_id: roles}

    def _find_families(self, config: RunConfig) -> frozenset[str]:
        """Return the ids of those scenarios that are families. Only a family's days have difficulties."""
        if config.fork_of:
            return frozenset()
        families = frozenset(filter(self._scenarios.is_family, config.scenarios))
        if config.difficulties and not families:
            raise BadRequestError(
                "config.difficulties is there, and none of config.scenarios is a family: leave it out, fixed scenarios "
                "have no difficulty"
            )
        return families

    async def _load(self, scenario_id: str, config: RunConfig) -> tuple[str, list[str]]:
        """Return the hash of a scenario's files, and its roles if it has several participants.

        For a family, make the first day to test its code, and return the hash of the code.
        """
        difficulty = config.difficulties[0] if config.difficulties else None
        try:
            is_family = self._scenarios.is_family(scenario_id)
            loaded = await self._scenarios.load(scenario_id, difficulty if is_family else None, config.seeds[0])
        except (ScenarioNotFoundError, ScenarioValidationError, EvaluatorLoadError) as error:
            raise BadRequestError(str(error)) from None
        if not config.offline:
            require_models(loaded.package, self._config, self._judges(config))
        roles = list(loaded.package.config.roles)
        if is_family:
            return await self._scenarios.hash_of_family(scenario_id), roles
        return (await self._store.put(loaded.files)).sha256, roles

    def _judges(self, config: RunConfig) -> list[str]:
        return config.judges or [self._config.evaluation_model]

    def _cells(
        self, asked: RunRequest, hashes: dict[str, str], families: frozenset[str], roles: Mapping[str, Sequence[str]]
    ) -> list[plans.Cell]:
        config = asked.config
        casts = {name: _casts(asked.participants, roles.get(name, ())) for name in config.scenarios}
        models = [] if config.offline else [*self._judges(config), self._config.response_generator_model]
        turns = config.from_turns if isinstance(config.from_turns, list) else [None]
        days = [
            (scenario_id, difficulty)
            for scenario_id in config.scenarios
            for difficulty in (config.difficulties or [USUAL_DIFFICULTY] if scenario_id in families else [None])
        ]
        everything = [
            (*combination, cast)
            for combination in product(range(config.repeats), config.seeds, days, turns)
            for cast in casts[combination[2][0]]
        ]
        if len(everything) > MOST_CELLS:
            raise BadRequestError(
                f"this would be {len(everything):,} assessments, as each agent plays each role with each other one, "
                f"and at most {MOST_CELLS:,} are played: ask for fewer"
            )
        return [
            _cell(
                config.of_one(scenario_id, seed, turn, difficulty),
                repeat,
                config.repeats,
                agent,
                participants,
                hashes[scenario_id],
                models,
            )
            for number, (repeat, seed, (scenario_id, difficulty), turn, (agent, participants)) in enumerate(everything)
            if number % config.num_shards == config.shard_index
        ]


def _casts(agents: Mapping[str, str], roles: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """Return the casts of an assessment: the name and the participants of each cast.

    In a scenario with roles each agent plays each role with each other agent, and with itself. The cast ``a + b`` has
    ``a`` in the first role and ``b`` in the second. Agents that are named like the roles play only those roles.
    """
    if not roles:
        return [(name, {name: url}) for name, url in agents.items()]
    if set(agents) == set(roles):
        return [(" + ".join(roles), {role: agents[role] for role in roles})]
    return [
        (" + ".join(names), {role: agents[name] for role, name in zip(roles, names, strict=True)})
        for names in product(agents, repeat=len(roles))
    ]


def _title(scenarios: Sequence[str]) -> str:
    more = f" and {len(scenarios) - 3} more" if len(scenarios) > 3 else ""
    return ", ".join(scenarios[:3]) + more


def _cell(
    chosen: AssessmentConfig,
    repeat: int,
    repeats: int,
    agent: str,
    participants: Mapping[str, str],
    scenario_hash: str,
    models: Sequence[str],
) -> plans.Cell:
    """Return one assessment as a cell. The cell's id is made from everything that a result depends on, so campaigns can
    share the result.

    ``participants`` are the addresses in the request, by the agent's name or by the scenario's roles. ``models`` are
    the judges, and the model of the characters.
    """
    scenario_id, seed = chosen.scenario_id, chosen.seed
    unsaid = {name for name in ("difficulty", "clock", "noise") if getattr(chosen, name) is None}
    settings = chosen.model_dump_json(exclude=unsaid if chosen.fork_of else {"fork_of", "from_turn", *unsaid})
    roles = [] if len(participants) == 1 else list(participants)
    urls = list(participants.values())
    digest = sha256("\n".join([*roles, *urls, scenario_hash, settings, *models]).encode()).hexdigest()[:12]
    where = f"{scenario_id} from turn {chosen.from_turn}" if chosen.from_turn else scenario_id
    day = instance_title(where, chosen.difficulty, None) + conditions_title(chosen.clock, chosen.noise)
    name = scenario_id + (f"-{chosen.difficulty}" if chosen.difficulty else "")
    return plans.Cell(
        cell_id=".".join([_as_id(agent), _as_id(name), str(seed), str(repeat), digest]),
        label=f"{agent} · {day} · seed {seed}" + (f" · repeat {repeat + 1}" if repeats > 1 else ""),
        group=f"{agent} · {where}",
        workflow=CELL_WORKFLOW,
        lanes=[
            *(plans.Lane(kind="participant", name=url) for url in dict.fromkeys(urls)),
            *(plans.Lane(kind="model", name=model) for model in dict.fromkeys(models)),
        ],
        given={
            "agent": agent,
            "participants": dict(participants),
            "scenario_id": scenario_id,
            "difficulty": chosen.difficulty,
            "from_turn": chosen.from_turn,
            "seed": seed,
            "repeat": repeat,
            "assessment": chosen.model_dump(mode="json", exclude_none=True),
        },
    )


def _as_id(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)[:60]


def _make_cell_row(played: PlayedAssessment, ended: plans.EndedCell, is_taken_over: bool) -> RunCell:
    results = played.results
    overall = results.scores.overall if results else None
    is_judged = overall is not None and overall.max_score > 0
    return RunCell.model_validate(
        {
            **{name: getattr(played, name) for name in (*_OF_PLAYED, *_OF_CELL)},
            "scenario_hash": results.provenance.scenario_hash if results and results.provenance else None,
            "score": overall.score if overall and is_judged else None,
            "max_score": overall.max_score if overall and is_judged else None,
            "doubtful_points": overall.doubtful_points if overall else 0,
            **({"unread_messages": results.unread_messages} if results else {}),
            "total_points": results.total_points if results else None,
            "plays": ended.plays,
            "taken_over": is_taken_over,
            "tokens": count_tokens(played.uses),
            "cost": add_costs(played.uses),
            "seconds": ended.outcome.seconds,
        }
    )


def _make_run(played: PlayedAssessment) -> Run:
    about = {name: getattr(played, name) for name in _OF_PLAYED}
    scenario = scenario_title(played.scenario_id, played.from_turn)
    return run_of_assessment(
        played.results, Run.model_validate({**about, "run_id": played.task_id, "scenario": scenario})
    )


def _planned(cells: Iterable[plans.Cell]) -> dict[str, list[PlannedCell]]:
    """Return the cells of each agent."""
    planned: dict[str, list[PlannedCell]] = {}
    for planned_cell in cells:
        cell = RunCell.model_validate({**planned_cell.given, "task_id": planned_cell.cell_id, "status": "canceled"})
        planned.setdefault(cell.agent, []).append(
            PlannedCell(
                scenario=scenario_title(cell.scenario_id, cell.from_turn),
                difficulty=cell.difficulty,
                seed=cell.seed,
                repeat=cell.repeat,
            )
        )
    return planned


def mean_of_agents(results: RunResults) -> float | None:
    """Return the mean of the agents' means in percent; None if nothing was judged."""
    means = [
        row.percent.mean for row in results.summaries if row.of == "overall" and row.scenario is None and row.percent
    ]
    return sum(means) / len(means) if means else None


def summed_up(
    payload: plans.SumUpInput,
    pairs: Sequence[tuple[RunCell, Run]],
    judge_warnings: Sequence[str],
    drafts: Drafts,
    planned: Mapping[str, Sequence[PlannedCell]],
) -> RunResults:
    """Compute the result of a campaign from its assessments.

    Args:
        payload: the campaign's plan, and how it ended.
        pairs: each assessment that has a result: its row in the result, and its input for the statistics.
        judge_warnings: sentences about judges that aren't calibrated.
        drafts: the sum of the assessments' drafts.
        planned: the cells of each agent.
    """
    from proctor.statistics import compared, forks_compared, items, summaries

    plan = payload.plan
    config = RunConfig.model_validate(plan.shared["config"])
    runs = [run for _, run in pairs]
    agents = dict.fromkeys(run.agent for run in runs)
    shared_agents, hashes = plan.shared["agents"], plan.shared["scenario_hashes"]
    assert isinstance(shared_agents, dict)
    assert isinstance(hashes, dict)
    return RunResults(
        campaign_id=plan.campaign_id,
        status=payload.status,
        failure=payload.failure,
        stopped=payload.stopped,
        agents={name: str(url) for name, url in shared_agents.items()},
        scenario_hashes={name: str(digest) for name, digest in hashes.items()},
        cells=[cell for cell, _ in pairs],
        missing=max(payload.tally.total - len(pairs), 0),
        summaries=summaries(runs, threshold=config.passing_percent, planned=planned),
        comparisons=[compared(one, other, runs) for one, other in combinations(agents, 2)],
        items=items(runs),
        judge_warnings=list(judge_warnings),
        drafts=drafts if drafts.written else None,
        forks=forks_compared(_list_forks(pairs)),
        tokens=payload.tally.tokens,
        cost=payload.tally.cost,
        started_at=payload.started_at,
        ended_at=payload.ended_at,
        duration_seconds=(payload.ended_at - payload.started_at).total_seconds(),
        config=config.model_dump(mode="json"),
        proctor_version=plan.proctor_version,
    )


def _order(pair: tuple[RunCell, Run]) -> tuple[int, int, str, int, int, str]:
    cell = pair[0]
    return cell.repeat, cell.seed, cell.scenario_id, cell.difficulty or 0, cell.from_turn or 0, cell.agent


def _list_forks(pairs: Sequence[tuple[RunCell, Run]]) -> Iterator[tuple[str, int, float]]:
    for cell, run in pairs:
        if cell.from_turn and run.counted_percent is not None:
            yield cell.agent, cell.from_turn, run.counted_percent
