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
    from proctor.common.console import make_console, plain_table, show
    from purple_sdk.harness.clis import HARNESSES
    from purple_sdk.harness.declared import HarnessError
    from purple_sdk.harness.installing import find_program

    table = plain_table("name", "agent", "asks its model by", "installed")
    for harness in HARNESSES.values():
        try:
            where = find_program(harness)
        except HarnessError:
            where = f"no: `proctor harness install {harness.name}` ({harness.size})"
            where = where if harness.packages else "named by --program"
        table.add_row(harness.name, harness.title, harness.wire, where)
    show(make_console(), table)


@app.command()
def show(name: _NameArgument) -> None:
    """Show how a CLI agent is started in a turn: files, commands, environment."""
    from pathlib import Path

    from proctor.cli.harness_trial import known_harness
    from purple_sdk.harness.declared import TOKEN_VARIABLE, Launch
    from purple_sdk.harness.installing import cache_folder

    harness = known_harness(name)
    first = Launch("PROGRAM", "MODEL", "PROMPT", None, "SESSION", Path("HOME"), Path("WORK"), "http://RELAY")
    later = Launch("PROGRAM", "MODEL", "PROMPT", "SESSION", "SESSION", Path("HOME"), Path("WORK"), "http://RELAY")
    where = f"{', '.join(harness.packages)} ({harness.size}), in {cache_folder(harness)}"
    lines = [
        f"{harness.title}: {where if harness.packages else 'named by --program'}",
        f"asks its model by: {harness.wire}",
        f"first turn:  {' '.join(harness.command(first))}",
        f"later turns: {' '.join(harness.command(later))}",
        *(f"environment: {key}={value}" for key, value in harness.environment(first).items()),
        f"environment: {TOKEN_VARIABLE}: the turn's key for the relay, at which it finds its model and the simulation",
    ]
    for path, content in harness.files(first).items():
        lines += [f"\nHOME/{path}", content]
    print("\n".join(lines))


@app.command()
def install(names: Annotated[list[str], Argument(metavar="NAME…", help="CLI agents; `all` for each.")]) -> None:
    """Install CLI agents from npm or PyPI into ~/.cache/proctor/harness."""
    import asyncio
    import time

    from proctor.cli.harness_trial import known_harness
    from proctor.common.errors import CommandError, ending_as
    from purple_sdk.harness import installing
    from purple_sdk.harness.clis import HARNESSES
    from purple_sdk.harness.declared import HarnessError

    chosen = list(HARNESSES.values()) if "all" in names else [known_harness(name) for name in names]
    for harness in chosen:
        if not harness.packages:
            print(f"{harness.title}: nothing to install, --program names it", flush=True)
            continue
        print(f"{harness.title}: installing {', '.join(harness.packages)} ({harness.size}) ...", flush=True)
        began = time.monotonic()
        with ending_as(CommandError, HarnessError):
            version = asyncio.run(installing.install(harness))
        print(f"{harness.title}: {version}, in {time.monotonic() - began:.0f} s", flush=True)


@app.command("try")
def try_harness(
    name: _NameArgument,
    model: options.HarnessModel = None,
    model_url: options.ModelUrl = None,
    program: options.Program = None,
) -> None:
    """Say within a minute whether installation, key, model and MCP of a CLI agent work."""
    import asyncio

    from rich.text import Text

    from proctor.cli.harness_trial import TRY_SECONDS, known_harness, try_one
    from proctor.common.console import make_console
    from proctor.common.errors import ExitCode
    from proctor.local.harness_runs import read_harness_settings
    from purple_sdk.harness import agents_files
    from purple_sdk.harness.declared import HarnessError

    harness = known_harness(name)
    console = make_console()
    flags = {"harness": name, "model": model, "model_base_url": model_url, "program": program}
    try:
        with agents_files.temporary_folder("proctor-try-") as folder:
            config = read_harness_settings(**flags, homes=folder, turn_seconds=TRY_SECONDS)
            asyncio.run(try_one(harness, config, console))
    except HarnessError as error:
        console.print(Text(f"wrong      {error}", style="bold red"), soft_wrap=True)
        raise typer.Exit(ExitCode.FAILED) from None
