"""``proctor terminal-bench run`` and ``follow``: a run of trials from the shell, and its results as a folder."""

import asyncio
import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import httpx
from rich.console import Console
from rich.text import Text

from proctor.caller import AssessmentCall, authorization, is_loopback
from proctor.campaign_display import CampaignDisplay, build_failures, print_build_failures, print_table
from proctor.console import make_console
from proctor.engine_wait import find_missing, find_problem_of_engine
from proctor.errors import CancelledError, CommandError, UnreachableError, UsageError
from proctor.following import followed, new_folder, read_results, require_completed
from proctor.harness_runs import HarnessChoice, serving_harness
from proctor.interrupts import on_signals
from proctor.local import LocalStack, Ports
from proctor.phrases import counted
from proctor.settings import LOOPBACK, read_settings, with_scenarios
from proctor.state import state_folder, with_secret
from proctor.terminal_settings import TerminalSettings, run_config
from proctor.up import started
from proctor_processes.ports import free_ports
from proctor_protocol.terminal import BENCHMARK, Blob, TerminalResults, TrialResult
from proctor_settings.config import GreenAgentConfig
from proctor_terminal.datasets import KnownDatasets, datasets_home
from proctor_terminal.failures import TaskError
from proctor_terminal.results import write_results


@dataclass(frozen=True)
class TerminalRunOptions:
    """What the person asked for.

    Attributes:
        dataset: a folder of tasks; with ``gateway_url`` the name of one of its datasets will do.
        agents: the address of each agent by its name; ``oracle`` or ``null`` in place of an address.
        gateway_url: an evaluator that runs; None has the command run one of its own.
        state: the folder of its own evaluator; None is the one of ``proctor up``.
    """

    settings: TerminalSettings
    dataset: str
    agents: dict[str, str]
    gateway_url: str | None = None
    state: str | None = None
    quiet: bool = False
    json_file: str | None = None
    grow: str | None = None
    harness: HarnessChoice | None = None

    def request(self) -> str:
        config = {
            "benchmark": BENCHMARK,
            "dataset": Path(self.dataset).absolute().name if Path(self.dataset).is_dir() else self.dataset,
            **run_config(self.settings),
            **({"grows": self.grow} if self.grow else {}),
        }
        return json.dumps({"participants": self.agents, "config": config})


async def run_terminal_bench(options: TerminalRunOptions) -> None:
    """Run the trials, show how they go, and write their results; Ctrl-C cancels the run."""
    async with AsyncExitStack() as serving:
        if options.harness is not None:
            url = await serving.enter_async_context(serving_harness(options.harness, options.gateway_url))
            options = replace(options, agents={options.harness.name: url})
        await _run(options)


async def follow_terminal_bench(task_id: str, gateway_url: str, output: str, quiet: bool) -> None:
    """Follow a run that is under way, and write its results; Ctrl-C leaves it alone."""
    await _play(AssessmentCall.of_task(gateway_url, task_id), make_console(), asyncio.Event(), output, quiet)


async def _run(options: TerminalRunOptions) -> None:
    interrupted, console = asyncio.Event(), make_console()
    output = options.settings.evaluation.output_path
    if options.gateway_url:
        on_signals(interrupted)
        call = AssessmentCall(options.gateway_url, options.request())
        await _play(call, console, interrupted, output, options.quiet, options.json_file)
        return
    config = _own_settings(options)
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
        async with started(stack, console, interrupted):
            if interrupted.is_set():
                raise CancelledError("ended before the run began")
            call = AssessmentCall(stack.gateway_url, options.request())
            await _play(call, console, interrupted, output, options.quiet, options.json_file)


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
            _keep_exact(Path(json_file), ended.results)
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


def _keep_exact(path: Path, results: bytes) -> None:
    path.write_bytes(results)


def _own_settings(options: TerminalRunOptions) -> GreenAgentConfig:
    """Settings of an evaluator of the command's own, which has the dataset's folder among its datasets."""
    folder = Path(options.dataset).absolute()
    config = read_settings(
        GreenAgentConfig,
        host=LOOPBACK,
        state=options.state,
        datasets_dir=str(folder.parent) if folder.is_dir() else None,
        log_level=options.settings.logging.level,
    )
    if not folder.is_dir():
        known = KnownDatasets(datasets_home(config.state))
        try:
            known.folder(known.find(options.dataset))
        except TaskError as problem:
            raise UsageError(f"--dataset {options.dataset}: there is no such folder. {problem}") from None
    return with_scenarios(config)


async def _write(folder: Path, results: TerminalResults, call: AssessmentCall) -> Iterable[str]:
    gateway_url = call.gateway_url
    async with httpx.AsyncClient(timeout=60, trust_env=not is_loopback(gateway_url), headers=authorization()) as http:

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
