"""Print a scenario, or a day of a family, for people."""

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from proctor.activities.scenario_code.manager import ScenarioPackage
from proctor.cli.scenario_checks import points_by_source, points_needing_model
from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import CommandError
from proctor.common.phrases import clean
from proctor.protocol.scenario import EvaluationCriterion
from proctor.scenarios.kit.making.days import Day, InconsistentDayError, make_day
from purple_sdk.protocol.instances import PRACTICE_SEEDS
from purple_sdk.protocol.results import DIMENSIONS


def show_package(package: ScenarioPackage) -> None:
    """Print a scenario's topic, its people, and its criteria by dimension, each with the way it is judged."""
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
    console.print(Text(f"\n{points_by_source(config.criteria)}"))
    if sentence := points_needing_model(config):
        console.print(Text(sentence))


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


def show_day(directory: Path, difficulty: int, seed: int, *, truth: bool) -> None:
    """Print a day of a family for people: the brief, and all records by time. With ``truth``, print the truth, too.

    Raises:
        CommandError: the day can't be made, or its truth is not public.
    """
    if truth and seed not in PRACTICE_SEEDS:
        raise CommandError(
            f"seed {seed} is not a practice seed: the truth of seeds 1 to {PRACTICE_SEEDS[-1]} is public"
        )
    try:
        day = make_day(directory, difficulty, seed)
    except (InconsistentDayError, ValueError) as error:
        raise CommandError(f"{directory.name}, difficulty {difficulty}, seed {seed}: {error}") from None
    console = make_console()
    console.print(Text(f"{day.title}: difficulty {difficulty}, seed {seed}", style="bold"))
    for side in day.sides or (day,):
        _print_side(console, side)
    if truth:
        console.print(Text(f"\n{day.readme()}"))


def _print_side(console: Console, day: Day) -> None:
    if day.role:
        console.print(Text(f"\nRole {day.role}", style="bold"))
    console.print(Text(day.brief))
    for record in day.records:
        when = (
            f"{record.start:%a %d %b %H:%M} to {record.end:%H:%M}"
            if record.start and record.end
            else f"{record.at:%a %d %b %H:%M}"
        )
        readers = ", ".join(reader.name for reader in record.readers)
        console.print(Text(f"\n{record.kind} · {when} · {record.author.name} → {readers}", style="bold"))
        console.print(Text(record.text.strip()))
