"""The conversion of archived entries and results to ``Run`` records, the input of all statistics."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from types import MappingProxyType

from proctor.protocol.archive import ArchiveEntry, EntrySummary
from proctor.protocol.campaigns import CampaignResults
from proctor.protocol.runs import RunCell, RunResults
from purple_sdk.protocol.clocks import conditions_title
from purple_sdk.protocol.provenance import add_costs, count_tokens
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.protocol.statistics import Points, Run
from purple_sdk.protocol.terminal import TrialResult

NOTHING_KNOWN: Mapping[str, Run] = MappingProxyType({})
NO_NAMES: Mapping[str, str] = MappingProxyType({})


def run_of_assessment(results: AssessmentResults | None, about: Run) -> Run:
    """Return a run with the points, tokens and costs of its results; without results, return it unchanged."""
    if results is None:
        return about
    used = results.provenance
    uses = [*used.judges, *used.characters] if used else []
    scores = results.scores
    return about.model_copy(
        update={
            "overall": Points(score=scores.overall.score, max_score=scores.overall.max_score),
            "dimensions": {
                name: Points(score=part.score, max_score=part.max_score) for name, part in scores.dimensions.items()
            },
            "criteria": {
                criterion.criterion_id: Points(score=criterion.score, max_score=criterion.max_score)
                for criterion in results.criteria_results
            },
            "tokens": count_tokens(uses),
            "cost": add_costs(uses),
        }
    )


def run_of_trial(trial: TrialResult, participant: str = "") -> Run:
    """Return a trial as a run, with its reward as the score.

    Args:
        participant: the agent, for trials that don't name it.
    """
    is_judged = trial.is_resolved is not None
    reward = trial.reward if trial.reward is not None else float(bool(trial.is_resolved))
    return Run(
        run_id=trial.trial_id,
        agent=trial.participant or participant,
        scenario=trial.task_id,
        repeat=trial.attempt - 1,
        status="completed" if is_judged else "failed",
        failed_by_participant=trial.blame == "participant",
        is_doubtful=bool(trial.doubts),
        overall=Points(score=reward, max_score=1) if is_judged else None,
        tokens=count_tokens(trial.usage),
        cost=add_costs(trial.usage),
    )


def scenario_title(scenario_id: str, from_turn: int | None, clock: str | None = None, noise: int | None = None) -> str:
    """Return a scenario's title in statistics: its id, the turn from which forks started, and unusual conditions."""
    forked = f" from turn {from_turn}" if from_turn else ""
    return scenario_id + forked + conditions_title(clock, noise)


def runs_of_campaign(results: CampaignResults, known: Sequence[Run]) -> list[Run]:
    """Return the runs of an ended campaign, in the order of its cells or trials.

    Args:
        known: the runs in its entry. Entries of earlier versions have none; their runs have no criteria.
    """
    by_id = {run.run_id: run for run in known}
    if isinstance(results, RunResults):
        return [by_id.get(cell.task_id) or _run_of_cell(cell) for cell in results.cells]
    return [by_id.get(trial.trial_id) or run_of_trial(trial, results.participant) for trial in results.results]


def _run_of_cell(cell: RunCell) -> Run:
    return Run(
        run_id=cell.task_id,
        agent=cell.agent,
        scenario=scenario_title(cell.scenario_id, cell.from_turn),
        difficulty=cell.difficulty,
        seed=cell.seed,
        repeat=cell.repeat,
        status=cell.status,
        failed_by_participant=cell.failed_by_participant,
        overall=Points(score=cell.score or 0, max_score=cell.max_score) if cell.max_score else None,
        tokens=cell.tokens,
        cost=cell.cost,
    )


def runs_of_entries(
    entries: Iterable[EntrySummary], known: Mapping[str, Run] = NOTHING_KNOWN, called: Mapping[str, str] = NO_NAMES
) -> list[Run]:
    """Return the runs of assessments and trials, ordered by start; campaigns are left out.

    An agent's name is its label (``EntrySummary.agent``). The first run of an agent, scenario, difficulty and seed is
    repeat 0, the next run is repeat 1, and so on. If a scenario's files or settings have changed, it counts as another
    scenario, and its title gets a version number. Another clock, noise level or first turn of forks also makes another
    scenario.

    Args:
        known: additional data by id: points of dimensions and criteria, tokens, groups of days.
        called: the agents' names by entry id, in place of their labels.
    """
    versions: defaultdict[str, list[tuple[object, ...]]] = defaultdict(list)
    repeats: defaultdict[tuple[object, ...], count[int]] = defaultdict(count)
    runs = []
    for entry in sorted(entries, key=lambda entry: entry.started_at):
        if entry.kind == "campaign":
            continue
        scenario = scenario_title(
            entry.scenario_id, entry.forked_from.turn if entry.forked_from else None, entry.clock, entry.noise
        )
        if isinstance(entry, ArchiveEntry):
            scenario += _version_title(entry, versions[entry.day])
        more, agent = known.get(entry.id), called.get(entry.id, entry.agent)
        points = Points(score=entry.score, max_score=entry.max_score) if entry.max_score else None
        if entry.kind == "trial":
            points = None if entry.earned is None else Points(score=entry.earned, max_score=1)
        run = Run(
            run_id=entry.id,
            agent=agent,
            scenario=scenario,
            difficulty=entry.difficulty,
            seed=entry.seed,
            repeat=next(repeats[agent, scenario, entry.difficulty, entry.seed]),
            status=entry.status,
            failed_by_participant=entry.failed_by_participant,
            overall=points,
            cost=entry.cost,
        )
        if more is not None:
            taken = ("overall", "dimensions", "criteria", "tokens", "cost", "group_size", "is_doubtful")
            run = run.model_copy(update={name: getattr(more, name) for name in taken})
        runs.append(run)
    return runs


def _version_title(entry: ArchiveEntry, known: list[tuple[object, ...]]) -> str:
    """Return `` (version 2)`` for a scenario's second version, and an empty text for the first.

    ``known`` has the versions so far; a new version is appended.
    """
    version: tuple[object, ...] = (entry.contents.get("scenario"), entry.offline, entry.max_turns)
    if entry.kind == "trial":
        version = (entry.package,)  # a task's files
    if version not in known:
        known.append(version)
    number = known.index(version)
    return f" (version {number + 1})" if number else ""
