"""``proctor demo``: start an evaluator on free ports in a temporary folder, and assess the baseline agent.

The assessment is kept in the user's archive, where ``proctor list`` and ``proctor view`` find it.
"""

import asyncio
import os
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from proctor.cli.assessments import AssessOptions, follow
from proctor.client.api import assessment_request
from proctor.client.caller import AssessmentCall
from proctor.common.console import make_console, show
from proctor.common.errors import CancelledError, CommandError
from proctor.common.settings import LOOPBACK, warn
from proctor.common.state import make_folder
from proctor.local.stack import LocalStack, throwaway_stack
from proctor.local.up import addresses, started
from proctor.service.supervisor import Supervisor
from proctor.settings.config import GreenAgentConfig

RESULT_FILE = "assessment_results.json"


async def play_demo(config: GreenAgentConfig, scenario_id: str, seed: int, keep: bool) -> bool:
    """Play the scenario offline. Return whether the assessment is archived.

    Args:
        keep: whether all services continue after the assessment, until Ctrl-C.
    """
    interrupted = asyncio.Event()
    console = make_console()
    # The supervisor's guard removes the folder even if this process is killed. Until the guard runs, this context does.
    with tempfile.TemporaryDirectory(prefix="proctor-demo-", ignore_cleanup_errors=True) as folder:
        archive = _prepare_archive(config)
        stack = throwaway_stack(config, Path(folder), with_agent=True, archive=archive, has_links=keep)
        async with started(stack, console, interrupted) as supervisor:
            if interrupted.is_set():
                raise CancelledError("ended before the assessment began")
            await _assess(stack, supervisor, console, interrupted, scenario_id, seed)
            if keep and not interrupted.is_set():
                console.print()
                show(console, addresses(stack))
                await interrupted.wait()
    return archive is not None


def _prepare_archive(config: GreenAgentConfig) -> str | None:
    """The user's archive. If the user can't write there, print a warning and return None."""
    if "://" in config.archive_url:
        return config.archive_url
    folder = Path(config.archive_url)
    try:
        if folder.parent == Path(config.state):
            make_folder(folder.parent)
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, CommandError) as error:
        warn([f"the result won't be archived: {error}"])
        return None
    if not os.access(folder, os.W_OK):
        warn([f"the result won't be archived: no permission to write into {folder}"])
        return None
    return str(folder)


async def _assess(
    stack: LocalStack,
    supervisor: Supervisor,
    console: Console,
    interrupted: asyncio.Event,
    scenario_id: str,
    seed: int,
) -> None:
    request = assessment_request(f"http://{LOOPBACK}:{stack.ports.agent}", scenario_id, seed, offline=True)
    options = AssessOptions(stack.gateway_url, RESULT_FILE, has_pages=stack.has_links)
    try:
        await follow(options, interrupted, AssessmentCall(stack.gateway_url, request), console)
    except CommandError:
        if not interrupted.is_set():
            for name in ("worker", "agent"):
                if tail := supervisor.read_log_tail(name):
                    console.print(Text(f"\nthe end of the {name}'s log:\n{tail}", style="dim"))
        raise
