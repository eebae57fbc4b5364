"""``proctor terminal-bench datasets``: Datasets of terminal tasks."""

from typing import Annotated

import typer

from proctor.commands.options import DatasetArgument, PinOption, StateOption

app = typer.Typer(no_args_is_help=True, help="Datasets of terminal tasks.", rich_markup_mode=None)


@app.callback()
def datasets() -> None:
    """Datasets of terminal tasks, by name and version, pinned by the hash of their files."""


@app.command("add")
def add_dataset(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A folder, an archive, a git repository, or a registry.json.")
    ],
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Its name.  [default: that of the source]")] = None,
    version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Its version.  [default: local; of git: the commit, or head]")
    ] = None,
    path: Annotated[str, typer.Option(metavar="FOLDER", help="The folder of tasks in the source.")] = "",
    commit: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="A commit, tag or branch of the git repository.")
    ] = None,
    sha256: PinOption = None,
    state: StateOption = None,
) -> None:
    """Add a dataset and pull its files. Of a registry, only learn which datasets it has."""
    from proctor.dataset_commands import add_dataset

    add_dataset(source, name, version, path, commit, sha256, state)


@app.command("pull")
def pull_dataset(
    dataset: DatasetArgument,
    sha256: PinOption = None,
    is_update: Annotated[
        bool, typer.Option("--update", help="Pin the files as they are now, though their hash is another one.")
    ] = False,
    state: StateOption = None,
) -> None:
    """Get the files of a dataset from its source. They must have the hash that they had before."""
    from proctor.dataset_commands import pull_dataset

    pull_dataset(dataset, sha256, state, is_update=is_update)


@app.command("list")
def list_datasets(state: StateOption = None) -> None:
    """List the datasets that are known."""
    from proctor.dataset_commands import list_datasets

    list_datasets(state)


@app.command("show")
def show_dataset(dataset: DatasetArgument, state: StateOption = None) -> None:
    """Show a dataset: its source, its hash, and its tasks."""
    from proctor.dataset_commands import show_dataset

    show_dataset(dataset, state)
