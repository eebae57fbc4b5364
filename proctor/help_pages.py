"""What ``--help`` shows: the commands in groups, and examples of each."""

from collections import Counter
from typing import Any

from typer.core import TyperCommand, TyperGroup

GROUPS = {
    "Start here": ("demo", "up", "assess", "play"),
    "Write your own": ("new-agent", "check-agent", "new-scenario", "new-family", "scenarios", "agent", "harness"),
    "Look at results": ("list", "show", "view", "compare", "forks", "export", "import", "prune", "schema"),
    "Many runs": ("run", "follow", "cancel", "replay", "fork", "judge", "terminal-bench"),
    "Operate": ("doctor", "worker", "gateway", "ues", "codec-server", "token"),
}
"""The commands of ``proctor --help``, by what a reader wants to do."""

EXAMPLES = {
    "proctor": (
        "proctor demo",
        "proctor up",
        "proctor assess email_triage_basic --agent http://localhost:8001 --offline",
    ),
    "proctor up": ("proctor up", "proctor up --scenarios-dir my-scenarios --without-agent"),
    "proctor demo": ("proctor demo", "proctor demo --scenario reschedule_day --keep"),
    "proctor assess": (
        "proctor assess email_triage_basic --agent http://localhost:8001 --offline",
        "proctor assess reschedule_day --agent http://localhost:8001 --seed 7 --json result.json",
        "proctor assess which_alex --harness claude-code --model claude-sonnet-5",
    ),
    "proctor play": ("proctor play email_triage_basic", "proctor play ./team-lunch --max-turns 3"),
    "proctor list": ("proctor list --scenario email_triage_basic --since 7d", "proctor list --campaign 6ee0 --json"),
    "proctor show": ("proctor show ca46", "proctor show ca46 --all"),
    "proctor view": ("proctor view", "proctor view ca46 --port 8011"),
    "proctor compare": ("proctor compare ca46 6ee0", "proctor compare mine theirs --campaign 0b7d"),
    "proctor export": (
        "proctor export ca46 --to monday.html",
        "proctor export all --to everything.csv",
        "proctor export 0b7d --to backup",
    ),
    "proctor import": ("proctor import backup",),
    "proctor prune": ("proctor prune --older-than 30d",),
    "proctor schema": ("proctor schema result.json", "proctor schema --wire"),
    "proctor follow": ("proctor follow ca46", "proctor follow 0b7d --output runs"),
    "proctor cancel": ("proctor cancel ca46",),
    "proctor replay": (
        "proctor replay be3d4af5-18d3-57d5-aaeb-fc1d05bffe4a",
        "proctor replay be3d4af5-18d3-57d5-aaeb-fc1d05bffe4a --from-turn 5",
    ),
    "proctor fork": (
        "proctor fork ca46 --from-turn 4 --agent mine=http://localhost:8001",
        "proctor fork ca46 --every-turn --repeats 3",
    ),
    "proctor forks": ("proctor forks ca46",),
    "proctor run": (
        "proctor run email_triage_basic --agent mine=http://localhost:8001 --seeds 1-5 --repeats 2",
        "proctor run campaign.toml --detach",
    ),
    "proctor doctor": ("proctor doctor", "proctor doctor --agent http://localhost:8001 --no-models"),
    "proctor new-agent": ("proctor new-agent mail-clerk",),
    "proctor new-scenario": ("proctor new-scenario team-lunch --folder my-scenarios",),
    "proctor new-family": ("proctor new-family barn_sale --folder my-scenarios",),
    "proctor scenarios audit": ("proctor scenarios audit clear_the_day --seeds 1-25",),
    "proctor check-agent": ("proctor check-agent http://localhost:8001",),
    "proctor harness try": ("proctor harness try claude-code --model claude-sonnet-5",),
    "proctor harness install": ("proctor harness install codex", "proctor harness install all"),
    "proctor scenarios validate": ("proctor scenarios validate ./team-lunch",),
    "proctor judge calibrate": ("proctor judge calibrate email_triage_basic --model gpt-4o --limit 50",),
    "proctor terminal-bench run": ("proctor terminal-bench run --dataset my-tasks --agent oracle",),
    "proctor token create": ("proctor token create ana --per-day 100 --expires 30d",),
}
"""Command lines for the end of each help page, by the command's name."""


class GroupedCommands(TyperGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group; commands of no group come last."""
        grouped = {name for names in GROUPS.values() for name in names}
        others = tuple(name for name in self.commands if name not in grouped)
        width = max(map(len, self.commands))
        for title, names in {**GROUPS, "Other commands": others}.items():
            rows = [
                (name.ljust(width), self.commands[name].get_short_help_str(formatter.width - width - 6))
                for name in names
                if name in self.commands
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        write_examples(ctx.command_path, formatter)
        super().format_epilog(ctx, formatter)


class OnceCommand(TyperCommand):
    """A command that refuses an option with one value which is given twice: one of the two would be ignored."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, in_order = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, times in Counter(in_order).items():
            may_repeat = getattr(parameter, "is_flag", False) or getattr(parameter, "multiple", False)
            if times > 1 and parameter.param_type_name == "option" and not may_repeat:
                ctx.fail(f"{parameter.opts[0]} is given {times} times: give it once.")
        return super().parse_args(ctx, args)


class CommandWithExamples(OnceCommand):
    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        write_examples(ctx.command_path, formatter)
        super().format_epilog(ctx, formatter)


def write_examples(command_path: str, formatter: Any) -> None:
    """Write the examples of a command as they are typed: a long one is not wrapped."""
    name = " ".join(["proctor", *command_path.split()[1:]]).removeprefix("python -m ")
    if examples := EXAMPLES.get(name):
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
