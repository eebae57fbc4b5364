"""``proctor terminal-bench datasets``: datasets by name and version, pulled and pinned by their hash."""

from typing import Annotated

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.options import option

app = typer.Typer(no_args_is_help=True, help="Datasets of terminal tasks.", rich_markup_mode=None)

_SHOWN = 12  # characters of a hash in a list
_LISTED_TASKS = 200


@app.command("add")
def add_dataset(
    source: Annotated[
        str, Argument(metavar="SOURCE", help="A folder, an archive, a git repository, or a registry.json.")
    ],
    name: str | None = option(None, "NAME", "Its name.  [default: that of the source]"),
    version: str | None = option(None, "VERSION", "Its version.  [default: local; of git: the commit, or head]"),
    path: str = option("", "FOLDER", "The folder of tasks in the source."),
    commit: str | None = option(None, "COMMIT", "A commit, tag or branch of the git repository."),
    sha256: options.Pin = None,
    state: options.State = None,
) -> None:
    """Add a dataset and pull its files. Of a registry, only learn which datasets it has."""
    from rich.text import Text

    from proctor.cli.dataset_registries import is_registry, read_registry
    from proctor.cli.known_datasets import (
        describe_source,
        find_known,
        in_words,
        known_datasets,
        learn,
        name_of_source,
        pull,
        require_hash,
    )
    from proctor.common.console import make_console
    from proctor.common.errors import UsageError
    from proctor.common.phrases import clean
    from proctor.terminal.datasets import KnownDataset

    known = known_datasets(state)
    require_hash(sha256)
    console = make_console()
    if is_registry(source):
        flags = {"--name": name, "--version": version, "--path": path, "--commit": commit, "--sha256": sha256}
        if wrong := [flag for flag, value in flags.items() if value]:
            raise UsageError(f"{', '.join(wrong)} is for a single dataset, and {source} is a registry: leave it out")
        datasets = read_registry(source)
        for dataset in datasets:
            learn(known, dataset)
        console.print(
            Text(f"{len(datasets)} datasets of {clean(source)} are known; get one with: datasets pull NAME@VERSION")
        )
        return
    described = describe_source(source, path, commit)
    default = "local" if described.kind != "git" else (commit or "head")
    dataset = KnownDataset(
        name=name or name_of_source(source), version=version or default[:40], source=described, sha256=sha256
    )
    if (there := find_known(known, dataset.label)) and there.source != described:
        raise UsageError(
            f"{dataset.label} is known already, from another source ({clean(in_words(there.source))}): choose another "
            "--name or --version"
        )
    if there is not None and sha256 is None:
        dataset = there
    pull(known, dataset, is_update=False)


@app.command("pull")
def pull_dataset(
    dataset: options.Dataset,
    sha256: options.Pin = None,
    is_update: bool = Option(
        False, "--update", help="Pin the files as they are now, though their hash is another one."
    ),
    state: options.State = None,
) -> None:
    """Get the files of a dataset from its source. They must have the hash that they had before."""
    from proctor.cli.known_datasets import known_datasets, pull, require_hash, require_known

    known = known_datasets(state)
    require_hash(sha256)
    chosen = require_known(known, dataset)
    pull(known, chosen.model_copy(update={"sha256": sha256 or chosen.sha256}), is_update=is_update)


@app.command("list")
def list_datasets(state: options.State = None) -> None:
    """List the datasets that are known."""
    from proctor.cli.known_datasets import in_words, known_datasets
    from proctor.common.console import make_console, plain_table, show
    from proctor.common.errors import CommandError, ending_as
    from proctor.common.phrases import clean
    from proctor.terminal.failures import TaskError

    console = make_console()
    with ending_as(CommandError, TaskError):
        datasets = known_datasets(state).all()
    if not datasets:
        console.print("no datasets are known; add one with: proctor terminal-bench datasets add SOURCE")
        return
    table = plain_table("dataset", "tasks", "sha256", "source")
    for dataset in datasets:
        count = str(len(dataset.tasks)) if dataset.tasks else "not pulled"
        table.add_row(dataset.label, count, (dataset.sha256 or "")[:_SHOWN], clean(in_words(dataset.source)))
    show(console, table)


@app.command("show")
def show_dataset(dataset: options.Dataset, state: options.State = None) -> None:
    """Show a dataset: its source, its hash, and its tasks."""
    from rich.text import Text

    from proctor.cli.known_datasets import in_words, known_datasets, require_known
    from proctor.common.console import make_console
    from proctor.common.errors import CommandError, ending_as
    from proctor.common.phrases import clean
    from proctor.terminal.failures import TaskError
    from proctor.terminal.tasks import find_problems

    known = known_datasets(state)
    found = require_known(known, dataset)
    console = make_console()
    lines = {
        "dataset": found.label,
        "about": found.description,
        "source": in_words(found.source),
        "commit": found.commit or "",
        "sha256": found.sha256 or "",
        "tasks": str(len(found.tasks)) if found.tasks else "not pulled",
    }
    for name, value in lines.items():
        if value:
            console.print(Text(f"{name:<8}  ", style="bold").append(clean(value), style="not bold"), soft_wrap=True)
    if not found.tasks:
        return
    with ending_as(CommandError, TaskError):
        folder = known.folder(found)
    console.print(Text(f"{'folder':<8}  ", style="bold").append(str(folder), style="not bold"), soft_wrap=True)
    for name, digest in list(found.tasks.items())[:_LISTED_TASKS]:
        is_broken = any(problem.is_fatal for problem in find_problems(folder / name))
        console.print(Text(f"  {digest[:_SHOWN]}  {clean(name)}{'  (broken: see validate)' if is_broken else ''}"))
    if len(found.tasks) > _LISTED_TASKS:
        console.print(f"  and {len(found.tasks) - _LISTED_TASKS} more")
