"""The commands ``proctor terminal-bench validate`` and ``up``; ``terminal_run`` has ``run`` and ``follow``."""

import json
from pathlib import Path
from typing import Any

from rich.text import Text

from proctor.console import make_console
from proctor.errors import CommandError, ExitCode, UsageError, ending_as
from proctor.phrases import clean
from proctor.settings import LOOPBACK, read_settings
from proctor.terminal_settings import TerminalSettings, run_config
from proctor_settings.config import GreenAgentConfig

TASK_QUEUE = "terminal-bench"
"""The task queue of an evaluator that plays terminal tasks only, unless the environment names another one."""


def validate_dataset(dataset: str, task_ids: list[str] | None, state: str | None = None) -> ExitCode:
    """Print for each task why it can't be played, and remarks.

    Returns:
        ``FAILED`` where a task can't be played, else ``DONE``.

    Raises:
        UsageError: there is no such folder, or no such task.
    """
    from proctor.dataset_commands import pulled_folder
    from proctor_terminal.failures import TaskError
    from proctor_terminal.tasks import find_tasks, problems_of

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
    from proctor.dataset_commands import configured_dataset
    from proctor.up import run_up

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
