"""``proctor terminal-bench run`` and ``follow``: a run of trials from the shell, and its results as a folder."""

import asyncio
import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
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
from proctor.errors import CancelledError, CommandError, ExitCode, UnreachableError, UsageError
from proctor.following import followed, read_results, require_completed
from proctor.harness_runs import HarnessChoice, serving_harness
from proctor.interrupts import on_signals
from proctor.local import LocalStack, Ports
from proctor.phrases import counted
from proctor.run_folders import new_folder
from proctor.settings import LOOPBACK, read_settings, with_scenarios
from proctor.state import state_folder, with_secret
from proctor.supervisor import Supervisor
from proctor.terminal_settings import TerminalSettings, run_config
from proctor.up import start_unless
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
        settings: of the run, from everywhere.
        dataset: a folder of tasks; with ``gateway_url`` the name of one of its datasets will do.
        agents: the address of each agent by its name; ``oracle`` or ``null`` in place of an address.
        harness: a CLI agent to start, in place of those.
        grow: a run that has ended, whose trials are taken over.
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


def run_terminal_bench(options: TerminalRunOptions) -> ExitCode:
    """Run the trials, show how they go, and write their results; Ctrl-C cancels the run.

    Raises:
        CommandError: of the kind that says why it came to no good end.
    """
    return asyncio.run(_run_with_harness(options))


def follow_terminal_bench(task_id: str, gateway_url: str, output: str, quiet: bool) -> ExitCode:
    """Follow a run that is under way, and write its results; Ctrl-C leaves it alone.

    Args:
        task_id: the run's.
        gateway_url: where the gateway is.
        output: the folder that gets one for this run.
        quiet: show only problems.

    Raises:
        CommandError: of the kind that says how it ended, or why it can't be followed.
    """
    return asyncio.run(_follow(task_id, gateway_url, output, quiet))


async def _follow(task_id: str, gateway_url: str, output: str, quiet: bool) -> ExitCode:
    call = AssessmentCall.of_task(gateway_url, task_id)
    return await _play(call, gateway_url, make_console(), asyncio.Event(), Path(output), quiet, None)


async def _run_with_harness(options: TerminalRunOptions) -> ExitCode:
    if options.harness is None:
        return await _run(options)
    async with serving_harness(options.harness, options.gateway_url) as url:
        return await _run(replace(options, agents={options.harness.name: url}))


async def _run(options: TerminalRunOptions) -> ExitCode:
    interrupted = asyncio.Event()
    hurry = on_signals(interrupted)
    console = make_console()
    output = Path(options.settings.evaluation.output_path)
    if options.gateway_url:
        call = AssessmentCall(options.gateway_url, options.request())
        return await _play(call, options.gateway_url, console, interrupted, output, options.quiet, options.json_file)
    config = _own_settings(options)
    await _require_engine(config)
    with state_folder(Path(config.state)) as folder:
        gateway, ues, temporal, temporal_ui = free_ports(4)
        stack = LocalStack(
            config=with_secret(config.model_copy(update={"card_url": None, "containers": "on", "worker_processes": 1})),
            ports=Ports(gateway, ues, temporal, temporal_ui),
            state=folder,
            is_durable=True,
        )
        supervisor = Supervisor(stack.list_services(), stack.logs, say=lambda line: console.print(Text(line)))
        hurry.append(supervisor.kill)
        async with supervisor:
            await start_unless(interrupted, supervisor, console)
            if interrupted.is_set():
                raise CancelledError("ended before the run began")
            call = AssessmentCall(stack.gateway_url, options.request())
            return await _play(call, stack.gateway_url, console, interrupted, output, options.quiet, options.json_file)


async def _play(
    call: AssessmentCall,
    gateway_url: str,
    console: Console,
    interrupted: asyncio.Event,
    output: Path,
    quiet: bool,
    json_file: str | None,
) -> ExitCode:
    began_at = datetime.now()
    async with call:
        with CampaignDisplay(console, quiet) as display:
            accepted, ended = await followed(call, display, interrupted, "run")
        task_id = accepted.task_id if accepted else ""
    unbuilt: list[TrialResult] = []
    if ended.results is not None:
        results = read_results(TerminalResults, ended.results, "one of Terminal-Bench")
        if json_file:
            _keep_exact(json_file, ended.results)
        folder = new_folder(output, f"green_agent_eval_{began_at:%Y%m%d_%H%M%S}", "--output-path")
        for problem in await _write(folder, results, gateway_url, task_id):
            console.print(Text(problem, style="yellow"))
        if not quiet:
            print_table(console, results)
            console.print(Text(f"results   {folder}"), soft_wrap=True)
        unbuilt = build_failures(results)
        print_build_failures(make_console(sys.stderr), unbuilt)
    require_completed(ended, "run")
    require_built(unbuilt)
    return ExitCode.DONE


def require_built(unbuilt: Sequence[TrialResult]) -> None:
    """Say that images could not be built, if any.

    Raises:
        CommandError: so that the command ends with exit code 1.
    """
    if unbuilt:
        raise CommandError(f"the images of {counted(len(unbuilt), 'task')} could not be built; the others were played")


async def _require_engine(config: GreenAgentConfig) -> None:
    """Make sure that a Docker engine answers before anything is started.

    Raises:
        UnreachableError: none does.
        CommandError: the client of the engine is not installed.
    """
    if missing := find_missing():
        raise CommandError(missing)
    if problem := await find_problem_of_engine(config):
        raise UnreachableError(problem)


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


def _keep_exact(path: str, results: bytes) -> None:
    Path(path).write_bytes(results)


async def _write(folder: Path, results: TerminalResults, gateway_url: str, task_id: str) -> Iterable[str]:
    async with httpx.AsyncClient(timeout=60, trust_env=not is_loopback(gateway_url), headers=authorization()) as http:

        async def fetch(file: Blob) -> bytes | None:
            try:
                answer = await http.get(f"{gateway_url.rstrip('/')}/runs/{task_id}/files/{file.sha256}")
            except httpx.HTTPError:
                return None
            is_it = answer.status_code == 200 and hashlib.sha256(answer.content).hexdigest() == file.sha256
            return answer.content if is_it else None

        try:
            return await write_results(folder, results, fetch)
        except OSError as problem:
            raise CommandError(f"the results can't be written to {folder}: {problem.strerror or problem}") from None
