"""Output for people: on a terminal, with colours and its width; in a file or a pipe, as plain lines."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from purple_sdk.processes.announcing import printable

PLAIN_WIDTH = 120
"""Columns of the output if it doesn't go to a terminal."""


class _CleanConsole(Console):
    """Removes control characters from other people's texts before it prints them."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def make_console(file: TextIO | None = None) -> Console:
    file = file or sys.stdout
    return _CleanConsole(file=file, highlight=False, emoji=False, width=None if file.isatty() else PLAIN_WIDTH)


def plain_table(*headings: str | Text, numbers: Sequence[str | Text] = (), **options: Any) -> Table:
    """A table without lines. Columns of text (``headings``) wrap, but ``numbers`` don't; ``options`` are rich's."""
    table = Table(**{"box": None, "pad_edge": False, "padding": (0, 2, 0, 0), "header_style": "bold", **options})
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def show(console: Console, content: RenderableType) -> None:
    """Print an object. If the output isn't a terminal, leave out the spaces that pad a table's last column."""
    if console.is_terminal:
        console.print(content)
        return
    with console.capture() as captured:
        console.print(content)
    for line in captured.get().splitlines():
        console.file.write(line.rstrip() + "\n")
    console.file.flush()


def command_name() -> str:
    """The command that calls ``proctor``: its name if the program is on the PATH, else its path.

    Under ``uv``, it is always the path, since ``uv`` puts an environment on the PATH only while a program runs.
    """
    program = Path(sys.argv[0])
    if program.name != "proctor" or not program.is_file():
        return "proctor"
    on_path = shutil.which("proctor")
    if on_path and "UV" not in os.environ and Path(on_path).samefile(program):
        return "proctor"
    here = Path.cwd()
    return str(program.absolute().relative_to(here) if program.absolute().is_relative_to(here) else program.absolute())
