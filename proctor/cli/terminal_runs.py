"""Runs of Terminal-Bench: their request, an evaluator for a run, and their results."""

import asyncio
import hashlib
import json
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.text import Text

from proctor.cli.campaign_display import CampaignDisplay, build_failures, print_build_failures, print_table
from proctor.cli.terminal_settings import TerminalSettings, run_config
from proctor.client.caller import AssessmentCall, authorization
from proctor.client.following import followed, new_folder, read_results, require_completed
from proctor.common.console import make_console
from proctor.common.errors import CancelledError, CommandError, UnreachableError, UsageError
from proctor.common.phrases import counted
from proctor.common.settings import LOOPBACK, read_settings, with_scenarios
from proctor.common.state import state_folder, with_secret
from proctor.local.noting import noted
from proctor.local.stack import LocalStack, Ports
from proctor.local.up import started
from proctor.service.engine_wait import find_missing, find_problem_of_engine
from proctor.settings.config import GreenAgentConfig
from proctor.terminal.datasets import KnownDatasets, datasets_home
from proctor.terminal.failures import TaskError
from proctor.terminal.results import write_results
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.terminal import BENCHMARK, Blob, TerminalResults, TrialResult

TASK_QUEUE = "terminal-bench"
"""The default task queue of an evaluator that plays only terminal tasks."""


def make_request(settings: TerminalSettings, dataset: str, agents: dict[str, str], grow: str | None) -> str:
    name = Path(dataset).absolute().name if Path(dataset).is_dir() else dataset
    config = {"benchmark": BENCHMARK, "dataset": name, **run_config(settings), **({"grows": grow} if grow else {})}
    return json.dumps({"participants": agents, "config": config})


@asynccontextmanager
async def own_evaluator(config: GreenAgentConfig, console: Console, interrupted: asyncio.Event) -> AsyncIterator[str]:
    """Run an evaluator for this command alone, in the command's state folder. Yield its address."""
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


async def play(
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
    """Raise an error if images could not be built."""
    if unbuilt:
        raise CommandError(f"the images of {counted(len(unbuilt), 'task')} could not be built; the others were played")


def own_settings(settings: TerminalSettings, dataset: str, state: str | None) -> GreenAgentConfig:
    """Return the settings of an evaluator for this command alone, which knows the dataset.

    Raises ``UsageError`` if there is no such dataset.
    """
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
        except TaskError as error:
            raise UsageError(f"--dataset {dataset}: there is no such folder. {error}") from None
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
        except OSError as error:
            raise CommandError(f"the results can't be written to {folder}: {error.strerror or error}") from None


def request_defaults(settings: TerminalSettings, folder: str | None) -> dict[str, Any]:
    """The defaults of requests in the seed's format: the flat configuration that the seed's callers send."""
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
