"""``proctor terminal-bench``: Terminal-Bench: agents in a terminal, tested."""

from dataclasses import replace
from typing import Annotated

import typer
from typer import Argument, Option

from proctor.commands import options
from proctor.commands.options import option

app = typer.Typer(no_args_is_help=True, help="Terminal-Bench: agents in a terminal, tested.", rich_markup_mode=None)
datasets = typer.Typer(no_args_is_help=True, help="Datasets of terminal tasks.", rich_markup_mode=None)
app.add_typer(datasets, name="datasets")


@app.command("run")
def run_terminal_bench(
    dataset: str | None = option(
        None, "DIR", "Folder of tasks; or a dataset: NAME[@VERSION], with --gateway one of the gateway's."
    ),
    agent: list[str] | None = option(
        None, "[NAME=]URL", "An agent's address, or oracle, or null; may be repeated.", "--agent"
    ),
    harness: options.Harness = None,
    model: options.HarnessModel = None,
    model_url: options.ModelUrl = None,
    program: options.Program = None,
    task_ids: options.TaskIds = None,
    exclude_task_ids: list[str] | None = option(None, "GLOB", "Leave out; may be repeated.", "--exclude-task-id"),
    n_tasks: int | None = option(None, "N", "The largest number of tasks.", min=1),
    n_attempts: int | None = option(None, "N", "Attempts at each task.", min=1),
    n_concurrent_trials: int | None = option(
        None, "N", "The largest number of trials at once.", "--n-concurrent", min=1
    ),
    timeout_multiplier: float | None = option(None, "X", "What the tasks' timeouts are multiplied by."),
    agent_timeout_sec: float | None = option(None, "SECONDS", "In place of the tasks' own.", "--agent-timeout"),
    test_timeout_sec: float | None = option(None, "SECONDS", "In place of the tasks' own.", "--test-timeout"),
    cleanup: bool | None = Option(None, "--cleanup/--no-cleanup", help="Remove the run's images afterwards."),
    max_cost: float | None = option(None, "X", "Begin no trial that would probably pass this cost."),
    max_tokens: int | None = option(None, "N", "Begin no trial that would probably use more tokens."),
    max_hours: float | None = option(None, "H", "Begin no trial that would probably take longer."),
    grow: str | None = option(None, "RUN", "Take over the trials that this ended run has played."),
    access: str | None = option(None, "WAY", "How the agent gets in: docker, endpoint or both."),
    output_path: options.Output = None,
    gateway_url: str | None = option(
        None, "URL", "An evaluator that runs.  [default: one of the command's own]", "--gateway"
    ),
    config_file: options.ConfigFile = None,
    state: options.State = None,
    json_file: options.JsonFile = None,
    quiet: options.Quiet = False,
    token_file: options.TokenFile = None,
) -> None:
    """Have agents work on tasks, and test their work. Ctrl-C cancels the run; results so far are kept."""
    import asyncio

    from proctor.dataset_commands import configured_dataset
    from proctor.errors import UsageError
    from proctor.harness_runs import choose_harness
    from proctor.run_settings import agents_in
    from proctor.terminal_commands import run_terminal_bench as run
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
    choice = None
    if harness or model or model_url or program:
        choice = choose_harness(harness, model, model_url, program, has_agent=bool(agent))
    agents = {} if choice else agents_in(agent or [], "terminal_agent", ("oracle", "null")) or settings.agents
    if not agents and choice is None and settings.white_agent.url:
        agents = {"terminal_agent": settings.white_agent.url}
    if not agents and choice is None:
        raise UsageError(
            "which agent? give its address with --agent, a CLI agent with --harness, or say --agent oracle or "
            "--agent null"
        )
    choice = choice and replace(choice, is_terminal=True)
    asyncio.run(run(settings, folder, agents, gateway_url, state, grow, choice, quiet=quiet, json_file=json_file))


@app.command("follow")
def follow_terminal_bench(
    task_id: Annotated[str, Argument(metavar="RUN", help="The run's task id.")],
    gateway_url: options.Gateway = None,
    output_path: options.Output = None,
    config_file: options.ConfigFile = None,
    quiet: options.Quiet = False,
    token_file: options.TokenFile = None,
) -> None:
    """Follow a run that is there already, and write its results."""
    import asyncio

    from proctor.settings import default_gateway
    from proctor.terminal_commands import follow_terminal_bench as follow
    from proctor.terminal_settings import read_terminal_settings

    settings = read_terminal_settings({("evaluation", "output_path"): output_path}, config_file)
    asyncio.run(follow(task_id, gateway_url or default_gateway(), settings.evaluation.output_path, quiet))


@app.command("validate")
def validate_dataset(
    dataset: Annotated[str, Argument(metavar="DIR", help="Folder of tasks, or a dataset: NAME[@VERSION].")],
    task_ids: options.TaskIds = None,
    state: options.State = None,
) -> None:
    """Check tasks. Report each one that can't be played, with the reason; exit code 1 if there is one."""
    from proctor.terminal_commands import validate_dataset

    raise typer.Exit(validate_dataset(dataset, task_ids, state))


@app.command("up")
def terminal_up(
    config_file: options.ConfigFile = None,
    datasets_dir: str | None = option(
        None, "FOLDER", "Folder of datasets.  [default: that of dataset.path, or proctor's own]"
    ),
    host: options.Host = None,
    port: int | None = option(None, "PORT", "The evaluator's port.  [default: 9999]", min=1, max=65535),
    agent_port: int | None = option(None, "PORT", "The agent's port.  [default: 8001]", min=1, max=65535),
    temporal_port: options.TemporalPort = 7233,
    ui_port: options.UiPort = 8233,
    state: options.State = None,
    is_open: options.Open = False,
) -> None:
    """Run the evaluator and the example agent at the seed's ports, as config.toml says, until Ctrl-C."""
    from proctor.terminal_commands import run_terminal_up
    from proctor.terminal_settings import read_terminal_settings

    flags = {("green_agent", "host"): host, ("green_agent", "port"): port, ("white_agent", "port"): agent_port}
    settings = read_terminal_settings(flags, config_file)
    run_terminal_up(settings, datasets_dir, state, temporal_port, ui_port, is_open=is_open)


@datasets.command("add")
def add_dataset(
    source: Annotated[
        str, Argument(metavar="SOURCE", help="A folder, an archive, a git repository, or a registry.json.")
    ],
    name: str | None = option(None, "NAME", "Its name.  [default: that of the source]"),
    version: str | None = option(None, "VERSION", "Its version.  [default: local; of git: the commit, or head]"),
    path: str = option("", "FOLDER", "The folder of tasks in the source."),
    commit: str | None = option(None, "COMMIT", "A commit, tag or branch of the git repository."),
    sha256: options.Pin = None,
    state: options.State = None,
) -> None:
    """Add a dataset and pull its files. Of a registry, only learn which datasets it has."""
    from proctor.dataset_commands import add_dataset

    add_dataset(source, name, version, path, commit, sha256, state)


@datasets.command("pull")
def pull_dataset(
    dataset: options.Dataset,
    sha256: options.Pin = None,
    is_update: bool = Option(
        False, "--update", help="Pin the files as they are now, though their hash is another one."
    ),
    state: options.State = None,
) -> None:
    """Get the files of a dataset from its source. They must have the hash that they had before."""
    from proctor.dataset_commands import pull_dataset

    pull_dataset(dataset, sha256, state, is_update=is_update)


@datasets.command("list")
def list_datasets(state: options.State = None) -> None:
    """List the datasets that are known."""
    from proctor.dataset_commands import list_datasets

    list_datasets(state)


@datasets.command("show")
def show_dataset(dataset: options.Dataset, state: options.State = None) -> None:
    """Show a dataset: its source, its hash, and its tasks."""
    from proctor.dataset_commands import show_dataset

    show_dataset(dataset, state)
