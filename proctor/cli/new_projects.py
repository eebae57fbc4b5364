"""``proctor new-agent``, ``new-scenario`` and ``new-family``: make projects from ``templates/``, ready to be played."""

import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from proctor.common.errors import UsageError

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_MARK = ".tmpl"


def write_project(kind: str, name: str, folder: Path, example: str, values: Mapping[str, str]) -> Path:
    """Fill in the templates of a kind, and write them into ``folder / name``.

    Args:
        name: the project's name, which the templates get as ``$name``, and as a title in ``$title``.
        values: further names in the templates to their values.

    Raises:
        UsageError: the name doesn't suit a project, or the folder exists already or can't be written.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f'"{name}" cannot be the name of a project: write small letters, digits and dashes, such as {example}'
        )
    target = folder / name
    if target.exists():
        raise UsageError(f"{target} is there already: choose another name, or another --folder")
    title = " ".join(split_name(name)).capitalize()
    try:
        _write(files("proctor.cli") / "templates" / kind, target, {"name": name, "title": title, **values})
    except OSError as error:
        raise UsageError(f"can't write to {target}: {error.strerror or error}") from None
    return target


def say_next(kind: str, **values: object) -> None:
    text = (files("proctor.cli") / "templates" / f"{kind}.txt").read_text(encoding="utf-8")
    print(Template(text).substitute(values), end="")


def split_name(name: str) -> list[str]:
    return re.split(r"[-_]", name)


def _write(source: Traversable, target: Path, values: Mapping[str, str]) -> None:
    """Fill in a folder of templates. ``gitignore`` gets a dot, which the template lacks to have no effect here."""
    target.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.is_dir():
            _write(entry, target / entry.name, values)
        elif entry.name.endswith(_MARK):
            name = entry.name.removesuffix(_MARK)
            text = Template(entry.read_text(encoding="utf-8")).substitute(values)
            (target / {"gitignore": ".gitignore"}.get(name, name)).write_text(text, encoding="utf-8")
