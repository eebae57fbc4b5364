"""``proctor scenarios show FAMILY --seed``: a day of a family, for a person."""

from rich.console import Console
from rich.text import Text

from proctor.cli.scenario_commands import family_folder, manager_of
from proctor.common.console import make_console
from proctor.common.errors import CommandError
from proctor.scenarios.kit.making.days import Day, InconsistentDayError, make_day
from purple_sdk.protocol.instances import PRACTICE_SEEDS


def show_day(family: str, scenarios_dir: str | None, difficulty: int, seed: int, *, truth: bool) -> None:
    """Print the day of a family for a person: the brief, all records by time; with ``truth``, what is right.

    Raises:
        UsageError: there is no such family.
        CommandError: the day can't be made, or its truth is not public.
    """
    directory = family_folder(manager_of(scenarios_dir), family)
    if truth and seed not in PRACTICE_SEEDS:
        raise CommandError(
            f"seed {seed} is not a practice seed: the truth of seeds 1 to {PRACTICE_SEEDS[-1]} is public"
        )
    try:
        day = make_day(directory, difficulty, seed)
    except (InconsistentDayError, ValueError) as problem:
        raise CommandError(f"{directory.name}, difficulty {difficulty}, seed {seed}: {problem}") from None
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
