"""``proctor terminal-bench datasets``: datasets by name and version, pulled and pinned by their hash."""

import re
from pathlib import Path

from rich.text import Text

from proctor.cli.dataset_registries import is_registry, read_registry
from proctor.cli.dataset_sources import ARCHIVES, fetched
from proctor.cli.terminal_settings import DatasetSection
from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import CommandError, UsageError, ending_as
from proctor.common.phrases import clean
from proctor.common.settings import read_settings
from proctor.settings.config import GreenAgentConfig
from proctor.terminal.datasets import DatasetSource, KnownDataset, KnownDatasets, datasets_home
from proctor.terminal.failures import TaskError
from proctor.terminal.tasks import problems_of
from purple_sdk.protocol.problems import show_value

_SHA = re.compile(r"[0-9a-f]{64}")
_SHOWN = 12  # characters of a hash in a list
_LISTED_TASKS = 200


def add_dataset(
    source: str,
    name: str | None,
    version: str | None,
    path: str,
    commit: str | None,
    sha256: str | None,
    state: str | None,
) -> None:
    """Learn the datasets of a registry, or add one dataset and pull it.

    Args:
        source: an address or a path: of a registry, a git repository, an archive or a folder.
        name, version: of a single dataset; None derives them from the source.
        sha256: the hash that the tasks must have, in hexadecimal digits.

    Raises:
        CommandError: it can't be had; names the field, the value and a remedy.
    """
    known = _known_datasets(state)
    _require_hash(sha256)
    console = make_console()
    if is_registry(source):
        flags = {"--name": name, "--version": version, "--path": path, "--commit": commit, "--sha256": sha256}
        if wrong := [flag for flag, value in flags.items() if value]:
            raise UsageError(f"{', '.join(wrong)} is for a single dataset, and {source} is a registry: leave it out")
        datasets = read_registry(source)
        for dataset in datasets:
            _learn(known, dataset)
        console.print(
            Text(f"{len(datasets)} datasets of {clean(source)} are known; get one with: datasets pull NAME@VERSION")
        )
        return
    described = _source(source, path, commit)
    default = "local" if described.kind != "git" else (commit or "head")
    dataset = KnownDataset(
        name=name or _name_of(source), version=version or default[:40], source=described, sha256=sha256
    )
    if (there := _find(known, dataset.label)) and there.source != described:
        raise UsageError(
            f"{dataset.label} is known already, from another source ({clean(in_words(there.source))}): choose another "
            "--name or --version"
        )
    if there is not None and sha256 is None:
        dataset = there
    _pull(known, dataset, is_update=False)


def pull_dataset(label: str, sha256: str | None, state: str | None, *, is_update: bool) -> None:
    """Get the files of a dataset that is known, and pin them; raises as ``add_dataset``.

    Args:
        sha256: the hash that the tasks must have; None for the one that is known.
        is_update: take the source's present tasks in place of the pinned ones.
    """
    known = _known_datasets(state)
    _require_hash(sha256)
    dataset = _require(known, label)
    _pull(known, dataset.model_copy(update={"sha256": sha256 or dataset.sha256}), is_update=is_update)


def configured_dataset(chosen: DatasetSection, state: str | None) -> str | None:
    """The folder of tasks or the ``NAME@VERSION`` that settings name; pulled from its registry where it is missing."""
    label = chosen.label
    if chosen.path or label is None:
        return chosen.path
    known = _known_datasets(state)
    if pulled_folder(label, state) or chosen.registry is None:
        return label
    listed = [each for each in read_registry(chosen.registry) if each.name == chosen.name]
    for dataset in [each for each in listed if chosen.version in (None, each.version)]:
        _learn(known, dataset)
    if chosen.version not in (None, *(each.version for each in listed)) or not listed:
        have = ", ".join(each.label for each in listed) or "no dataset of that name"
        raise UsageError(f"dataset.name and dataset.version are {label}, and {chosen.registry} has {have}")
    _pull(known, _require(known, label), is_update=False)
    return label


def pulled_folder(label: str, state: str | None) -> Path | None:
    known = _known_datasets(state)
    try:
        return known.folder(known.find(label))
    except TaskError:
        return None


def list_datasets(state: str | None) -> None:
    console = make_console()
    with ending_as(CommandError, TaskError):
        datasets = _known_datasets(state).all()
    if not datasets:
        console.print("no datasets are known; add one with: proctor terminal-bench datasets add SOURCE")
        return
    table = plain_table("dataset", "tasks", "sha256", "source")
    for each in datasets:
        count = str(len(each.tasks)) if each.tasks else "not pulled"
        table.add_row(each.label, count, (each.sha256 or "")[:_SHOWN], clean(in_words(each.source)))
    show(console, table)


def show_dataset(label: str, state: str | None) -> None:
    known = _known_datasets(state)
    dataset = _require(known, label)
    console = make_console()
    lines = {
        "dataset": dataset.label,
        "about": dataset.description,
        "source": in_words(dataset.source),
        "commit": dataset.commit or "",
        "sha256": dataset.sha256 or "",
        "tasks": str(len(dataset.tasks)) if dataset.tasks else "not pulled",
    }
    for name, value in lines.items():
        if value:
            console.print(Text(f"{name:<8}  ", style="bold").append(clean(value), style="not bold"), soft_wrap=True)
    if not dataset.tasks:
        return
    with ending_as(CommandError, TaskError):
        folder = known.folder(dataset)
    console.print(Text(f"{'folder':<8}  ", style="bold").append(str(folder), style="not bold"), soft_wrap=True)
    for name, digest in list(dataset.tasks.items())[:_LISTED_TASKS]:
        is_broken = any(each.is_fatal for each in problems_of(folder / name))
        console.print(Text(f"  {digest[:_SHOWN]}  {clean(name)}{'  (broken: see validate)' if is_broken else ''}"))
    if len(dataset.tasks) > _LISTED_TASKS:
        console.print(f"  and {len(dataset.tasks) - _LISTED_TASKS} more")


def in_words(source: DatasetSource) -> str:
    if source.kind == "tasks":
        places = dict.fromkeys(task.git_url or "local folders" for task in source.tasks)
        return f"{len(source.tasks)} tasks of {', '.join(places)}"
    at = f"@{source.commit or source.branch}" if source.commit or source.branch else ""
    return f"{source.location}{at}" + (f", folder {source.path}" if source.path else "")


def _pull(known: KnownDatasets, dataset: KnownDataset, *, is_update: bool) -> None:
    console = make_console()
    try:
        with console.status(f"getting {dataset.label}"), fetched(dataset.source) as fetched_tasks:
            was = dataset.model_copy(update={"commit": fetched_tasks.commit})
            pinned = known.install(was, fetched_tasks.tasks, is_update=is_update)
    except TaskError as problem:
        raise UsageError(str(problem)) from None
    except OSError as problem:
        raise CommandError(
            f"{dataset.label} can't be written: {problem}. Look at the state folder and the disk"
        ) from None
    console.print(Text(f"{pinned.label}: {len(pinned.tasks)} tasks, sha256 {pinned.sha256}"), soft_wrap=True)


def _learn(known: KnownDatasets, dataset: KnownDataset) -> None:
    """Keep a registry's dataset; tasks that were pulled before stay pinned, if its source is the same."""
    there = _find(known, dataset.label)
    if there is not None and there.tasks and there.source != dataset.source:
        raise UsageError(
            f"{dataset.label} was pulled from another source ({clean(in_words(there.source))}): remove its folder in "
            "datasets of the state folder first"
        )
    if there is None or there.source != dataset.source:
        with ending_as(UsageError, TaskError):
            known.write(dataset)


def _require_hash(sha256: str | None) -> None:
    if sha256 is not None and not _SHA.fullmatch(sha256):
        raise UsageError(
            f"--sha256 is {show_value(sha256)}: write the 64 hexadecimal digits that `datasets show` prints"
        )


def _source(source: str, path: str, commit: str | None) -> DatasetSource:
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


def _name_of(source: str) -> str:
    last = source.rstrip("/").rpartition("/")[2]
    for ending in (".git", *ARCHIVES):
        last = last.removesuffix(ending)
    return re.sub(r"[^A-Za-z0-9._+-]", "-", last).strip("-._") or "dataset"


def _known_datasets(state: str | None) -> KnownDatasets:
    return KnownDatasets(datasets_home(read_settings(GreenAgentConfig, state=state).state))


def _find(known: KnownDatasets, label: str) -> KnownDataset | None:
    with ending_as(CommandError, TaskError):
        return next((each for each in known.all() if each.label == label), None)


def _require(known: KnownDatasets, label: str) -> KnownDataset:
    with ending_as(UsageError, TaskError):
        return known.find(label)
