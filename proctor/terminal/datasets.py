"""Keep the datasets of terminal tasks that an evaluator knows by name and version, with their pulled files.

A dataset is a folder ``NAME/VERSION`` below ``STATE/datasets``. It has a file ``dataset.json``, and a folder of tasks
whose name is their hash. A pull therefore never changes files that a run may be reading.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from proctor.activities.scenario_code.tar_files import extract
from proctor.terminal.failures import TaskError
from proctor.terminal.task_files import packed
from purple_sdk.protocol.problems import describe, show_value

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_FILE = "dataset.json"


class TaskSource(BaseModel, frozen=True):
    """One task of a registry that lists tasks: a folder of a git repository, or if ``git_url`` is None, a local one."""

    git_url: str | None = None
    commit: str | None = None
    path: str


class DatasetSource(BaseModel, frozen=True):
    """The origin of a dataset's files.

    Attributes:
        kind: the kind of ``location``. If it is ``tasks``, each of ``tasks`` has its own location.
        branch, commit: the version in a git repository; its default branch if both are missing.
        path: the folder of tasks below the location.
        task_ids: only these tasks.
    """

    kind: Literal["folder", "archive", "git", "tasks"]
    location: str = ""
    branch: str | None = None
    commit: str | None = None
    path: str = ""
    task_ids: list[str] | None = None
    tasks: list[TaskSource] = Field(default_factory=list)


class KnownDataset(BaseModel, frozen=True):
    """A dataset that was added.

    Attributes:
        sha256: the hash that its tasks must have, or had at their pull; None if neither is known.
        commit: the commit of the git repository that was pulled.
        tasks: the hash of each task's files, by the task's name; empty if it was not pulled.
    """

    name: str
    version: str
    description: str = ""
    source: DatasetSource
    sha256: str | None = None
    commit: str | None = None
    tasks: dict[str, str] = Field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.name}@{self.version}"


def dataset_hash(tasks: Mapping[str, str]) -> str:
    """Compute the hash of a dataset from its tasks' names and the hashes of their files, by name."""
    return hashlib.sha256("\n".join(f"{name} {tasks[name]}" for name in sorted(tasks)).encode()).hexdigest()


class KnownDatasets:
    """The datasets below one folder."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def all(self) -> list[KnownDataset]:
        """Return all datasets, sorted by name and version. Raises TaskError for a damaged file."""
        datasets = [_read_dataset(path) for path in self._home.glob(f"*/*/{_FILE}")]
        return sorted(datasets, key=lambda each: (each.name, _order(each.version)))

    def find(self, label: str) -> KnownDataset:
        """Return the dataset with a name or ``NAME@VERSION``; without a version, ``head`` or else the highest one.

        Raises TaskError (there is none).
        """
        name, _, version = label.partition("@")
        known = self.all()
        versions = [dataset for dataset in known if dataset.name == name]
        matches = [dataset for dataset in versions if version in ("", dataset.version)]
        if not matches:
            have = ", ".join(version.label for version in versions or known) or "none"
            raise TaskError(
                f"No dataset is called {show_value(label)}; these are known: {have}. "
                "Add it with: proctor terminal-bench datasets add"
            )
        return matches[-1]

    def folder(self, dataset: KnownDataset) -> Path:
        """Return the folder of a dataset's tasks. Raises TaskError (it was not pulled, or the folder was removed)."""
        tasks = self._place(dataset) / f"tasks-{(dataset.sha256 or '')[:16]}"
        if not dataset.tasks or not tasks.is_dir():
            raise TaskError(
                f"The dataset {dataset.label} is known, but its files are missing. "
                f"Get them with: proctor terminal-bench datasets pull {dataset.label}"
            )
        return tasks

    def write(self, dataset: KnownDataset) -> None:
        """Store a dataset's description.

        Raises:
            TaskError: its name or version can't be the name of a folder.
            OSError: it can't be written.
        """
        for field, value in (("name", dataset.name), ("version", dataset.version)):
            if not _NAME.fullmatch(value):
                raise TaskError(
                    f"The dataset's {field} is {show_value(value)}: use letters, digits, and . _ + - (at most 100)"
                )
        place = self._place(dataset)
        place.mkdir(parents=True, exist_ok=True)
        beside = place / f".{_FILE}.{os.getpid()}"
        beside.write_text(dataset.model_dump_json(indent=2, exclude_defaults=True) + "\n")
        beside.replace(place / _FILE)

    def install(self, dataset: KnownDataset, tasks: Iterable[Path], *, is_update: bool = False) -> KnownDataset:
        """Copy folders of tasks in and pin them by their hash.

        Args:
            is_update: accept files with another hash, too.

        Raises:
            TaskError: two tasks have one name, a task can't be packed, or the hash differs.
            OSError: the files can't be written.
        """
        place = self._place(dataset)
        beside = place / f".new-{os.getpid()}"
        shutil.rmtree(beside, ignore_errors=True)
        try:
            hashes: dict[str, str] = {}
            for folder in tasks:
                if folder.name in hashes:
                    raise TaskError(
                        f"The dataset {dataset.label} has two tasks called {folder.name}: rename one of them"
                    )
                content = packed(folder)
                hashes[folder.name] = hashlib.sha256(content).hexdigest()
                (beside / folder.name).mkdir(parents=True)
                extract(content, beside / folder.name, "tar")
            sha256 = dataset_hash(hashes)
            if dataset.sha256 not in (None, sha256) and not is_update:
                raise TaskError(
                    f"The sha256 of {dataset.label} must be {dataset.sha256}, and its files have {sha256}: they are "
                    "not the ones that were pinned. Look at what changed; `datasets pull --update` pins the new ones"
                )
            pinned = dataset.model_copy(update={"sha256": sha256, "tasks": dict(sorted(hashes.items()))})
            target = place / f"tasks-{sha256[:16]}"
            shutil.rmtree(target, ignore_errors=True)
            beside.rename(target)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        self.write(pinned)
        for old in place.glob("tasks-*"):
            if old != target:
                shutil.rmtree(old, ignore_errors=True)
        return pinned

    def _place(self, dataset: KnownDataset) -> Path:
        return self._home / dataset.name / dataset.version


def datasets_home(state: str) -> Path:
    return Path(state) / "datasets"


def _read_dataset(path: Path) -> KnownDataset:
    try:
        return KnownDataset.model_validate(json.loads(path.read_text()))
    except ValidationError as error:
        raise TaskError(f"{path} is damaged: {describe(error)}. Remove it, and add the dataset again") from None
    except (OSError, ValueError) as error:
        raise TaskError(f"{path} can't be read: {error}. Remove it, and add the dataset again") from None


def _order(version: str) -> tuple[bool, list[tuple[int, str]]]:
    """Return a sort key for versions: numbers sort as numbers, and ``head`` last."""
    parts = re.findall(r"\d+|[A-Za-z]+", version)
    return version == "head", [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
