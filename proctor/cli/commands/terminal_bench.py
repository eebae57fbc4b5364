"""``proctor terminal-bench``: Terminal-Bench: agents in a terminal, tested."""

from typing import Annotated

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.commands import datasets
from proctor.cli.options import option

app = typer.Typer(no_args_is_help=True, help="Terminal-Bench: agents in a terminal, tested.", rich_markup_mode=None)
app.add_typer(datasets.app, name="datasets")


@app.command("run")
def run_terminal_bench(
    ctx: typer.Context,
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
    from contextlib import AsyncExitStack
    from dataclasses import replace

    from proctor.cli.known_datasets import configured_dataset
    from proctor.cli.terminal_runs import make_request, own_evaluator, own_settings, play
    from proctor.cli.terminal_settings import EvaluationSection, read_terminal_settings
    from proctor.client.caller import AssessmentCall
    from proctor.client.run_settings import parse_agents
    from proctor.common.console import make_console
    from proctor.common.errors import UsageError
    from proctor.common.interrupts import on_signals
    from proctor.local.harness_runs import choose_harness, serving_harness

    given = {key: value for key, value in ctx.params.items() if value not in (None, (), [])}
    flags = {("evaluation", key): given.get(key) for key in EvaluationSection.model_fields}  # called as their flags
    flags["dataset", "path"] = dataset
    settings = read_terminal_settings(flags, config_file)
    folder = settings.dataset.path
    if folder is None:
        folder = settings.dataset.label if gateway_url else configured_dataset(settings.dataset, state)
    if not folder:
        raise UsageError("which tasks? name their folder with --dataset, or as dataset.path in config.toml")
    choice = None
    if harness or model or model_url or program:
        choice = choose_harness(harness, model, model_url, program, has_agent=bool(agent))
    agents = {} if choice else parse_agents(agent or [], "terminal_agent", ("oracle", "null")) or settings.agents
    if not agents and choice is None and settings.white_agent.url:
        agents = {"terminal_agent": settings.white_agent.url}
    if not agents and choice is None:
        raise UsageError(
            "which agent? give its address with --agent, a CLI agent with --harness, or say --agent oracle or "
            "--agent null"
        )
    choice = choice and replace(choice, is_terminal=True)

    async def run() -> None:
        async with AsyncExitStack() as serving:
            players, url = agents, gateway_url
            if choice is not None:
                players = {choice.name: await serving.enter_async_context(serving_harness(choice, url))}
            interrupted, console = asyncio.Event(), make_console()
            if url:
                on_signals(interrupted)
            else:
                config = own_settings(settings, folder, state)
                url = await serving.enter_async_context(own_evaluator(config, console, interrupted))
            call = AssessmentCall(url, make_request(settings, folder, players, grow))
            await play(call, console, interrupted, settings.evaluation.output_path, quiet, json_file)

    asyncio.run(run())


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

    from proctor.cli.terminal_runs import play
    from proctor.cli.terminal_settings import read_terminal_settings
    from proctor.client.caller import AssessmentCall
    from proctor.common.console import make_console
    from proctor.common.settings import default_gateway

    settings = read_terminal_settings({("evaluation", "output_path"): output_path}, config_file)
    call = AssessmentCall.of_task(gateway_url or default_gateway(), task_id)
    asyncio.run(play(call, make_console(), asyncio.Event(), settings.evaluation.output_path, quiet))


@app.command("validate")
def validate_dataset(
    dataset: Annotated[str, Argument(metavar="DIR", help="Folder of tasks, or a dataset: NAME[@VERSION].")],
    task_ids: options.TaskIds = None,
    state: options.State = None,
) -> None:
    """Check tasks. Report each one that can't be played, with the reason; exit code 1 if there is one."""
    from pathlib import Path

    from rich.text import Text

    from proctor.cli.known_datasets import pulled_folder
    from proctor.common.console import make_console
    from proctor.common.errors import ExitCode, UsageError, ending_as
    from proctor.common.phrases import clean
    from proctor.common.settings import read_settings
    from proctor.settings.config import GreenAgentConfig
    from proctor.terminal.failures import TaskError
    from proctor.terminal.tasks import find_problems, find_tasks

    console = make_console()
    with ending_as(UsageError, TaskError):
        place = Path(dataset) if Path(dataset).is_dir() else (pulled_folder(dataset, state) or Path(dataset))
        folders = find_tasks(place, task_ids)
    allowed = read_settings(GreenAgentConfig).containers_allow.replace(",", " ").split()
    broken = warned = 0
    for folder in folders:
        problems = find_problems(folder, None, allowed)
        is_broken = any(problem.is_fatal for problem in problems)
        broken += is_broken
        warned += bool(problems) and not is_broken
        mark, style = ("broken", "red") if is_broken else ("ok", "green")
        console.print(Text(f"{mark:<8}", style=style).append(clean(folder.name), style="bold"), soft_wrap=True)
        for each_problem in problems:
            style = "red" if each_problem.is_fatal else "yellow"
            console.print(Text(f"        {clean(each_problem.sentence)}", style=style), soft_wrap=True)
    console.print()
    console.print(f"{len(folders)} tasks: {len(folders) - broken} can be played, {broken} can't; {warned} with remarks")
    raise typer.Exit(ExitCode.FAILED if broken else ExitCode.DONE)


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
    import json
    from pathlib import Path

    from proctor.cli.known_datasets import configured_dataset
    from proctor.cli.terminal_runs import TASK_QUEUE, request_defaults
    from proctor.cli.terminal_settings import read_terminal_settings
    from proctor.common.errors import CommandError
    from proctor.common.settings import LOOPBACK
    from proctor.local.up import run_up

    flags = {("green_agent", "host"): host, ("green_agent", "port"): port, ("white_agent", "port"): agent_port}
    settings = read_terminal_settings(flags, config_file)
    dataset = configured_dataset(settings.dataset, state)
    is_folder = dataset is not None and Path(dataset).is_dir()
    if settings.dataset.path and not is_folder:
        raise CommandError(f"dataset.path is {dataset}, and there is no such folder: name one that holds tasks")
    agent = settings.white_agent
    is_own = agent.url is None and not settings.agents
    run_up(
        host=settings.green_agent.host if "host" in settings.green_agent.model_fields_set else LOOPBACK,
        port=settings.green_agent.port,
        card_url=None,
        ues_host="127.0.0.1",
        ues_port=None,
        ues_public_url=None,
        temporal_port=temporal_port,
        ui_port=ui_port,
        agent_port=agent.port,
        with_agent=is_own,
        scenarios_dir=None,
        state=state,
        datasets_dir=datasets_dir or (str(Path(dataset).absolute().parent) if dataset and is_folder else None),
        log_level=settings.logging.level,
        is_open=is_open,
        card_subject="terminal-bench",
        task_queue=TASK_QUEUE,
        terminal_defaults=json.dumps(request_defaults(settings, dataset if is_folder else None)),
        terminal_results_dir=str(Path(settings.evaluation.output_path).absolute()),
        agent=(
            "terminal",
            "--model",
            agent.model,
            "--max-iterations",
            str(settings.agent.max_iterations),
            "--blocked",
            ",".join(settings.safety.blocked_commands),
            *(["--base-url", agent.base_url] if agent.base_url else []),
        ),
    )
