"""docs/reference/commands.md, made from the command line: ``python -m tests.docs.command_reference`` writes it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from proctor.cli.help_pages import texts
from proctor.cli.main import app

PAGE = Path(__file__).parents[2] / "docs/reference/commands.md"
EXAMPLES = texts()["examples"]

_HEAD = """# Commands

Made from the code by `.venv/bin/python -m tests.docs.command_reference`. `proctor COMMAND --help` shows the same.
"""


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for name, command in commands():
        context = command.context_class(command, info_name=name)
        parts.append(
            f"\n## {name}\n\n{_text(command.help or '')}\n\n`{' '.join(command.get_usage(context).split()[1:])}`\n"
        )
        rows = [row for param in command.params if (row := _row(param, context))]
        if rows:
            parts.append("\n".join(["| option | what it is |", "| --- | --- |", *rows]) + "\n")
        if examples := EXAMPLES.get(name):
            parts.append("\n".join(["Examples:\n", *(f"- `{example}`" for example in examples)]) + "\n")
    return "\n".join(parts)


def commands(command: Any = None, name: str = "proctor") -> Iterator[tuple[str, Any]]:
    """All commands that do something, with their full names, in the order of their names."""
    command = command or typer.main.get_command(app)
    if hasattr(command, "commands"):
        for short, inner in sorted(command.commands.items()):
            yield from commands(inner, f"{name} {short}")
    else:
        yield name, command


def _row(parameter: Any, context: Any) -> str:
    if parameter.param_type_name == "option":
        record = parameter.get_help_record(context)
        return f"| `{record[0]}` | {_text(record[1])} |" if record else ""
    return f"| `{parameter.metavar or parameter.name.upper()}` | {_text(getattr(parameter, 'help', '') or '')} |"


def _text(text: str) -> str:
    return re.sub(r"([|\[])", r"\\\1", " ".join(text.split()))


if __name__ == "__main__":
    PAGE.write_text(page())
