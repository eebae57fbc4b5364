"""Find, pull and pin datasets of terminal tasks. The state folder lists the known ones."""

import re
from pathlib import Path

from rich.text import Text

from proctor.cli.dataset_registries import read_registry
from proctor.cli.dataset_sources import ARCHIVES, fetched
from proctor.cli.terminal_settings import DatasetSection
from proctor.common.console import make_console
from proctor.common.errors import CommandError, UsageError, ending_as
from proctor.common.phrases import clean
from proctor.common.settings import read_settings
from proctor.settings.config import GreenAgentConfig
from proctor.terminal.datasets import DatasetSource, KnownDataset, KnownDatasets, datasets_home
from proctor.terminal.failures import TaskError
from purple_sdk.protocol.problems import show_value

_SHA = re.compile(r"[0-9a-f]{64}")


def configured_dataset(chosen: DatasetSection, state: str | None) -> str | None:
    """The folder of tasks, or the ``NAME@VERSION``, of the settings. A missing dataset is pulled from its registry."""
    label = chosen.label
    if chosen.path or label is None:
        return chosen.path
    known = known_datasets(state)
    if pulled_folder(label, state) or chosen.registry is None:
        return label
    listed = [entry for entry in read_registry(chosen.registry) if entry.name == chosen.name]
    for dataset in [entry for entry in listed if chosen.version in (None, entry.version)]:
        learn(known, dataset)
    if chosen.version not in (None, *(entry.version for entry in listed)) or not listed:
        have = ", ".join(entry.label for entry in listed) or "no dataset of that name"
        raise UsageError(f"dataset.name and dataset.version are {label}, and {chosen.registry} has {have}")
    pull(known, require_known(known, label), is_update=False)
    return label


def pulled_folder(label: str, state: str | None) -> Path | None:
    known = known_datasets(state)
    try:
        return known.folder(known.find(label))
    except TaskError:
        return None


def in_words(source: DatasetSource) -> str:
    if source.kind == "tasks":
        places = dict.fromkeys(task.git_url or "local folders" for task in source.tasks)
        return f"{len(source.tasks)} tasks of {', '.join(places)}"
    at = f"@{source.commit or source.branch}" if source.commit or source.branch else ""
    return f"{source.location}{at}" + (f", folder {source.path}" if source.path else "")


def pull(known: KnownDatasets, dataset: KnownDataset, *, is_update: bool) -> None:
    console = make_console()
    try:
        with console.status(f"getting {dataset.label}"), fetched(dataset.source) as fetched_tasks:
            was = dataset.model_copy(update={"commit": fetched_tasks.commit})
            pinned = known.install(was, fetched_tasks.tasks, is_update=is_update)
    except TaskError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise CommandError(
            f"{dataset.label} can't be written: {error}. Look at the state folder and the disk"
        ) from None
    console.print(Text(f"{pinned.label}: {len(pinned.tasks)} tasks, sha256 {pinned.sha256}"), soft_wrap=True)


def learn(known: KnownDatasets, dataset: KnownDataset) -> None:
    """Keep a dataset from a registry. If its source is the same as before, pulled tasks stay pinned."""
    there = find_known(known, dataset.label)
    if there is not None and there.tasks and there.source != dataset.source:
        raise UsageError(
            f"{dataset.label} was pulled from another source ({clean(in_words(there.source))}): remove its folder in "
            "datasets of the state folder first"
        )
    if there is None or there.source != dataset.source:
        with ending_as(UsageError, TaskError):
            known.write(dataset)


def require_hash(sha256: str | None) -> None:
    if sha256 is not None and not _SHA.fullmatch(sha256):
        raise UsageError(
            f"--sha256 is {show_value(sha256)}: write the 64 hexadecimal digits that `datasets show` prints"
        )


def describe_source(source: str, path: str, commit: str | None) -> DatasetSource:
    local = Path(source).expanduser()
    if source.endswith(ARCHIVES) and "://" not in source:
        if not local.is_file():
            raise UsageError(
                f"The archive {source} does not exist: name a zip or tar archive, a folder, or a repository"
            )
        return DatasetSource(kind="archive", location=str(local.absolute()), path=path)
    is_git = "://" in source or source.startswith("git@") or source.endswith(".git")
    if is_git or (commit and local.is_dir()):
        location = str(local.absolute()) if local.is_dir() else source
        return DatasetSource(kind="git", location=location, commit=commit, path=path)
    if not local.is_dir():
        raise UsageError(
            f"The folder {source} does not exist: name a folder of tasks, an archive (.zip, .tar, .tar.gz), "
            "a git repository (its URL), or a registry.json"
        )
    return DatasetSource(kind="folder", location=str(local.absolute()), path=path)


def name_of_source(source: str) -> str:
    last = source.rstrip("/").rpartition("/")[2]
    for ending in (".git", *ARCHIVES):
        last = last.removesuffix(ending)
    return re.sub(r"[^A-Za-z0-9._+-]", "-", last).strip("-._") or "dataset"


def known_datasets(state: str | None) -> KnownDatasets:
    return KnownDatasets(datasets_home(read_settings(GreenAgentConfig, state=state).state))


def find_known(known: KnownDatasets, label: str) -> KnownDataset | None:
    with ending_as(CommandError, TaskError):
        return next((dataset for dataset in known.all() if dataset.label == label), None)


def require_known(known: KnownDatasets, label: str) -> KnownDataset:
    with ending_as(UsageError, TaskError):
        return known.find(label)
