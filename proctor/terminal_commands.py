"""The commands ``proctor terminal-bench validate`` and ``up``; ``terminal_run`` has ``run`` and ``follow``."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from proctor.console import make_console
from proctor.errors import CommandError, ExitCode, UsageError
from proctor.phrases import clean
from proctor.settings import LOOPBACK, read_settings
from proctor.terminal_settings import TerminalSettings
from proctor_protocol.config import GreenAgentConfig


def validate_dataset(dataset: str, task_ids: list[str] | None) -> ExitCode:
    """Say of each task of a folder what keeps it from being played, and what somebody should know.

    Raises:
        UsageError: there is no such folder, or no such task.
    """
    from activities.terminal.failures import TaskError
    from activities.terminal.tasks import find_tasks, problems_of

    console = make_console()
    try:
        folders = find_tasks(Path(dataset), task_ids)
    except TaskError as problem:
        raise UsageError(str(problem)) from None
    allowed = read_settings(GreenAgentConfig).containers_allow.replace(",", " ").split()
    broken = warned = 0
    for folder in folders:
        problems = problems_of(folder, None, allowed)
        is_broken = any(each.is_fatal for each in problems)
        broken += is_broken
        warned += bool(problems) and not is_broken
        mark, style = ("broken", "red") if is_broken else ("ok", "green")
        console.print(Text(f"{mark:<8}", style=style).append(clean(folder.name), style="bold"), soft_wrap=True)
        for found in problems:
            _say(console, clean(found.sentence), is_fatal=found.is_fatal)
    console.print()
    console.print(f"{len(folders)} tasks: {len(folders) - broken} can be played, {broken} can't; {warned} with remarks")
    return ExitCode.FAILED if broken else ExitCode.DONE


def _say(console: Console, sentence: str, *, is_fatal: bool) -> None:
    console.print(Text(f"        {sentence}", style="red" if is_fatal else "yellow"), soft_wrap=True)


def run_terminal_up(settings: TerminalSettings, datasets_dir: str | None, state: str | None, *, is_open: bool) -> None:
    """Run an evaluator at the seed's ports, with the example agent beside it, until Ctrl-C."""
    from proctor.up import run_up

    dataset = settings.dataset.path
    if dataset and not Path(dataset).is_dir():
        raise CommandError(f"dataset.path is {dataset}, and there is no such folder: name one that holds tasks")
    agent = settings.white_agent
    run_up(
        host=settings.green_agent.host if "host" in settings.green_agent.model_fields_set else LOOPBACK,
        port=settings.green_agent.port,
        card_url=None,
        ues_host="127.0.0.1",
        ues_port=None,
        ues_public_url=None,
        temporal_port=7233,
        ui_port=8233,
        agent_port=agent.port,
        with_agent=agent.url is None,
        scenarios_dir=None,
        state=state,
        datasets_dir=datasets_dir or (str(Path(dataset).absolute().parent) if dataset else None),
        log_level=settings.logging.level,
        is_open=is_open,
        card_subject="terminal-bench",
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
