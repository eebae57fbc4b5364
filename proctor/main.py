"""The command line. Each command imports its room only when it runs, so that help is there at once."""

import os
import sys
from typing import Annotated, Any

import typer

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
agent_app = typer.Typer(no_args_is_help=True, help="Agents that come with proctor.", rich_markup_mode=None)
scenarios_app = typer.Typer(no_args_is_help=True, help="List, show and check scenarios.", rich_markup_mode=None)
terminal_app = typer.Typer(
    no_args_is_help=True, help="Terminal-Bench: agents in a terminal, tested.", rich_markup_mode=None
)
judge_app = typer.Typer(no_args_is_help=True, help="The models that judge.", rich_markup_mode=None)
app.add_typer(agent_app, name="agent")
app.add_typer(scenarios_app, name="scenarios")
app.add_typer(judge_app, name="judge")
app.add_typer(terminal_app, name="terminal-bench")
datasets_app = typer.Typer(no_args_is_help=True, help="Datasets of terminal tasks.", rich_markup_mode=None)
terminal_app.add_typer(datasets_app, name="datasets")

token_app = typer.Typer(no_args_is_help=True, help="Who may ask the gateway.", rich_markup_mode=None)
app.add_typer(token_app, name="token")


def _use_token_file(file: str | None) -> None:
    """One place says where the token is: the environment, which a flag overrules."""
    if file is not None:
        os.environ.pop("AGENTBEATS_TOKEN", None)
        os.environ["AGENTBEATS_TOKEN_FILE"] = file


HostOption = Annotated[
    str | None, typer.Option(metavar="HOST", help="Address to listen on; 0.0.0.0 for all.  [default: 127.0.0.1]")
]
PortOption = Annotated[
    int | None, typer.Option(metavar="PORT", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
]
CardUrlOption = Annotated[str | None, typer.Option(metavar="URL", help="Address that the agent card names.")]
TemporalOption = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Temporal's front end.  [default: 127.0.0.1:7233]")
]
StorageOption = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE",
        help="Folder or fsspec URL of checkpoints and large payloads.  [default: storage in the state folder]",
    ),
]
ScenariosOption = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder that holds the scenario packages.  [default: scenarios, else those that came with proctor]",
    ),
]
StateOption = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder for what outlives a process: secret, checkpoints.  [default: ~/.local/state/proctor]",
    ),
]
OpenOption = Annotated[
    bool,
    typer.Option("--open", help="Listen beyond this machine though nobody is asked who they are: there are no tokens."),
]
TokenFileOption = Annotated[
    str | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        callback=_use_token_file,
        expose_value=False,
        help="A file with your token, where the gateway asks for one.  [default: AGENTBEATS_TOKEN or …_TOKEN_FILE]",
    ),
]
GatewayOption = Annotated[
    str | None,
    typer.Option(
        "--gateway",
        metavar="URL",
        help="The evaluator's address.  [default: AGENTBEATS_GATEWAY_URL, else this machine's]",
    ),
]
SeedOption = Annotated[int | None, typer.Option(metavar="N", help="What every random choice derives from.")]


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
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


@app.command()
def up(
    port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="The gateway's port.  [default: 8000]")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="Address that gateway and simulator listen on; 0.0.0.0 for all.  [default: 127.0.0.1]",
        ),
    ] = None,
    card_url: CardUrlOption = None,
    ues_host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address that the simulator listens on, if not that of --host.")
    ] = None,
    ues_public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Simulator's address for participants elsewhere.  [default: made from --card-url]"
        ),
    ] = None,
    ues_port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="The simulator's port.  [default: 8100]")
    ] = None,
    temporal_port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65535, help="Temporal's port.")] = 7233,
    ui_port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65535, help="The Temporal UI's port.")] = 8233,
    agent_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT", min=1, max=65535, help="The baseline agent's port.  [default: 8099, or a free one]"
        ),
    ] = None,
    with_agent: Annotated[
        bool,
        typer.Option(
            "--with-agent/--without-agent", help="Run the baseline agent too; the card's example request assesses it."
        ),
    ] = True,
    scenarios_dir: ScenariosOption = None,
    state: StateOption = None,
    is_open: OpenOption = False,
) -> None:
    """Run everything on this machine until Ctrl-C. Assessments in progress go on at the next start."""
    from proctor.up import run_up

    run_up(
        host=host,
        port=port,
        card_url=card_url,
        ues_host=ues_host,
        ues_port=ues_port,
        ues_public_url=ues_public_url,
        temporal_port=temporal_port,
        ui_port=ui_port,
        agent_port=agent_port,
        with_agent=with_agent,
        scenarios_dir=scenarios_dir,
        state=state,
        is_open=is_open,
    )


@app.command()
def demo(
    scenario: Annotated[str, typer.Option(metavar="ID", help="The scenario to play.")] = "email_triage_basic",
    seed: Annotated[int, typer.Option(metavar="N", help="What every random choice derives from.")] = 42,
    keep: Annotated[bool, typer.Option("--keep", help="Stay up afterwards, until Ctrl-C.")] = False,
) -> None:
    """Play a scenario with the baseline agent. Needs no model; writes assessment_results.json here.

    The assessment is kept in the archive: `proctor list` shows it.
    """
    from proctor.demo import run_demo

    raise typer.Exit(run_demo(scenario, seed, keep))


@app.command()
def assess(
    scenarios: Annotated[
        list[str], typer.Argument(metavar="SCENARIO", help="The scenario's id; see `proctor scenarios list`.")
    ],
    agent_urls: Annotated[
        list[str], typer.Option("--agent", metavar="URL", help="The A2A address of the agent to assess.")
    ],
    gateway_url: GatewayOption = None,
    seed: SeedOption = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Without any model: scripted characters, mechanical judging.")
    ] = False,
    max_turns: Annotated[int | None, typer.Option(metavar="N", min=1, help="At most so many turns.")] = None,
    turn_timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="What the agent may take for a turn.")
    ] = None,
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the exact result there; - is standard output.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but problems.")] = False,
    is_whole: Annotated[
        bool, typer.Option("--all", help="Show every criterion, not only where most points were lost.")
    ] = False,
    token_file: TokenFileOption = None,
) -> None:
    """Assess an agent and show how it does. Ctrl-C cancels the assessment."""
    from proctor.commands.assess import AssessOptions, require_one, run_assess
    from proctor.settings import default_gateway

    require_one(scenarios, agent_urls)
    has_warned = False
    if offline and not quiet:
        from proctor.scenario_commands import warn_of_unscored_points

        has_warned = warn_of_unscored_points(scenarios[0])
    options = AssessOptions(
        scenario_id=scenarios[0],
        agent_url=agent_urls[0],
        gateway_url=gateway_url or default_gateway(),
        seed=seed,
        offline=offline,
        max_turns=max_turns,
        turn_timeout=turn_timeout,
        json_file=json_file,
        quiet=quiet,
        is_whole=is_whole,
        has_warned=has_warned,
    )
    raise typer.Exit(run_assess(options))


@app.command()
def play(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="A scenario's id, or its folder.")],
    gateway_url: Annotated[
        str | None,
        typer.Option("--gateway", metavar="URL", help="A running evaluator.  [default: one that is started for this]"),
    ] = None,
    seed: SeedOption = None,
    max_turns: Annotated[int | None, typer.Option(metavar="N", min=1, help="At most so many turns.")] = None,
    with_models: Annotated[
        bool, typer.Option("--with-models", help="Models play the people and judge; without, scripts and checks do.")
    ] = False,
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the exact result there.")
    ] = None,
    is_whole: Annotated[
        bool, typer.Option("--all", help="Show every criterion, not only where most points were lost.")
    ] = False,
    scenarios_dir: ScenariosOption = None,
) -> None:
    """Be the participant yourself, turn by turn, and see the score. Lines may come from a pipe; Ctrl-C cancels."""
    from proctor.play.command import PlayOptions, run_play

    options = PlayOptions(
        scenario=scenario,
        gateway_url=gateway_url,
        scenarios_dir=scenarios_dir,
        seed=seed,
        max_turns=max_turns,
        with_models=with_models,
        json_file=json_file,
        is_whole=is_whole,
    )
    raise typer.Exit(run_play(options))


IdArgument = Annotated[str, typer.Argument(metavar="ID", help="An assessment's id, or a beginning that only it has.")]
ArchiveOption = Annotated[
    str | None,
    typer.Option("--archive", metavar="PLACE", help="The archive.  [default: archive in the state folder]"),
]


@app.command("list")
def list_archive(
    scenario: Annotated[str | None, typer.Option(metavar="ID", help="Of this scenario.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="WORDS", help="Of agents with this in name or address.")] = None,
    status: Annotated[
        str | None, typer.Option(metavar="S", help="That ended so: completed, failed, timeout, canceled.")
    ] = None,
    campaign: Annotated[str | None, typer.Option(metavar="ID", help="Of this campaign.")] = None,
    since: Annotated[str | None, typer.Option(metavar="WHEN", help="Begun then or later: a date, or 7d.")] = None,
    until: Annotated[str | None, typer.Option(metavar="WHEN", help="Begun before.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="All that is known of each, as JSON.")] = False,
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """List what was assessed, the latest first. Needs nothing that runs."""
    from proctor.archive_commands import Filters, list_entries

    list_entries(archive, state, Filters(scenario, agent, status, campaign, since, until), limit, as_json)


@app.command()
def show(
    name: IdArgument,
    is_whole: Annotated[bool, typer.Option("--all", help="Every criterion.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The exact result, as JSON.")] = False,
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """Show an assessment's result, and where its points were lost."""
    from proctor.archive_commands import show_entry

    show_entry(archive, state, name, as_json, is_whole)


@app.command()
def follow(
    name: Annotated[str, typer.Argument(metavar="ID", help="The assessment's or the campaign's task id.")],
    gateway_url: GatewayOption = None,
    output: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Gets a folder with a campaign's results.")
    ] = None,
    token_file: TokenFileOption = None,
) -> None:
    """Follow an assessment or a campaign, from its beginning. Ctrl-C leaves it alone."""
    from proctor.settings import default_gateway
    from proctor.under_way_commands import run_follow

    raise typer.Exit(run_follow(gateway_url or default_gateway(), name, output))


@app.command()
def cancel(
    name: Annotated[str, typer.Argument(metavar="ID", help="The assessment's or the campaign's task id.")],
    gateway_url: GatewayOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Cancel an assessment, or a campaign as a whole. What was done so far is kept."""
    from proctor.settings import default_gateway
    from proctor.under_way_commands import run_cancel

    run_cancel(gateway_url or default_gateway(), name)


@app.command()
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="An assessment's id or its beginning; or an agent's name.")],
    second: Annotated[str, typer.Argument(metavar="B", help="What it is compared with.")],
    campaign: Annotated[str | None, typer.Option(metavar="ID", help="Agents by what this campaign has played.")] = None,
    difference: Annotated[
        int, typer.Option(metavar="POINTS", min=1, max=100, help="Say how many runs would show one of so many.")
    ] = 5,
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """Show two assessments side by side, and where they part. Or two agents, by all that both have played."""
    from proctor.archive_commands import compare

    compare(archive, state, first, second, campaign, difference)


@app.command()
def export(
    names: Annotated[list[str], typer.Argument(metavar="ID...", help="Assessments, or `all`.")],
    to: Annotated[
        str, typer.Option(metavar="PLACE", help="A folder for `proctor import`, or a file: .html, .csv, .parquet.")
    ],
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """Write assessments elsewhere. A page (.html) holds everything and opens without a network."""
    from proctor.archive_commands import export as write

    write(archive, state, names, to)


@app.command("import")
def import_archive(
    folder: Annotated[str, typer.Argument(metavar="PLACE", help="A folder that `proctor export` wrote.")],
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """Take over what was exported elsewhere."""
    from proctor.archive_commands import import_from

    import_from(archive, state, folder)


@app.command()
def prune(
    older_than: Annotated[str, typer.Option(metavar="PERIOD", help="Older than this: 30d, 8w.")],
    with_results: Annotated[bool, typer.Option("--results", help="Results, too, and not only checkpoints.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Without asking.")] = False,
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """Remove old checkpoints. Says first what it would remove; results stay unless --results is given."""
    from proctor.archive_commands import prune as remove

    raise typer.Exit(remove(archive, state, older_than, with_results, yes))


@app.command()
def schema(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One file of an entry, or one message.")] = None,
    wire: Annotated[
        bool, typer.Option("--wire", help="The messages between evaluator, agent and caller in place of the files.")
    ] = False,
) -> None:
    """Print the JSON schemas of the files in the archive, or of all that crosses the wire."""
    from proctor.archive_commands import print_schemas

    print_schemas(name, wire=wire)


@app.command()
def view(
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Open the page of this assessment or campaign.")
    ] = None,
    host: HostOption = None,
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes a free one.")] = 8010,
    archive: ArchiveOption = None,
    state: StateOption = None,
    is_open: OpenOption = False,
) -> None:
    """Serve pages over what was assessed, until Ctrl-C. `proctor up` has them at the gateway's address, too."""
    from proctor.archive_commands import view as serve

    serve(archive, state, host, port, is_open=is_open, name=name)


@app.command()
def replay(
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="The assessment's task id, which is its workflow id.")],
    from_turn: Annotated[int | None, typer.Option(metavar="N", min=1, help="Play again from this turn on.")] = None,
    from_judging: Annotated[bool, typer.Option("--from-judging", help="Keep all turns, and judge again.")] = False,
    with_current_evaluators: Annotated[
        bool,
        typer.Option(
            "--with-current-evaluators",
            help="Judge again by the scenario's evaluators as they are now, not as they were at admission.",
        ),
    ] = False,
    gateway_url: GatewayOption = None,
    temporal_address: Annotated[
        str | None, typer.Option(help="Temporal's front end, host:port (default: the gateway's).")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Reset a completed assessment without asking.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
    token_file: TokenFileOption = None,
) -> None:
    """Reset an assessment to a turn and follow it. Without a wish it goes on from what failed."""
    from proctor.replay import ReplayOptions, run_replay
    from proctor.settings import default_gateway

    options = ReplayOptions(
        task_id=task_id,
        gateway_url=gateway_url or default_gateway(),
        temporal_address=temporal_address,
        from_turn=from_turn,
        from_judging=from_judging,
        with_current_evaluators=with_current_evaluators,
        is_agreed=yes,
        quiet=quiet,
    )
    raise typer.Exit(run_replay(options))


@app.command()
def fork(
    task_id: Annotated[
        str, typer.Argument(metavar="TASK", help="The assessment's id, or a beginning that only it has.")
    ],
    from_turn: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The first turn that is played anew; those before it stay.")
    ] = None,
    every_turn: Annotated[bool, typer.Option("--every-turn", help="Forks from each turn that it has played.")] = False,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="[NAME=]URL", help="Who plays the rest.  [default: the same agent]"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="What characters do from there on.  [default: the same seed]")
    ] = None,
    repeats: Annotated[int | None, typer.Option(metavar="K", min=1, help="How often each is played.")] = None,
    at_once: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most so many at once.  [default: 4]")
    ] = None,
    max_turns: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most so many turns, inherited ones counted.")
    ] = None,
    gateway_url: GatewayOption = None,
    output: Annotated[str, typer.Option(metavar="FOLDER", help="Gets a folder with the results of several.")] = "runs",
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the exact result of one; - is standard output.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but problems.")] = False,
) -> None:
    """Begin with another assessment's turns, and play the rest. The other one stays as it is."""
    from proctor.fork import ForkOptions, run_fork
    from proctor.settings import default_gateway

    options = ForkOptions(
        task_id=task_id,
        gateway_url=gateway_url or default_gateway(),
        from_turn=from_turn,
        every_turn=every_turn,
        agents=tuple(agent or ()),
        seed=seed,
        repeats=repeats,
        at_once=at_once,
        max_turns=max_turns,
        json_file=json_file,
        output=output,
        quiet=quiet,
    )
    raise typer.Exit(run_fork(options))


@app.command()
def forks(name: IdArgument, archive: ArchiveOption = None, state: StateOption = None) -> None:
    """Say what an assessment's forks show. How far its score was still open at each turn, and which turn decided."""
    from proctor.fork_report import compare_forks

    compare_forks(archive, state, name)


@app.command()
def doctor(
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="URL", help="A participant that is to be assessed; may be repeated."),
    ] = None,
    gateway_url: GatewayOption = None,
    temporal_address: TemporalOption = None,
    ues_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The simulator's address.  [default: http://127.0.0.1:8100]")
    ] = None,
    storage_url: StorageOption = None,
    state: StateOption = None,
    asks_models: Annotated[
        bool, typer.Option("--models/--no-models", help="Ask each model of the settings for one token.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Look at every part of a deployment, and say what to mend."""
    from proctor.doctor.command import run_doctor

    ended = run_doctor(
        agents=agent or [],
        gateway_url=gateway_url,
        temporal_address=temporal_address,
        ues_url=ues_url,
        storage_url=storage_url,
        state=state,
        asks_models=asks_models,
        as_json=as_json,
    )
    raise typer.Exit(ended)


@app.command()
def worker(
    temporal_address: TemporalOption = None,
    ues_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The simulator's address.  [default: http://127.0.0.1:8100]")
    ] = None,
    scenarios_dir: ScenariosOption = None,
    storage_url: StorageOption = None,
    state: StateOption = None,
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=256, help="How many processes work.  [default: as many as there are cores]"
        ),
    ] = None,
) -> None:
    """Run a worker, which plays assessments."""
    from proctor.services import run_worker

    run_worker(temporal_address, ues_url, scenarios_dir, storage_url, state, processes)


@app.command()
def gateway(
    host: HostOption = None,
    port: PortOption = None,
    card_url: CardUrlOption = None,
    temporal_address: TemporalOption = None,
    storage_url: StorageOption = None,
    state: StateOption = None,
    is_open: OpenOption = False,
) -> None:
    """Run the gateway, which callers talk to by A2A."""
    from proctor.services import run_gateway

    run_gateway(host, port, card_url, temporal_address, storage_url, state, is_open)


@app.command()
def ues(
    host: HostOption = None,
    port: PortOption = None,
    single: Annotated[
        bool, typer.Option("--single", help="One simulation at the root, as a UES server has it (UES_ADMIN_KEY).")
    ] = False,
    public_url: Annotated[str | None, typer.Option(metavar="URL", help="Address under which others reach it.")] = None,
    state: StateOption = None,
) -> None:
    """Run the simulator."""
    from proctor.services import run_ues

    run_ues(host, port, single, public_url, state)


@app.command("codec-server")
def codec_server(
    host: HostOption = None,
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes a free one.")] = 8234,
    ui_origins: Annotated[
        list[str] | None,
        typer.Option(
            "--ui-origin",
            metavar="ORIGIN",
            help="The Temporal UI's scheme, host and port; may be repeated.  [default: http://127.0.0.1:8233]",
        ),
    ] = None,
    state: StateOption = None,
    is_open: OpenOption = False,
) -> None:
    """Decode encrypted payloads for the Temporal UI and the command temporal (--codec-endpoint)."""
    from proctor.codec_server import run_codec_server

    run_codec_server(host, port, ui_origins or [], state, is_open)


@app.command("new-agent")
def new_agent(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project's name, such as mail-clerk.")],
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="Where to make the project's folder.")] = ".",
) -> None:
    """Write a project for an agent of your own: agent, tests, Dockerfile, README."""
    from pathlib import Path

    from proctor.new_agent import new_agent

    raise typer.Exit(new_agent(name, Path(folder)))


@app.command("new-scenario")
def new_scenario(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The scenario's id, such as team-lunch.")],
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="Where to make the scenario's folder.")] = ".",
) -> None:
    """Write a scenario of your own: people, mails, criteria, calibration cases, participants that test it."""
    from pathlib import Path

    from proctor.new_scenario import new_scenario

    raise typer.Exit(new_scenario(name, Path(folder)))


@app.command("check-agent")
def check_agent(
    url: Annotated[str, typer.Argument(metavar="URL", help="The agent's address, such as http://localhost:8001.")],
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, max=3600, help="How long the agent has for each message.")
    ] = 60.0,
    host: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="This machine's address, as the agent reaches it.  [default: 127.0.0.1]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Play a miniature assessment with an agent, and say what it does right and wrong."""
    from proctor.agent_check.command import check_agent

    raise typer.Exit(check_agent(url, timeout=timeout, host=host, as_json=as_json))


@agent_app.callback()
def agent() -> None:
    """Agents that come with proctor."""


@agent_app.command()
def triage(host: HostOption = None, port: PortOption = None, card_url: CardUrlOption = None) -> None:
    """Run the rule-based baseline for email_triage_basic."""
    from proctor.services import run_agent

    run_agent("triage", host, port, card_url)


@agent_app.command()
def assistant(host: HostOption = None, port: PortOption = None, card_url: CardUrlOption = None) -> None:
    """Run the assistant that a language model drives (AGENTBEATS_PURPLE_MODEL)."""
    from proctor.services import run_agent

    run_agent("assistant", host, port, card_url)


@agent_app.command()
def reschedule(host: HostOption = None, port: PortOption = None, card_url: CardUrlOption = None) -> None:
    """Run the rule-based agent for reschedule_day."""
    from proctor.services import run_agent

    run_agent("reschedule", host, port, card_url)


@agent_app.command()
def terminal(
    host: HostOption = None,
    port: PortOption = None,
    card_url: CardUrlOption = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model.  [default: gpt-4o]")] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the model is served, if not by its provider.")
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How often the model is asked for one task.")
    ] = None,
    blocked: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Commands that it refuses to run, by commas.")
    ] = None,
) -> None:
    """Run the agent that works in a terminal: a language model that runs commands."""
    from proctor.services import run_terminal_agent

    run_terminal_agent(
        host=host,
        port=port,
        card_url=card_url,
        model=model,
        model_base_url=base_url,
        max_iterations=max_iterations,
        blocked_commands=blocked,
    )


@app.command()
def run(
    what: Annotated[list[str], typer.Argument(metavar="SCENARIO…", help="Scenarios to play, or a campaign.toml.")],
    agent: Annotated[
        list[str] | None, typer.Option("--agent", metavar="NAME=URL", help="An agent; may be given several times.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="1-5,9", help="Seeds to play each scenario with.  [default: 42]")
    ] = None,
    repeats: Annotated[int | None, typer.Option(metavar="N", min=1, help="How often each is played.")] = None,
    at_once: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most so many at once.  [default: 4]")
    ] = None,
    at_once_per_agent: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most so many at once with one agent.")
    ] = None,
    at_once_per_model: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most so many at once that ask one model.")
    ] = None,
    tries: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=10, help="Plays of one that fails by no fault of its agent's."),
    ] = None,
    play_again: Annotated[
        str | None, typer.Option(metavar="WHICH", help="`failed`: those that fail by their agent's fault, too.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="X", help="Begin nothing that would probably pass this cost.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Begin nothing that would probably use more tokens.")
    ] = None,
    max_hours: Annotated[
        float | None, typer.Option(metavar="H", help="Begin nothing that would probably take longer.")
    ] = None,
    max_turns: Annotated[int | None, typer.Option(metavar="N", min=1, help="End each after so many turns.")] = None,
    pass_mark: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT", min=0, max=100, help="The share of the judged points that passes a run.  [default: 60]"
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", metavar="MODEL", help="A model that judges; may be given several times."),
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Play and judge without any model.")] = False,
    grow: Annotated[
        str | None, typer.Option(metavar="TASK", help="Take over what this ended campaign has played.")
    ] = None,
    gateway_url: GatewayOption = None,
    output: Annotated[str, typer.Option(metavar="FOLDER", help="Gets a folder with the results.")] = "runs",
    detach: Annotated[bool, typer.Option("--detach", help="Start it, and don't wait.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but problems.")] = False,
    token_file: TokenFileOption = None,
) -> None:
    """Play a campaign. Agents × scenarios × seeds × repeats, and what they say together."""
    from proctor.commands.run import RunOptions, run_campaign
    from proctor.run_settings import agents_in, checked, read_campaign, seeds_in
    from proctor.settings import default_gateway

    is_file = len(what) == 1 and what[0].endswith(".toml")
    request: dict[str, Any] = {"participants": {}, "config": {"scenarios": what}}
    if is_file:
        request = read_campaign(what[0])
    request["participants"] = {**request["participants"], **agents_in(agent or [])}
    chosen: dict[str, Any] = {
        "seeds": seeds_in(seeds) if seeds is not None else None,
        "repeats": repeats,
        "at_once": at_once,
        "at_once_per_participant": at_once_per_agent,
        "at_once_per_model": at_once_per_model,
        "tries": tries,
        "play_again": play_again,
        "max_cost": max_cost,
        "max_tokens": max_tokens,
        "max_hours": max_hours,
        "max_turns": max_turns,
        "passing_percent": pass_mark,
        "judges": judge or None,
        "offline": offline or None,
        "grows": grow,
    }
    request["config"] |= {name: value for name, value in chosen.items() if value is not None}
    options = RunOptions(
        request=checked(request, what[0] if is_file else "proctor run"),
        gateway_url=gateway_url or default_gateway(),
        output=output,
        detach=detach,
        quiet=quiet,
    )
    raise typer.Exit(run_campaign(options))


@scenarios_app.command("list")
def list_scenarios(scenarios_dir: ScenariosOption = None) -> None:
    """List the scenarios that there are."""
    from proctor.scenario_commands import list_scenarios

    raise typer.Exit(list_scenarios(scenarios_dir))


@scenarios_app.command("show")
def show_scenario(
    scenario_id: Annotated[str, typer.Argument(metavar="ID", help="The scenario's id.")],
    scenarios_dir: ScenariosOption = None,
) -> None:
    """Show a scenario. What the user wants, who is in it, what is scored and who judges it."""
    from proctor.scenario_commands import show_scenario

    show_scenario(scenario_id, scenarios_dir)


@scenarios_app.command("validate")
def validate_scenario(
    scenario: Annotated[str, typer.Argument(metavar="PATH_OR_ID", help="A scenario's folder, or its id.")],
    scenarios_dir: ScenariosOption = None,
) -> None:
    """Check a scenario. Exit code 1 where it can't be played."""
    from proctor.scenario_commands import validate_scenario

    validate_scenario(scenario, scenarios_dir)


@scenarios_app.command("paraphrases")
def hold_paraphrases(
    scenario: Annotated[str, typer.Argument(metavar="PATH_OR_ID", help="A scenario's folder, or its id.")],
    scenarios_dir: ScenariosOption = None,
    by_fact: Annotated[
        bool, typer.Option("--by-fact", help="Print the error on held-out lines for each fact.")
    ] = False,
) -> None:
    """Hold a scenario's patterns to its paraphrases. Prints the share that they can't tell; exit code 1 where they
    differ.
    """
    from proctor.scenario_commands import hold_paraphrases

    hold_paraphrases(scenario, scenarios_dir, by_fact=by_fact)


@judge_app.callback()
def judge() -> None:
    """The models that judge."""


@judge_app.command("calibrate")
def calibrate_judge(
    scenario_id: Annotated[str, typer.Argument(metavar="SCENARIO", help="The scenario whose cases are judged.")],
    model: Annotated[
        str | None, typer.Option(metavar="M", help="The judge's model.  [default: the evaluation model]")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the model is served, if not by its provider.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most so many cases, evenly from all kinds.")
    ] = None,
    at_once: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Cases that are asked at a time.")] = 4,
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write all of it there; - is standard output.")
    ] = None,
    scenarios_dir: ScenariosOption = None,
    state: StateOption = None,
) -> None:
    """Show a model cases whose verdict is known, and say how far it agrees. Results name this calibration."""
    from proctor.judge_commands import CalibrateOptions, run_calibrate

    run_calibrate(CalibrateOptions(scenario_id, model, base_url, limit, at_once, json_file, scenarios_dir, state))


@terminal_app.callback()
def terminal_bench() -> None:
    """Terminal-Bench: agents in a terminal, tested."""


ConfigFileOption = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="Settings.  [default: config.toml, where there is one]")
]
OutputOption = Annotated[
    str | None, typer.Option(metavar="FOLDER", help="Where results are written.  [default: ./eval_results]")
]


@terminal_app.command("run")
def run_terminal_bench(
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Folder of tasks; or a dataset: NAME[@VERSION], with --gateway one of its own."
        ),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="[NAME=]URL", help="An agent's address, or oracle, or null; may be repeated."),
    ] = None,
    task_ids: Annotated[
        list[str] | None, typer.Option("--task-id", metavar="GLOB", help="A task, or a pattern; may be repeated.")
    ] = None,
    exclude_task_ids: Annotated[
        list[str] | None, typer.Option("--exclude-task-id", metavar="GLOB", help="Leave out; may be repeated.")
    ] = None,
    n_tasks: Annotated[int | None, typer.Option(metavar="N", min=1, help="At most so many tasks.")] = None,
    n_attempts: Annotated[int | None, typer.Option(metavar="N", min=1, help="Attempts at each task.")] = None,
    n_concurrent_trials: Annotated[
        int | None, typer.Option("--n-concurrent", metavar="N", min=1, help="At most so many trials at once.")
    ] = None,
    timeout_multiplier: Annotated[
        float | None, typer.Option(metavar="X", help="What the tasks' timeouts are multiplied by.")
    ] = None,
    agent_timeout_sec: Annotated[
        float | None, typer.Option("--agent-timeout", metavar="SECONDS", help="In place of the tasks' own.")
    ] = None,
    test_timeout_sec: Annotated[
        float | None, typer.Option("--test-timeout", metavar="SECONDS", help="In place of the tasks' own.")
    ] = None,
    cleanup: Annotated[
        bool | None, typer.Option("--cleanup/--no-cleanup", help="Remove the run's images afterwards.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="X", help="Begin no trial that would probably pass this cost.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Begin no trial that would probably use more tokens.")
    ] = None,
    max_hours: Annotated[
        float | None, typer.Option(metavar="H", help="Begin no trial that would probably take longer.")
    ] = None,
    grow: Annotated[
        str | None, typer.Option(metavar="RUN", help="Take over the trials that this ended run has played.")
    ] = None,
    access: Annotated[
        str | None, typer.Option(metavar="WAY", help="How the agent gets in: docker, endpoint or both.")
    ] = None,
    output_path: OutputOption = None,
    gateway_url: Annotated[
        str | None,
        typer.Option("--gateway", metavar="URL", help="An evaluator that runs.  [default: one of the command's own]"),
    ] = None,
    config_file: ConfigFileOption = None,
    state: StateOption = None,
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the exact result there.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but problems.")] = False,
    token_file: TokenFileOption = None,
) -> None:
    """Have agents work on tasks, and test what they did. Ctrl-C cancels the run; what was done is kept."""
    from proctor.dataset_commands import configured_dataset
    from proctor.errors import UsageError
    from proctor.run_settings import agents_in
    from proctor.terminal_run import TerminalRunOptions
    from proctor.terminal_run import run_terminal_bench as run
    from proctor.terminal_settings import read_terminal_settings

    flags = {
        ("evaluation", "task_ids"): task_ids or None,
        ("evaluation", "exclude_task_ids"): exclude_task_ids or None,
        ("evaluation", "n_tasks"): n_tasks,
        ("evaluation", "n_attempts"): n_attempts,
        ("evaluation", "n_concurrent_trials"): n_concurrent_trials,
        ("evaluation", "timeout_multiplier"): timeout_multiplier,
        ("evaluation", "agent_timeout_sec"): agent_timeout_sec,
        ("evaluation", "test_timeout_sec"): test_timeout_sec,
        ("evaluation", "cleanup"): cleanup,
        ("evaluation", "max_cost"): max_cost,
        ("evaluation", "max_tokens"): max_tokens,
        ("evaluation", "max_hours"): max_hours,
        ("evaluation", "access"): access,
        ("evaluation", "output_path"): output_path,
        ("dataset", "path"): dataset,
    }
    settings = read_terminal_settings(flags, config_file)
    folder = settings.dataset.path
    if folder is None:
        folder = settings.dataset.label if gateway_url else configured_dataset(settings.dataset, state)
    if not folder:
        raise UsageError("which tasks? name their folder with --dataset, or as dataset.path in config.toml")
    agents = agents_in(agent or [], "terminal_agent", ("oracle", "null")) or settings.agents
    if not agents and settings.white_agent.url:
        agents = {"terminal_agent": settings.white_agent.url}
    if not agents:
        raise UsageError("which agent? give its address with --agent, or say --agent oracle or --agent null")
    options = TerminalRunOptions(
        settings=settings,
        dataset=folder,
        agents=agents,
        grow=grow,
        gateway_url=gateway_url,
        state=state,
        quiet=quiet,
        json_file=json_file,
    )
    raise typer.Exit(run(options))


@terminal_app.command("follow")
def follow_terminal_bench(
    task_id: Annotated[str, typer.Argument(metavar="RUN", help="The run's task id.")],
    gateway_url: GatewayOption = None,
    output_path: OutputOption = None,
    config_file: ConfigFileOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but problems.")] = False,
    token_file: TokenFileOption = None,
) -> None:
    """Follow a run that is there already, and write its results."""
    from proctor.settings import default_gateway
    from proctor.terminal_run import follow_terminal_bench as follow
    from proctor.terminal_settings import read_terminal_settings

    settings = read_terminal_settings({("evaluation", "output_path"): output_path}, config_file)
    raise typer.Exit(follow(task_id, gateway_url or default_gateway(), settings.evaluation.output_path, quiet))


@terminal_app.command("validate")
def validate_dataset(
    dataset: Annotated[str, typer.Argument(metavar="DIR", help="Folder of tasks, or a dataset: NAME[@VERSION].")],
    task_ids: Annotated[
        list[str] | None, typer.Option("--task-id", metavar="GLOB", help="A task, or a pattern; may be repeated.")
    ] = None,
    state: StateOption = None,
) -> None:
    """Say of each task what keeps it from being played. Exit code 1 where something does."""
    from proctor.terminal_commands import validate_dataset

    raise typer.Exit(validate_dataset(dataset, task_ids, state))


@terminal_app.command("up")
def terminal_up(
    config_file: ConfigFileOption = None,
    datasets_dir: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Folder of datasets.  [default: that of dataset.path, or proctor's own]"),
    ] = None,
    host: HostOption = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="The evaluator's port.  [default: 9999]")
    ] = None,
    agent_port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="The agent's port.  [default: 8001]")
    ] = None,
    temporal_port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65535, help="Temporal's port.")] = 7233,
    ui_port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65535, help="The Temporal UI's port.")] = 8233,
    state: StateOption = None,
    is_open: OpenOption = False,
) -> None:
    """Run the evaluator and the example agent at the seed's ports, as config.toml says, until Ctrl-C."""
    from proctor.terminal_commands import run_terminal_up
    from proctor.terminal_settings import read_terminal_settings

    flags = {("green_agent", "host"): host, ("green_agent", "port"): port, ("white_agent", "port"): agent_port}
    settings = read_terminal_settings(flags, config_file)
    run_terminal_up(settings, datasets_dir, state, temporal_port, ui_port, is_open=is_open)


DatasetArgument = Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="The dataset.")]
PinOption = Annotated[
    str | None, typer.Option("--sha256", metavar="HASH", help="The hash that the tasks must have (`datasets show`).")
]


@datasets_app.callback()
def datasets() -> None:
    """Datasets of terminal tasks, by name and version, pinned by the hash of their files."""


@datasets_app.command("add")
def add_dataset(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A folder, an archive, a git repository, or a registry.json.")
    ],
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Its name.  [default: that of the source]")] = None,
    version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Its version.  [default: local; of git: the commit, or head]")
    ] = None,
    path: Annotated[str, typer.Option(metavar="FOLDER", help="The folder of tasks in the source.")] = "",
    commit: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="A commit, tag or branch of the git repository.")
    ] = None,
    sha256: PinOption = None,
    state: StateOption = None,
) -> None:
    """Add a dataset and pull its files. Of a registry, only learn which datasets it has."""
    from proctor.dataset_commands import add_dataset

    add_dataset(source, name, version, path, commit, sha256, state)


@datasets_app.command("pull")
def pull_dataset(
    dataset: DatasetArgument,
    sha256: PinOption = None,
    is_update: Annotated[
        bool, typer.Option("--update", help="Pin the files as they are now, though their hash is another one.")
    ] = False,
    state: StateOption = None,
) -> None:
    """Get the files of a dataset from its source. They must have the hash that they had before."""
    from proctor.dataset_commands import pull_dataset

    pull_dataset(dataset, sha256, state, is_update=is_update)


@datasets_app.command("list")
def list_datasets(state: StateOption = None) -> None:
    """List the datasets that are known."""
    from proctor.dataset_commands import list_datasets

    list_datasets(state)


@datasets_app.command("show")
def show_dataset(dataset: DatasetArgument, state: StateOption = None) -> None:
    """Show a dataset: its source, its hash, and its tasks."""
    from proctor.dataset_commands import show_dataset

    show_dataset(dataset, state)


TokensFileOption = Annotated[str | None, typer.Option("--file", metavar="FILE", help="Another file of tokens.")]


@token_app.command("create")
def create_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is; several tokens may have one name.")],
    is_admin: Annotated[bool, typer.Option("--admin", help="Sees and may do everything, whosever it is.")] = False,
    expires: Annotated[
        str | None, typer.Option(metavar="PERIOD", help="Counts for so long: 12h, 30d, 8w.  [default: for ever]")
    ] = None,
    at_once: Annotated[int | None, typer.Option(metavar="N", min=1, help="Assessments at the same time.")] = None,
    per_day: Annotated[int | None, typer.Option(metavar="N", min=1, help="Assessments begun in 24 hours.")] = None,
    cost_per_day: Annotated[
        float | None, typer.Option(metavar="AMOUNT", help="What models may cost in 24 hours, in your prices' currency.")
    ] = None,
    file: TokensFileOption = None,
    state: StateOption = None,
) -> None:
    """Make a token for a caller and print it, once. With the first one, the gateway begins to ask for them."""
    from proctor.archive_commands import period
    from proctor.token_commands import create_token
    from proctor_protocol.callers import Quotas

    if cost_per_day is not None and cost_per_day <= 0:
        raise typer.BadParameter("an amount is more than 0", param_hint="--cost-per-day")
    create_token(
        name,
        is_admin=is_admin,
        lasts=period(expires, "--expires") if expires else None,
        quotas=Quotas(at_once=at_once, per_day=per_day, cost_per_day=cost_per_day),
        state=state,
        file=file,
    )


@token_app.command("list")
def list_tokens(
    as_json: Annotated[bool, typer.Option("--json", help="All that is known of each, as JSON.")] = False,
    file: TokensFileOption = None,
    state: StateOption = None,
) -> None:
    """List whose tokens there are."""
    from proctor.token_commands import list_tokens

    list_tokens(as_json, state, file)


@token_app.command("revoke")
def revoke_token(
    which: Annotated[str, typer.Argument(metavar="ID", help="A token's id, or a name: then all of its tokens.")],
    file: TokensFileOption = None,
    state: StateOption = None,
) -> None:
    """Have a token count no more, from now on and for every gateway."""
    from proctor.token_commands import revoke_tokens

    revoke_tokens(which, state, file)


for _each in (app, agent_app, token_app, scenarios_app, judge_app, terminal_app, datasets_app):
    for _command in _each.registered_commands:
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
