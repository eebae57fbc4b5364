"""Find and read tasks in folders, and list their problems."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from proctor.terminal import format_one, format_two
from proctor.terminal.failures import TaskError
from proctor.terminal.notes import Notes, Problem
from proctor.terminal.task_model import Solution, TaskFormat, TerminalTask

__all__ = ["Problem", "Solution", "TaskFormat", "TerminalTask", "find_problems", "find_tasks", "load_task"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def load_task(folder: Path, variables: Mapping[str, str] | None = None, allowed: Collection[str] = ()) -> TerminalTask:
    """Read a task.

    Args:
        folder: the task's folder, with ``task.yaml`` or ``task.toml``.
        variables: possible values of ``${NAME}`` in a task's files, besides the task's own defaults. A task sees
            nothing of the worker's own environment.
        allowed: the operator's grants of access to the host: names out of ``proctor.settings.config.ALLOWANCES``.

    Raises:
        TaskError: the task can't be played; the message has every fatal problem.
    """
    task, notes = _read_task(folder, variables or {}, allowed)
    fatal = [problem.sentence for problem in notes.problems if problem.is_fatal]
    if task is None or fatal:
        raise TaskError("; ".join(fatal))
    return task


def find_problems(
    folder: Path, variables: Mapping[str, str] | None = None, allowed: Collection[str] = ()
) -> list[Problem]:
    """Return the problems that keep a task from being played, and remarks about it; for ``validate``."""
    return _read_task(folder, variables or {}, allowed)[1].problems


def find_tasks(dataset: Path, patterns: Sequence[str] | None = None, exclude: Iterable[str] = ()) -> list[Path]:
    """Return the folders of a dataset's tasks, by name.

    Args:
        patterns: shell patterns of names; a task must match one of them. None for all tasks.
        exclude: patterns of names to leave out.

    Raises:
        TaskError: no such folder, it has no tasks, or a pattern matches none.
    """
    try:
        folders = sorted(path for path in dataset.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))
    except OSError as error:
        raise TaskError(f"The dataset {dataset} can't be read ({error.strerror}): name a folder of tasks.") from None
    tasks = [folder for folder in folders if any((folder / file).exists() for file in TaskFormat)]
    if not tasks:
        raise TaskError(f"The dataset {dataset} has no task: each is a folder with a task.yaml or a task.toml.")
    chosen = {task.name for task in tasks} if patterns is None else set[str]()
    for pattern in patterns or ():
        chosen |= _matching(pattern, tasks, dataset)
    for pattern in exclude:
        chosen -= _matching(pattern, tasks, dataset)
    return [task for task in tasks if task.name in chosen]


def _matching(pattern: str, tasks: Sequence[Path], dataset: Path) -> set[str]:
    names = {task.name for task in tasks if fnmatchcase(task.name, pattern)}
    if not names:
        some = ", ".join(task.name for task in tasks[:8]) + (", …" if len(tasks) > 8 else "")
        raise TaskError(f"No task of {dataset} is called {pattern}: its tasks are {some}.")
    return names


def _read_task(
    folder: Path, variables: Mapping[str, str], allowed: Collection[str]
) -> tuple[TerminalTask | None, Notes]:
    notes = Notes(folder.name)
    is_one, is_two = ((folder / file).is_file() for file in TaskFormat)
    if not _ID.fullmatch(folder.name):
        notes.fatal(
            f"the folder's name {folder.name!r} can't be an id: use letters, digits, dots, hyphens and underscores"
        )
    if is_two:  # a converted task may still have its old file beside the new one
        return format_two.read(folder, variables, allowed, notes), notes
    if is_one:
        return format_one.read(folder, variables, allowed, notes), notes
    notes.fatal("there is neither a task.yaml nor a task.toml in the folder: add one of them")
    return None, notes
