"""Registries of datasets: the ``registry.json`` of terminal-bench and that of Harbor.

Fields and their meaning are those of ``terminal_bench.registry.client.RegistryRow`` (terminal-bench 0.2.18) and
``harbor.models.registry.DatasetSpec`` (harbor 0.24).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel, Field, ValidationError

from proctor.common.errors import UnreachableError, UsageError
from proctor.terminal.datasets import DatasetSource, KnownDataset, TaskSource
from purple_sdk.processes.http_clients import make_sync_http_client
from purple_sdk.protocol.problems import describe, show_value

_LARGEST = 64 * 1024 * 1024  # bytes of a registry


class TerminalBenchRow(BaseModel):
    """A dataset in the registry of terminal-bench: one folder of a git repository.

    The commit ``head`` is the newest commit of the branch.
    """

    name: str
    version: str
    description: str | None = None
    github_url: str = Field(min_length=1)
    dataset_path: str
    branch: str = Field(min_length=1)
    commit_hash: str = Field(min_length=1)
    task_id_subset: list[str] | None = None

    def known(self, folder: Path) -> KnownDataset:
        del folder
        commit = None if self.commit_hash == "head" else self.commit_hash
        source = DatasetSource(
            kind="git",
            location=self.github_url,
            branch=self.branch,
            commit=commit,
            path=self.dataset_path,
            task_ids=self.task_id_subset,
        )
        return KnownDataset(name=self.name, version=self.version, description=self.description or "", source=source)


class HarborTask(BaseModel):
    name: str
    git_url: str | None = None
    git_commit_id: str | None = None
    path: str = Field(min_length=1)


class HarborRow(BaseModel):
    """A dataset in the registry of Harbor. The dataset's metrics aren't read: this evaluator has its own metrics."""

    name: str
    version: str
    description: str = ""
    tasks: list[HarborTask]

    def known(self, folder: Path) -> KnownDataset:
        tasks = [
            TaskSource(
                git_url=task.git_url,
                commit=None if task.git_commit_id in (None, "head", "HEAD") else task.git_commit_id,
                path=task.path if task.git_url else str(folder / Path(task.path).expanduser()),
            )
            for task in self.tasks
        ]
        return KnownDataset(
            name=self.name,
            version=self.version,
            description=self.description,
            source=DatasetSource(kind="tasks", tasks=tasks),
        )


def is_registry(source: str) -> bool:
    """Whether a source names a registry: a file or an address that ends with ``.json``."""
    return source.partition("?")[0].endswith(".json")


def read_registry(source: str) -> list[KnownDataset]:
    """The datasets of a registry.

    Raises:
        UsageError: it isn't a registry; the message has entry, field, value and remedy.
        UnreachableError: the address doesn't answer.
    """
    is_remote = source.startswith(("http://", "https://"))
    try:
        rows = json.loads(_download(source) if is_remote else Path(source).read_bytes())
    except OSError as error:
        raise UsageError(f"The registry {source} can't be read: {error.strerror}. Name a registry.json") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The registry {source} is not JSON: {error}. Name a registry.json") from None
    if not isinstance(rows, list) or not rows:
        raise UsageError(
            f"The registry {source} is {show_value(rows)}: it must be a list of datasets, as terminal-bench and Harbor "
            "have it"
        )
    folder = Path.cwd() if is_remote else Path(source).absolute().parent
    return [_read_row(row, f"{source}: entry {number}", folder) for number, row in enumerate(rows, 1)]


def _read_row(row: Any, where: str, folder: Path) -> KnownDataset:
    if not isinstance(row, dict):
        raise UsageError(f"{where} is {show_value(row)}: it must be an object with name, version and the tasks' place")
    if isinstance(row.get("name"), str):
        where += f" ({row['name']})"
    read: Callable[[Any], TerminalBenchRow | HarborRow]
    read = HarborRow.model_validate if "tasks" in row else TerminalBenchRow.model_validate
    try:
        return read(row).known(folder)
    except ValidationError as error:
        fields = "name, version, github_url, dataset_path, branch, commit_hash"
        raise UsageError(
            f"{where}: {describe(error)}. Entries need {fields} (terminal-bench), or name, version, tasks (Harbor)"
        ) from None


def _download(url: str) -> bytes:
    content = bytearray()
    try:
        with make_sync_http_client(timeout=30, follow_redirects=True) as http, http.stream("GET", url) as answer:
            answer.raise_for_status()
            for chunk in answer.iter_bytes():
                content += chunk
                if len(content) > _LARGEST:
                    raise UsageError(f"The registry {url} has more than {_LARGEST:,} bytes: name a registry.json")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UnreachableError(
            f"The registry {url} can't be fetched: {error}. Fetch it by other means, and name the file"
        ) from None
    return bytes(content)
