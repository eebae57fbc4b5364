"""``proctor harness``: CLI agents, such as Claude Code and Codex, as participants."""

from typing import Annotated

import typer
from typer import Argument

from proctor.cli import options

app = typer.Typer(no_args_is_help=True, help="CLI agents, such as Claude Code, as participants.", rich_markup_mode=None)

_NameArgument = Annotated[str, Argument(metavar="NAME", help="A CLI agent, such as claude-code.")]


@app.command("list")
def list_harnesses() -> None:
    """List the CLI agents that are known, and which are installed."""
    from proctor.cli.harness_commands import print_list

    print_list()


@app.command()
def show(name: _NameArgument) -> None:
    """Show how a CLI agent is started in a turn: files, commands, environment."""
    from proctor.cli.harness_commands import print_one

    print_one(name)


@app.command()
def install(names: Annotated[list[str], Argument(metavar="NAME…", help="CLI agents; `all` for each.")]) -> None:
    """Install CLI agents from npm or PyPI into ~/.cache/proctor/harness."""
    from proctor.cli.harness_commands import install_all

    install_all(names)


@app.command("try")
def try_harness(
    name: _NameArgument,
    model: options.HarnessModel = None,
    model_url: options.ModelUrl = None,
    program: options.Program = None,
) -> None:
    """Say within a minute whether installation, key, model and MCP of a CLI agent work."""
    from proctor.cli.harness_commands import try_one

    raise typer.Exit(try_one(name, model, model_url, program))
