"""Sentences on a scenario's problems, and on the sources of its points."""

from collections import Counter
from collections.abc import Sequence
from uuid import uuid4

from pydantic import ValidationError
from rich.text import Text

from proctor.activities.judging.judge import points_left_out
from proctor.activities.scenario_code.manager import (
    ScenarioError,
    ScenarioManager,
    ScenarioNotFoundError,
    ScenarioPackage,
)
from proctor.activities.scenario_code.paraphrases import Audited
from proctor.activities.scenario_code.processes import ScenarioCode
from proctor.common.console import make_console
from proctor.common.errors import CommandError
from proctor.common.phrases import clean, counted
from proctor.common.settings import read_settings, warn
from proctor.language.patterns import has_match
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor.settings.config import GreenAgentConfig

FAULTS_TOLD = 20
_UNSCORED_WITHOUT_WARNING = 0.1  # the share of a scenario's points that may stay unscored without a warning


async def check_package(package: ScenarioPackage, name: str, settings: GreenAgentConfig, code: ScenarioCode) -> None:
    """Check a scenario that can be loaded, and print that it can be played."""
    from proctor.local.scenario_data import data_problems, read_initial_state
    from proctor.local.scenario_trial import try_evaluators

    sides, faults = package.sides, _case_problems(package)
    for role in sides:
        problems = data_problems(read_initial_state(package.directory, role))
        faults += [f"role {role}: {problem}" if role else problem for problem in problems]
    warnings = [*package.warnings, *_lacks(package)]
    for side in sides.values() if not faults else ():
        tried = await try_evaluators(side, settings, code)
        faults, warnings = [*faults, *tried.faults], [*warnings, *tried.warnings]
    console = make_console()
    for warning in warnings:
        console.print(Text(f"warning: {clean(warning)}", style="yellow"))
    if faults:
        first = f", of which these are the first {FAULTS_TOLD}" if len(faults) > FAULTS_TOLD else ""
        heading = f"{name} has {counted(len(faults), 'fault')}{first}:"
        raise CommandError("\n  ".join([heading, *map(clean, faults[:FAULTS_TOLD])]))
    criteria = package.config.all_criteria
    console.print(
        Text(
            f"{name} can be played: {package.config.expected_turns} turns, "
            f"{len(package.config.characters)} characters, {len(criteria)} criteria, "
            f"{sum(c.max_score for c in criteria)} points"
        )
    )
    console.print(Text(points_by_source(criteria)))
    for side in sides.values():
        if sentence := points_needing_model(side.config):
            console.print(Text(sentence))


def _case_problems(package: ScenarioPackage) -> list[str]:
    """The reasons why calibration cases can't be used, such as a criterion that no longer exists."""
    from proctor.activities.judging.cases import CasesError, read_cases

    try:
        read_cases(package.directory, package.config)
    except CasesError as error:
        return [str(error)]
    return []


def points_needing_model(scenario: ScenarioConfig, least_share: float = 0.0) -> str | None:
    """A sentence on the points that aren't scored without a model, and on their criteria.

    Args:
        least_share: a share of all points (0 to 1). If no more points than this need a model, None is returned.
    """
    needed = {c.criterion_id: points for c in scenario.criteria if (points := points_left_out(c))}
    points, total = sum(needed.values()), sum(criterion.max_score for criterion in scenario.criteria)
    if points <= least_share * total:
        return None
    named = ", ".join(f"{criterion_id} ({points})" for criterion_id, points in needed.items())
    return f"Without a model, {points} of {total} points are not scored: {named}"


def warn_of_unscored_points(scenario_id: str) -> bool:
    """Print a warning if more than a tenth of the points stay unscored without a model.

    The scenario is read from this machine. An evaluator elsewhere reports its own scenario's points when it begins.

    Returns:
        Whether the warning was printed.
    """
    manager = ScenarioManager(read_settings(GreenAgentConfig).scenarios_dir)
    try:
        file = manager.find(scenario_id) / "scenario.json"
        if not file.is_file():
            return False
        scenario = ScenarioConfig.model_validate_json(file.read_bytes())
    except (ScenarioError, ScenarioNotFoundError, OSError, ValidationError):
        return False  # the evaluator reports the scenario's problem
    if sentence := points_needing_model(scenario, _UNSCORED_WITHOUT_WARNING):
        warn([f"{clean(sentence)}. Configure a model and leave out --offline to have them scored."])
    return sentence is not None


def lines_on_facts(audited: Sequence[Audited], *, by_fact: bool) -> list[str]:
    lines = sum(fact.lines for fact in audited)
    if not lines:
        return ["held-out lines of facts: none"]
    misread, doubtful = sum(fact.misread for fact in audited), sum(fact.doubtful for fact in audited)
    report = [
        f"held-out lines: {lines:,} of {counted(len(audited), 'fact')}; patterns misread {misread} "
        f"({misread / lines:.1%}) and can't tell {doubtful}"
    ]
    if by_fact:
        report += [
            f"  {fact.fact}: {fact.missed} of {fact.right} missed, {fact.invented} of {fact.wrong} invented, "
            f"{fact.doubtful} in doubt"
            for fact in audited
        ]
    return report


def _lacks(package: ScenarioPackage) -> list[str]:
    """Sentences on recommended parts that a scenario lacks. It can be played without them."""
    from proctor.local.scenario_data import unknown_settings

    lacks = unknown_settings((package.directory / "scenario.json").read_bytes())
    if not package.config.canary:
        lacks.append(
            f'scenario.json has no canary: write "canary": "{uuid4()}", by which it can be found in training data'
        )
    if not package.config.version:
        lacks.append('scenario.json has no version: write "version": "1", and raise it with every change')
    for criterion in package.config.all_criteria:
        if not criterion.sources:
            lacks.append(
                f"criterion {criterion.criterion_id} doesn't say what decides its points: write "
                f'"points_from": {{"state": {criterion.max_score}}}, or a share of "values" and "text"'
            )
        lacks += [
            f"criterion {criterion.criterion_id}: rubric item {item.id} has scope any, so one window of the evidence "
            f'can make up for a violation in another: write "scope": "none" for {item.statement!r}'
            for item in criterion.rubric or ()
            if item.scope == "any" and has_match(_NEGATIVE, item.statement)
        ]
    return lacks


_NEGATIVE = r"(?i)\b(no|not|never|nothing|nobody|none|without|all|every|each|any|only)\b"
"""Statements that hold only if no evidence contradicts them."""


def points_by_source(criteria: Sequence[EvaluationCriterion]) -> str:
    total = sum(criterion.max_score for criterion in criteria)
    by_source = Counter[str]()
    for criterion in criteria:
        by_source.update(criterion.sources)
    by_source["undeclared"] = total - by_source.total()
    names = {"state": "state", "values": "exact values in texts", "text": "free text", "undeclared": "undeclared"}
    shares = [f"{names[source]} {by_source[source]}" for source in names if by_source[source]]
    return f"points decided from: {', '.join(shares)} of {total}"
