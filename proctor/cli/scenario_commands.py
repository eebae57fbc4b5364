"""``proctor scenarios``: list, show and check scenario packages; only to check one takes the simulator's modules."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proctor.activities.judging.judge import points_left_out
from proctor.activities.scenario_code.manager import (
    ScenarioError,
    ScenarioManager,
    ScenarioNotFoundError,
    ScenarioPackage,
)
from proctor.activities.scenario_code.paraphrases import AUTHORS, FOLDER, Audited, Held
from proctor.activities.scenario_code.processes import ScenarioCode
from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import CommandError, ExitCode, UsageError, ending_as
from proctor.common.phrases import clean, counted
from proctor.common.settings import read_settings, warn
from proctor.language.patterns import has_match
from proctor.local.families import check_days, is_family, scenario_code, show_families
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.instances import DIFFICULTIES, Instance, did_you_mean
from purple_sdk.protocol.results import DIMENSIONS

_FAULTS_TOLD = 20
_UNSCORED_WITHOUT_WARNING = 0.1  # the share of a scenario's points that may stay unscored without a warning


def list_scenarios(scenarios_dir: str | None) -> ExitCode:
    """Print one line for each scenario, and for each family.

    One that can't be played is shown with what is wrong, and makes code 1.
    """
    manager = manager_of(scenarios_dir)
    table = plain_table("id", "name")
    for name in ("turns", "criteria", "points"):
        table.add_column(name, justify="right", overflow="fold")
    code = ExitCode.DONE
    with ending_as(UsageError, ScenarioNotFoundError):
        scenario_ids = manager.list_ids()
    packages = load_packages([manager.find(scenario_id) for scenario_id in scenario_ids])
    for scenario_id, package in zip(scenario_ids, packages, strict=True):
        if isinstance(package, ScenarioError):
            code = ExitCode.FAILED
            table.add_row(scenario_id, Text(clean(str(package)), style="red"))
            continue
        config = package.config
        points = sum(criterion.max_score for criterion in config.criteria)
        numbers = (config.expected_turns, len(config.criteria), points)
        table.add_row(scenario_id, Text(clean(config.name)), *map(str, numbers))
    console = make_console()
    show(console, table if table.row_count else Text(f"no scenarios in {manager.directory}"))
    has_faults = show_families(console, manager)
    return ExitCode.FAILED if has_faults else code


def show_scenario(scenario_id: str, scenarios_dir: str | None) -> None:
    """Print what a scenario is about, who is in it, and its criteria by dimension with who judges them."""
    package = load_scenario(manager_of(scenarios_dir), scenario_id)
    config = package.config
    console = make_console()
    console.print(Text(f"{config.scenario_id}: {clean(config.name)}", style="bold"))
    if config.description:
        console.print(Text(clean(config.description)))
    console.print(
        Text(
            f"\n{config.start_time:%Y-%m-%d %H:%M} to {config.end_time:%Y-%m-%d %H:%M} ({config.start_time:%Z}), "
            f"{config.expected_turns} turns of {config.default_time_step}"
        )
    )
    for role, side in package.sides.items():
        _show_side(console, role, side)
    for warning in package.warnings:
        console.print(Text(f"warning: {clean(warning)}", style="yellow"))


def _show_side(console: Console, role: str, package: ScenarioPackage) -> None:
    config = package.config
    if role:
        console.print(Text(f"\nRole {role}", style="bold"))
    console.print(Text("\nWhat the user asks for", style="bold"))
    console.print(Text("\n".join(clean(line) for line in config.user_prompt.strip().splitlines())))
    console.print(Text("\nPeople", style="bold"))
    people = Table.grid(padding=(0, 3))
    for _ in range(3):
        people.add_column(overflow="fold")
    for key, person in config.characters.items():
        whose = " (the user)" if key == config.user_character else ""
        people.add_row(f"  {key}{whose}", Text(clean(person.name)), clean(person.email or person.phone or ""))
    show(console, people)
    show(console, _criteria(package))
    console.print(Text(f"\n{_points_by_source(config.criteria)}"))
    if sentence := points_needing_model(config):
        console.print(Text(sentence))


def validate_scenario(
    path_or_id: str, scenarios_dir: str | None, difficulty: int | None = None, seed: int | None = None
) -> None:
    """Check a scenario, by its folder or its id: its data by the simulator's models, its evaluators by trying them out.

    Of a family, the days of all difficulties and seed 1 are checked, or of those that are given.

    Raises:
        UsageError: there is no such scenario, or it has no difficulty.
        CommandError: it can't be played, or not as it is meant; the message says all that is wrong.
    """
    folder = Path(path_or_id)
    if folder.name == "scenario.json":
        folder = folder.parent
    is_path = folder.is_dir() or "/" in path_or_id
    if is_path and not folder.is_dir():
        raise UsageError(f"{path_or_id} isn't a folder: name a scenario's folder or its id")
    if is_path:
        family = folder.resolve() if is_family(folder) else None
    else:
        family = manager_of(scenarios_dir).find_family(path_or_id)
    if family is None and (difficulty is not None or seed is not None):
        raise UsageError(f"{path_or_id} is a fixed scenario: leave out --difficulty and --seed")
    settings = read_settings(GreenAgentConfig)

    async def validate() -> None:
        async with aclosing(scenario_code(settings)) as code:  # one fork server for all that is loaded, made and tried

            async def check(package: ScenarioPackage, name: str) -> None:
                await _check(package, name, settings, code)

            if family is not None:
                difficulties = DIFFICULTIES if difficulty is None else (difficulty,)
                chosen = 1 if seed is None else seed
                days = [Instance(family=family.name, difficulty=each, seed=chosen) for each in difficulties]
                await check_days(code, family, days, check)
                return
            directory = folder.resolve() if is_path else _found(manager_of(scenarios_dir), path_or_id)
            package = _playable((await _load(code, [directory]))[0])
            await check(package, package.config.scenario_id)

    asyncio.run(validate())


async def _check(package: ScenarioPackage, name: str, settings: GreenAgentConfig, code: ScenarioCode) -> None:
    """Check a scenario that can be loaded, and print that it can be played."""
    from proctor.local.scenario_data import data_problems, initial_state_of
    from proctor.local.scenario_trial import try_evaluators

    sides, faults = package.sides, _case_problems(package)
    for role in sides:
        problems = data_problems(initial_state_of(package.directory, role))
        faults += [f"role {role}: {problem}" if role else problem for problem in problems]
    warnings = [*package.warnings, *_lacks(package)]
    for side in sides.values() if not faults else ():
        tried = await try_evaluators(side, settings, code)
        faults, warnings = [*faults, *tried.faults], [*warnings, *tried.warnings]
    console = make_console()
    for warning in warnings:
        console.print(Text(f"warning: {clean(warning)}", style="yellow"))
    if faults:
        first = f", of which these are the first {_FAULTS_TOLD}" if len(faults) > _FAULTS_TOLD else ""
        heading = f"{name} has {counted(len(faults), 'fault')}{first}:"
        raise CommandError("\n  ".join([heading, *map(clean, faults[:_FAULTS_TOLD])]))
    criteria = package.config.all_criteria
    console.print(
        Text(
            f"{name} can be played: {package.config.expected_turns} turns, "
            f"{len(package.config.characters)} characters, {len(criteria)} criteria, "
            f"{sum(c.max_score for c in criteria)} points"
        )
    )
    console.print(Text(_points_by_source(criteria)))
    for side in sides.values():
        if sentence := points_needing_model(side.config):
            console.print(Text(sentence))


def _case_problems(package: ScenarioPackage) -> list[str]:
    """Why calibration cases can't be used: one is of a criterion that is gone, say."""
    from proctor.activities.judging.cases import CasesError, read_cases

    try:
        read_cases(package.directory, package.config)
    except CasesError as problem:
        return [str(problem)]
    return []


def points_needing_model(scenario: ScenarioConfig, least_share: float = 0.0) -> str | None:
    """How many points aren't scored without a model and of which criteria, in a sentence.

    Args:
        least_share: None is returned where these points are no more than this share of all points (0 to 1).
    """
    needed = {c.criterion_id: points for c in scenario.criteria if (points := points_left_out(c))}
    points, total = sum(needed.values()), sum(criterion.max_score for criterion in scenario.criteria)
    if points <= least_share * total:
        return None
    named = ", ".join(f"{criterion_id} ({points})" for criterion_id, points in needed.items())
    return f"Without a model, {points} of {total} points are not scored: {named}"


def warn_of_unscored_points(scenario_id: str) -> bool:
    """Warn before an assessment without models where more than a tenth of the points won't be scored.

    Returns whether it has warned.

    The scenario is looked for on this machine. An evaluator elsewhere reports its own scenario's points when it begins.
    """
    manager = ScenarioManager(read_settings(GreenAgentConfig).scenarios_dir)
    try:
        file = manager.find(scenario_id) / "scenario.json"
        if not file.is_file():
            return False
        scenario = ScenarioConfig.model_validate_json(file.read_bytes())
    except (ScenarioError, ScenarioNotFoundError, OSError, ValidationError):
        return False  # the evaluator says what is wrong with it
    if sentence := points_needing_model(scenario, _UNSCORED_WITHOUT_WARNING):
        warn([f"{clean(sentence)}. Configure a model and leave out --offline to have them scored."])
    return sentence is not None


def hold_paraphrases(path_or_id: str, scenarios_dir: str | None, *, by_fact: bool = False) -> None:
    """Compare the patterns of a scenario's facts with its paraphrases; print what share of those they can't decide. Of
    held-out lines only counts are printed.

    Args:
        by_fact: print the counts of each fact, too.

    Raises:
        UsageError: there is no such scenario, or it ships no paraphrases.
        CommandError: patterns say otherwise than the paraphrases are marked; the message says where.
    """
    folder = Path(path_or_id)
    directory = folder.resolve() if folder.is_dir() else load_scenario(manager_of(scenarios_dir), path_or_id).directory
    if not any((directory / FOLDER).rglob("*.txt")):
        raise UsageError(f"{path_or_id} ships no paraphrases: write them into its folder {FOLDER}/{AUTHORS}/, as *.txt")
    audit = asyncio.run(held_to_paraphrases(directory))
    console = make_console()
    if audit.faults:
        faults = [clean(fault) for fault in audit.faults[:_FAULTS_TOLD]]
        more = len(audit.faults) - len(faults)
        raise CommandError(
            "\n  ".join(["patterns and paraphrases differ:", *faults, *([f"and {more} more"] * bool(more))])
        )
    console.print(
        Text(
            f"{directory.name}: {audit.facts} facts, {audit.lines:,} paraphrases; patterns can't tell {audit.doubtful} "
            f"of them and misread {audit.misread}, {audit.uncertain_share:.1%} in all"
        )
    )
    for line in _audit_lines(audit.audited, by_fact=by_fact):
        console.print(Text(line))


def _audit_lines(audited: Sequence[Audited], *, by_fact: bool) -> list[str]:
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


async def held_to_paraphrases(directory: Path) -> Held:
    """Hold the patterns of a scenario's facts to its paraphrases, in a process of their own."""
    async with aclosing(scenario_code(read_settings(GreenAgentConfig))) as code:
        return await code.hold(directory)


def _lacks(package: ScenarioPackage) -> list[str]:
    """What a scenario can be played without, and had better have."""
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
"""Statements that hold only where nothing speaks against them."""


def _points_by_source(criteria: Sequence[EvaluationCriterion]) -> str:
    total = sum(criterion.max_score for criterion in criteria)
    by_source = Counter[str]()
    for criterion in criteria:
        by_source.update(criterion.sources)
    by_source["undeclared"] = total - by_source.total()
    names = {"state": "state", "values": "exact values in texts", "text": "free text", "undeclared": "undeclared"}
    shares = [f"{names[source]} {by_source[source]}" for source in names if by_source[source]]
    return f"points decided from: {', '.join(shares)} of {total}"


def _criteria(package: ScenarioPackage) -> Table:
    table = plain_table(title_justify="left")
    table.add_column("criterion", overflow="fold", ratio=3)
    table.add_column("points", justify="right")
    table.add_column("judged by", overflow="fold", ratio=3)
    table.add_column("description", overflow="fold", ratio=6)
    for dimension in DIMENSIONS:
        criteria = package.config.get_criteria_by_dimension(dimension)
        if criteria:
            points = sum(criterion.max_score for criterion in criteria)
            table.add_row()
            table.add_row(Text(dimension.replace("_", " "), style="bold cyan"), Text(str(points), style="bold"))
        for criterion in criteria:
            table.add_row(
                Text(f"  {clean(criterion.name)}"),
                str(criterion.max_score),
                Text(_judge(criterion), style="dim"),
                Text(clean(criterion.description)),
            )
    return table


def _judge(criterion: EvaluationCriterion) -> str:
    if criterion.evaluator_id:
        return f"function {clean(criterion.evaluator_id)}"
    checked = sum(item.points for item in criterion.rubric or [] if item.check)
    return f"model; offline {checked} of {criterion.max_score} points"


def load_scenario(manager: ScenarioManager, scenario_id: str) -> ScenarioPackage:
    """Load a scenario, with its problems as errors of a command."""
    return _playable(load_packages([_found(manager, scenario_id)])[0])


def _found(manager: ScenarioManager, scenario_id: str) -> Path:
    with ending_as(UsageError, ScenarioNotFoundError):
        return manager.find(scenario_id)


def load_packages(directories: Sequence[Path]) -> list[ScenarioPackage | ScenarioError]:
    """Load the packages in some folders, their code in processes of its own; each is a package, or what is wrong with
    it.
    """

    async def load() -> list[ScenarioPackage | ScenarioError]:
        async with aclosing(scenario_code(read_settings(GreenAgentConfig))) as code:
            return await _load(code, directories)

    return asyncio.run(load())


async def _load(code: ScenarioCode, directories: Sequence[Path]) -> list[ScenarioPackage | ScenarioError]:
    packages: list[ScenarioPackage | ScenarioError] = []
    for directory in directories:
        try:
            packages.append(await code.load(directory))
        except ScenarioError as problem:
            packages.append(problem)
    return packages


def _playable(package: ScenarioPackage | ScenarioError) -> ScenarioPackage:
    if isinstance(package, ScenarioError):
        raise CommandError(clean(str(package)))
    return package


def family_folder(manager: ScenarioManager, name: str) -> Path:
    folder = manager.find_family(name)
    if folder is None:
        known = manager.list_families()
        raise UsageError(f"family {name} not found; families: {', '.join(known) or 'none'}{did_you_mean(name, known)}")
    return folder


def manager_of(scenarios_dir: str | None) -> ScenarioManager:
    return ScenarioManager(read_settings(GreenAgentConfig, scenarios_dir=scenarios_dir).scenarios_dir)
