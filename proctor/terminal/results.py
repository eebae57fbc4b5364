"""A run's results as a folder, in the layout of the seed's evaluator."""

import json
from collections.abc import Awaitable, Callable, Iterable
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any

from purple_sdk.protocol.terminal import Blob, TerminalResults, TrialResult

Fetch = Callable[[Blob], Awaitable[bytes | None]]
"""Gets a file of a trial; None if it is lost."""


async def write_results(folder: Path, results: TerminalResults, fetch: Fetch) -> list[str]:
    """Write all results of a run.

    Args:
        fetch: gets a file of a trial.

    Returns:
        Sentences on files that could not be written.

    Raises:
        OSError: the folder can't be written.
    """
    problems = []
    _write_json(folder / "results.json", results.model_dump(mode="json"))
    _write_json(folder / "run_metadata.json", _metadata(folder, results))
    folders = _folders_of_agents(results.agents)
    for trial in results.results:
        place = folder / folders.get(trial.participant, "") if len(results.agents) > 1 else folder
        problems += await _write_trial(place / _safe(trial.task_id) / _safe(trial.trial_name), trial, fetch)
    return problems


async def _write_trial(folder: Path, trial: TrialResult, fetch: Fetch) -> list[str]:
    problems = []
    (folder / "sessions").mkdir(parents=True, exist_ok=True)
    _write_json(folder / "results.json", trial.model_dump(mode="json"))
    for file in trial.files:
        place = folder.joinpath(*(_safe(part) for part in PurePosixPath(file.name).parts))
        content = await fetch(file)
        if content is None:
            problems.append(f"{trial.trial_name}: {file.name} is not in the evaluator's store any more")
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return problems


def _folders_of_agents(agents: Iterable[str]) -> dict[str, str]:
    """Return a separate folder for each agent, named like it."""
    folders: dict[str, str] = {}
    for name in agents:
        wanted = _safe(name)
        folders[name] = next(
            n for i in count(1) if (n := wanted if i == 1 else f"{wanted}_{i}") not in folders.values()
        )
    return folders


def folder_of_run(output: Path, name: str, results: TerminalResults) -> Path:
    """Return the folder of a run in ``output``: a new one, or the one that an earlier attempt has written.

    Raises OSError (it can't be made).
    """
    for number in count(1):
        folder = output / (name if number == 1 else f"{name}_{number}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            if _read_run(folder) == results.run_id:
                return folder
    raise AssertionError


def _read_run(folder: Path) -> str | None:
    try:
        metadata = json.loads((folder / "run_metadata.json").read_text())
    except (OSError, ValueError):
        return None
    return str(metadata.get("uuid")) if isinstance(metadata, dict) else None


def _safe(name: str) -> str:
    """Convert a name to one step of a path, since participants choose file names and could name another folder."""
    kept = "".join(character if character.isprintable() and character not in "/\\:" else "_" for character in name)
    return "_" if kept in ("", ".", "..") else kept[:200]


def _metadata(folder: Path, results: TerminalResults) -> dict[str, Any]:
    """Return a run's metadata in the form of ``terminal-bench``."""
    config = results.config
    return {
        "run_id": folder.name,
        "uuid": results.run_id,
        "dataset_path": results.dataset,
        "dataset_hash": results.dataset_hash,
        "output_path": str(folder.parent),
        "agent_name": results.participant,
        "agents": dict(results.agents),
        "agent_kwargs": {"agent_url": results.participant_url} if results.participant_url else {},
        "task_ids": config.get("task_ids"),
        "exclude_task_ids": config.get("exclude_task_ids"),
        "n_tasks": config.get("n_tasks"),
        "n_concurrent_trials": config.get("n_concurrent_trials"),
        "n_attempts": results.n_attempts,
        "dataset_size": results.n_tasks,
        "accuracy": results.accuracy,
        "n_doubtful": results.n_doubtful,
        "accuracy_without_doubtful": results.accuracy_without_doubtful,
        "pass_at_k": {str(k): share.value for k, share in results.pass_at_k.items()},
        "start_time": results.started_at.isoformat() if results.started_at else None,
        "end_time": results.ended_at.isoformat() if results.ended_at else None,
        "status": results.status,
        "failure": results.failure,
        "proctor_version": results.proctor_version,
        "config": dict(config),
    }


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
