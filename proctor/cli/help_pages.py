"""Pages of ``--help``: the commands in groups, and examples of each."""

import tomllib
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any

from typer.core import TyperCommand, TyperGroup


@cache
def texts() -> dict[str, dict[str, list[str]]]:
    """The ``groups`` of commands, and the ``examples`` of each."""
    return tomllib.loads((files("proctor.cli") / "help.toml").read_text(encoding="utf-8"))


class GroupedCommands(TyperGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        grouped = {name for names in texts()["groups"].values() for name in names}
        others = [name for name in self.commands if name not in grouped]
        width = max(map(len, self.commands))
        for title, names in {**texts()["groups"], "Other commands": others}.items():
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


class CommandWithExamples(TyperCommand):
    """A command with examples in its help. It refuses an option with a single value if it is given twice."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, in_order = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, times in Counter(in_order).items():
            may_repeat = getattr(parameter, "is_flag", False) or getattr(parameter, "multiple", False)
            if times > 1 and parameter.param_type_name == "option" and not may_repeat:
                ctx.fail(f"{parameter.opts[0]} is given {times} times: give it once.")
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        write_examples(ctx.command_path, formatter)
        super().format_epilog(ctx, formatter)


def write_examples(command_path: str, formatter: Any) -> None:
    """Write the examples of a command as people type them. Long lines are not wrapped."""
    name = " ".join(["proctor", *command_path.split()[1:]]).removeprefix("python -m ")
    if examples := texts()["examples"].get(name):
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
