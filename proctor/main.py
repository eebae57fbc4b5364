"""The command line. Each command imports its room only when it runs, so that help is there at once."""

import os
import sys
from typing import Annotated

import typer

from proctor.commands import (
    agent,
    assess,
    cancel,
    check_agent,
    codec_server,
    compare,
    datasets,
    demo,
    doctor,
    export,
    follow,
    fork,
    forks,
    gateway,
    harness,
    import_archive,
    judge,
    list_archive,
    new_agent,
    new_family,
    new_scenario,
    play,
    prune,
    replay,
    run,
    scenarios,
    schema,
    show,
    terminal_bench,
    token,
    ues,
    up,
    view,
    worker,
)
from proctor.errors import CommandError, fit
from proctor.help_pages import CommandWithExamples, GroupedCommands
from proctor_processes.announcing import announce

_SERVICES = ("worker", "gateway", "ues")
"""The commands whose warnings are log lines."""

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
    if ctx.invoked_subcommand in _SERVICES:
        from proctor.settings import announce_as_logs

        announce_as_logs()
    if any(name.upper().startswith("AGENTBEATS_") for name in os.environ):
        from proctor.settings import warn_of_unknown_variables

        warn_of_unknown_variables()


app.command("up", cls=CommandWithExamples)(up.up)
app.command("demo", cls=CommandWithExamples)(demo.demo)
app.command("assess", cls=CommandWithExamples)(assess.assess)
app.command("play", cls=CommandWithExamples)(play.play)
app.command("list", cls=CommandWithExamples)(list_archive.list_archive)
app.command("show", cls=CommandWithExamples)(show.show)
app.command("follow", cls=CommandWithExamples)(follow.follow)
app.command("cancel", cls=CommandWithExamples)(cancel.cancel)
app.command("compare", cls=CommandWithExamples)(compare.compare)
app.command("export", cls=CommandWithExamples)(export.export)
app.command("import", cls=CommandWithExamples)(import_archive.import_archive)
app.command("prune", cls=CommandWithExamples)(prune.prune)
app.command("schema", cls=CommandWithExamples)(schema.schema)
app.command("view", cls=CommandWithExamples)(view.view)
app.command("replay", cls=CommandWithExamples)(replay.replay)
app.command("fork", cls=CommandWithExamples)(fork.fork)
app.command("forks", cls=CommandWithExamples)(forks.forks)
app.command("doctor", cls=CommandWithExamples)(doctor.doctor)
app.command("worker", cls=CommandWithExamples)(worker.worker)
app.command("gateway", cls=CommandWithExamples)(gateway.gateway)
app.command("ues", cls=CommandWithExamples)(ues.ues)
app.command("codec-server", cls=CommandWithExamples)(codec_server.codec_server)
app.command("new-agent", cls=CommandWithExamples)(new_agent.new_agent)
app.command("new-scenario", cls=CommandWithExamples)(new_scenario.new_scenario)
app.command("new-family", cls=CommandWithExamples)(new_family.new_family)
app.command("check-agent", cls=CommandWithExamples)(check_agent.check_agent)
app.command("run", cls=CommandWithExamples)(run.run)
app.add_typer(agent.app, name="agent")
app.add_typer(harness.app, name="harness")
app.add_typer(scenarios.app, name="scenarios")
app.add_typer(judge.app, name="judge")
app.add_typer(terminal_bench.app, name="terminal-bench")
app.add_typer(token.app, name="token")
for _group in (agent.app, harness.app, scenarios.app, judge.app, terminal_bench.app, token.app, datasets.app):
    for _command in _group.registered_commands:
        _command.cls = CommandWithExamples


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app()
    except CommandError as problem:
        announce(fit(f"proctor: {problem}", sys.stderr), "ERROR", sys.stderr)
        sys.exit(problem.exit_code)
