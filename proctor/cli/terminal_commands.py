"""``proctor terminal-bench``: runs of trials and their results, tasks checked, and an evaluator for such runs."""

import asyncio
import hashlib
import json
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.text import Text

from proctor.cli.campaign_display import CampaignDisplay, build_failures, print_build_failures, print_table
from proctor.cli.dataset_commands import configured_dataset, pulled_folder
from proctor.cli.terminal_settings import TerminalSettings, run_config
from proctor.client.caller import AssessmentCall, authorization
from proctor.client.following import followed, new_folder, read_results, require_completed
from proctor.common.console import make_console
from proctor.common.errors import CancelledError, CommandError, ExitCode, UnreachableError, UsageError, ending_as
from proctor.common.interrupts import on_signals
from proctor.common.phrases import clean, counted
from proctor.common.settings import LOOPBACK, read_settings, with_scenarios
from proctor.common.state import state_folder, with_secret
from proctor.local.harness_runs import HarnessChoice, serving_harness
from proctor.local.noting import noted
from proctor.local.stack import LocalStack, Ports
from proctor.local.up import run_up, started
from proctor.service.engine_wait import find_missing, find_problem_of_engine
from proctor.settings.config import GreenAgentConfig
from proctor.terminal.datasets import KnownDatasets, datasets_home
from proctor.terminal.failures import TaskError
from proctor.terminal.results import write_results
from proctor.terminal.tasks import find_tasks, problems_of
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.terminal import BENCHMARK, Blob, TerminalResults, TrialResult

TASK_QUEUE = "terminal-bench"
"""The task queue of an evaluator that plays terminal tasks only, unless the environment names another one."""


async def run_terminal_bench(
    settings: TerminalSettings,
    dataset: str,
    agents: dict[str, str],
    gateway_url: str | None,
    state: str | None,
    grow: str | None,
    harness: HarnessChoice | None,
    *,
    quiet: bool,
    json_file: str | None,
) -> None:
    """Run the trials, show how they go, and write their results; Ctrl-C cancels the run.

    Args:
        dataset: a folder of tasks; with ``gateway_url`` the name of one of its datasets will do.
        agents: the address of each agent by its name; ``oracle`` or ``null`` in place of an address.
        gateway_url: an evaluator that runs; None has the command run one of its own.
        state: the folder of its own evaluator; None is the one of ``proctor up``.
        harness: the CLI agent to start, in place of agents.
    """
    async with AsyncExitStack() as serving:
        if harness is not None:
            agents = {harness.name: await serving.enter_async_context(serving_harness(harness, gateway_url))}
        interrupted, console = asyncio.Event(), make_console()
        if gateway_url:
            on_signals(interrupted)
        else:
            config = _own_settings(settings, dataset, state)
            gateway_url = await serving.enter_async_context(_own_evaluator(config, console, interrupted))
        call = AssessmentCall(gateway_url, _request(settings, dataset, agents, grow))
        await _play(call, console, interrupted, settings.evaluation.output_path, quiet, json_file)


def _request(settings: TerminalSettings, dataset: str, agents: dict[str, str], grow: str | None) -> str:
    name = Path(dataset).absolute().name if Path(dataset).is_dir() else dataset
    config = {"benchmark": BENCHMARK, "dataset": name, **run_config(settings), **({"grows": grow} if grow else {})}
    return json.dumps({"participants": agents, "config": config})


async def follow_terminal_bench(task_id: str, gateway_url: str, output: str, quiet: bool) -> None:
    """Follow a run that is under way, and write its results; Ctrl-C leaves it alone."""
    await _play(AssessmentCall.of_task(gateway_url, task_id), make_console(), asyncio.Event(), output, quiet)


@asynccontextmanager
async def _own_evaluator(config: GreenAgentConfig, console: Console, interrupted: asyncio.Event) -> AsyncIterator[str]:
    """An evaluator of the command's own, in its state folder; gives its address."""
    if missing := find_missing():
        raise CommandError(missing)
    if problem := await find_problem_of_engine(config):
        raise UnreachableError(problem)
    with state_folder(Path(config.state)) as folder:
        gateway, ues, temporal, temporal_ui = free_ports(4)
        stack = LocalStack(
            config=with_secret(config.model_copy(update={"card_url": None, "containers": "on", "worker_processes": 1})),
            ports=Ports(gateway, ues, temporal, temporal_ui),
            state=folder,
            is_durable=True,
        )
        with noted(stack):
            async with started(stack, console, interrupted):
                if interrupted.is_set():
                    raise CancelledError("ended before the run began")
                yield stack.gateway_url


async def _play(
    call: AssessmentCall,
    console: Console,
    interrupted: asyncio.Event,
    output: str,
    quiet: bool,
    json_file: str | None = None,
) -> None:
    began_at = datetime.now()
    async with call:
        with CampaignDisplay(console, quiet) as display:
            _, ended = await followed(call, display, interrupted, "run")
    unbuilt: list[TrialResult] = []
    if ended.results is not None:
        results = read_results(TerminalResults, ended.results, "one of Terminal-Bench")
        if json_file:
            await asyncio.to_thread(Path(json_file).write_bytes, ended.results)
        folder = new_folder(Path(output), f"green_agent_eval_{began_at:%Y%m%d_%H%M%S}", "--output-path")
        for problem in await _write(folder, results, call):
            console.print(Text(problem, style="yellow"))
        if not quiet:
            print_table(console, results)
            console.print(Text(f"results   {folder}"), soft_wrap=True)
        unbuilt = build_failures(results)
        print_build_failures(make_console(sys.stderr), unbuilt)
    require_completed(ended, "run")
    require_built(unbuilt)


def require_built(unbuilt: Sequence[TrialResult]) -> None:
    """Say that images could not be built, if any."""
    if unbuilt:
        raise CommandError(f"the images of {counted(len(unbuilt), 'task')} could not be built; the others were played")


def _own_settings(settings: TerminalSettings, dataset: str, state: str | None) -> GreenAgentConfig:
    """Settings of an evaluator of the command's own, which has the dataset's folder among its datasets."""
    folder = Path(dataset).absolute()
    config = read_settings(
        GreenAgentConfig,
        host=LOOPBACK,
        state=state,
        datasets_dir=str(folder.parent) if folder.is_dir() else None,
        log_level=settings.logging.level,
    )
    if not folder.is_dir():
        known = KnownDatasets(datasets_home(config.state))
        try:
            known.folder(known.find(dataset))
        except TaskError as problem:
            raise UsageError(f"--dataset {dataset}: there is no such folder. {problem}") from None
    return with_scenarios(config)


async def _write(folder: Path, results: TerminalResults, call: AssessmentCall) -> Iterable[str]:
    gateway_url = call.gateway_url
    async with make_http_client(headers=authorization()) as http:

        async def fetch(file: Blob) -> bytes | None:
            try:
                answer = await http.get(f"{gateway_url.rstrip('/')}/runs/{call.task_id}/files/{file.sha256}")
            except httpx.HTTPError:
                return None
            is_it = answer.status_code == 200 and hashlib.sha256(answer.content).hexdigest() == file.sha256
            return answer.content if is_it else None

        try:
            return await write_results(folder, results, fetch)
        except OSError as problem:
            raise CommandError(f"the results can't be written to {folder}: {problem.strerror or problem}") from None


def validate_dataset(dataset: str, task_ids: list[str] | None, state: str | None = None) -> ExitCode:
    """Print for each task why it can't be played, and remarks.

    Returns:
        ``FAILED`` where a task can't be played, else ``DONE``.

    Raises:
        UsageError: there is no such folder, or no such task.
    """
    console = make_console()
    with ending_as(UsageError, TaskError):
        place = Path(dataset) if Path(dataset).is_dir() else (pulled_folder(dataset, state) or Path(dataset))
        folders = find_tasks(place, task_ids)
    allowed = read_settings(GreenAgentConfig).containers_allow.replace(",", " ").split()
    broken = warned = 0
    for folder in folders:
        problems = problems_of(folder, None, allowed)
        is_broken = any(each.is_fatal for each in problems)
        broken += is_broken
        warned += bool(problems) and not is_broken
        mark, style = ("broken", "red") if is_broken else ("ok", "green")
        console.print(Text(f"{mark:<8}", style=style).append(clean(folder.name), style="bold"), soft_wrap=True)
        for each_problem in problems:
            style = "red" if each_problem.is_fatal else "yellow"
            console.print(Text(f"        {clean(each_problem.sentence)}", style=style), soft_wrap=True)
    console.print()
    console.print(f"{len(folders)} tasks: {len(folders) - broken} can be played, {broken} can't; {warned} with remarks")
    return ExitCode.FAILED if broken else ExitCode.DONE


def run_terminal_up(
    settings: TerminalSettings,
    datasets_dir: str | None,
    state: str | None,
    temporal_port: int = 7233,
    ui_port: int = 8233,
    *,
    is_open: bool,
) -> None:
    """Run an evaluator at the seed's ports, with the example agent beside it, until Ctrl-C.

    It has no simulator, and a task queue of its own: assessments of `proctor up` in the same state folder wait.
    """
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
        terminal_defaults=json.dumps(_defaults(settings, dataset if is_folder else None)),
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


def _defaults(settings: TerminalSettings, folder: str | None) -> dict[str, Any]:
    """What requests in the seed's words mean here: a flat configuration, as its callers send it."""
    chosen = settings.dataset
    dataset = {
        "dataset_path": str(Path(folder).absolute()) if folder else None,
        "dataset_name": chosen.name,
        "dataset_version": chosen.version,
    }
    agents = settings.agents or {
        "white_agent": settings.white_agent.url or f"http://{LOOPBACK}:{settings.white_agent.port}"
    }
    defaults = {**dataset, "agents": agents, **run_config(settings)}
    return {name: value for name, value in defaults.items() if value is not None}
