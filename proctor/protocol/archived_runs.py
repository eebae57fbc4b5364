"""From archived entries and results to ``Run`` records, which statistics are of: the one place that makes them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from types import MappingProxyType

from proctor.protocol.archive import ArchiveEntry, EntrySummary
from proctor.protocol.campaigns import CampaignResults
from proctor.protocol.runs import RunCell, RunResults
from purple_sdk.protocol.clocks import conditions_title
from purple_sdk.protocol.provenance import cost_of, tokens_of
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.protocol.statistics import Points, Run
from purple_sdk.protocol.terminal import TrialResult

NOTHING_KNOWN: Mapping[str, Run] = MappingProxyType({})
NO_NAMES: Mapping[str, str] = MappingProxyType({})


def run_of_assessment(results: AssessmentResults | None, about: Run) -> Run:
    """A run with the points, tokens and costs of its results; without results it has none."""
    if results is None:
        return about
    used = results.provenance
    uses = [*used.judges, *used.characters] if used else []
    scores = results.scores
    return about.model_copy(
        update={
            "overall": Points(score=scores.overall.score, max_score=scores.overall.max_score),
            "dimensions": {
                name: Points(score=each.score, max_score=each.max_score) for name, each in scores.dimensions.items()
            },
            "criteria": {
                each.criterion_id: Points(score=each.score, max_score=each.max_score)
                for each in results.criteria_results
            },
            "tokens": tokens_of(uses),
            "cost": cost_of(uses),
        }
    )


def run_of_trial(trial: TrialResult, participant: str = "") -> Run:
    """A trial, whose reward is its score.

    Args:
        participant: its agent, where the trial doesn't say.
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
        tokens=tokens_of(trial.usage),
        cost=cost_of(trial.usage),
    )


def scenario_title(scenario_id: str, from_turn: int | None, clock: str | None = None, noise: int | None = None) -> str:
    """What statistics call a scenario: its id, with the turn that forks began with, and unusual conditions."""
    forked = f" from turn {from_turn}" if from_turn else ""
    return scenario_id + forked + conditions_title(clock, noise)


def runs_of_campaign(results: CampaignResults, known: Sequence[Run]) -> list[Run]:
    """The runs of an ended campaign, in the order of its cells or trials.

    Args:
        known: the runs that its entry has; those of earlier versions have none, and no criteria then.
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
    """The runs of assessments and trials, in the order of their beginning; campaigns are left out.

    An agent is its label (``EntrySummary.agent``). Of one agent, scenario, difficulty and seed the first is repeat 0,
    the next one repeat 1, and so on. A scenario whose files or settings have changed since is another one: its name
    has the number of its version. So are the conditions of clock and noise, and the turn that forks began with.

    Args:
        known: what more is known of them, by id: points of dimensions and criteria, tokens, groups of days.
        called: the agents' names, by the entry's id, in place of their labels.
    """
    versions: defaultdict[str, list[tuple[object, ...]]] = defaultdict(list)
    repeats: defaultdict[tuple[object, ...], count[int]] = defaultdict(count)
    runs = []
    for entry in sorted(entries, key=lambda each: each.started_at):
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
    """`` (version 2)`` of a scenario's second version; empty of the first. ``known`` has those that were met."""
    version: tuple[object, ...] = (entry.contents.get("scenario"), entry.offline, entry.max_turns)
    if entry.kind == "trial":
        version = (entry.package,)  # a task's files
    if version not in known:
        known.append(version)
    number = known.index(version)
    return f" (version {number + 1})" if number else ""
