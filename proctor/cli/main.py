"""The command line. A command imports its modules when it runs, so help appears at once."""

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated

import typer

from proctor.cli.commands import (
    agent,
    archive,
    assessing,
    datasets,
    harness,
    judge,
    projects,
    results,
    scenarios,
    services,
    terminal_bench,
    token,
    under_way,
)
from proctor.cli.help_pages import CommandWithExamples, GroupedCommands
from proctor.common.errors import CommandError, UsageError, ending_as, fit
from proctor.processes.log_files import reopen_on_hangup
from purple_sdk.processes.announcing import announce
from purple_sdk.processes.environment import BadEnvironmentError, keep_loopback_direct, require_readable_names

_SERVICES = ("worker", "gateway", "ues")  # the commands whose warnings are log lines
_ROTATED = (*_SERVICES, "up", "agent", "codec-server")  # the commands whose output a SIGHUP opens again

app = typer.Typer(
    name="proctor",
    cls=GroupedCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A durable evaluator of AI agents: A2A in, Temporal underneath, scores out.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 can't reach a service, 4 cancelled. "
    "Settings come from flags, then from AGENTBEATS_* environment variables.",
)


def _show_version(is_set: bool) -> None:
    if is_set:
        from importlib.metadata import version

        print(f"proctor {version('proctor')}")
        raise typer.Exit


@app.callback()
def before_every_command(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """A durable evaluator of AI agents: A2A in, Temporal underneath, scores out."""
    del version
    if ctx.invoked_subcommand in _ROTATED:
        reopen_on_hangup()
    if ctx.invoked_subcommand in _SERVICES:
        from proctor.common.settings import announce_as_logs

        announce_as_logs()
    if any(name.upper().startswith("AGENTBEATS_") for name in os.environ):
        from proctor.common.settings import warn_of_unknown_variables

        warn_of_unknown_variables()


_GROUPS = {
    "agent": agent.app,
    "harness": harness.app,
    "scenarios": scenarios.app,
    "judge": judge.app,
    "terminal-bench": terminal_bench.app,
    "token": token.app,
}

for _commands in (assessing.app, under_way.app, results.app, archive.app, services.app, projects.app):
    app.registered_commands += _commands.registered_commands
for _name, _group in _GROUPS.items():
    app.add_typer(_group, name=_name)
for _commands in (app, *_GROUPS.values(), datasets.app):
    for _command in _commands.registered_commands:
        _command.cls = CommandWithExamples


@cache
def build() -> Callable[..., object]:
    return typer.main.get_command(app)


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        with ending_as(UsageError, BadEnvironmentError):
            require_readable_names()
            keep_loopback_direct()
            build()()
    except CommandError as error:
        announce(fit(f"proctor: {error}", sys.stderr), "ERROR", sys.stderr)
        sys.exit(error.exit_code)
