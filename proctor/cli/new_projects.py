"""``proctor new-agent`` and ``proctor new-scenario``: projects from templates (``templates/``), ready to be played."""

import re
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from uuid import uuid4

from proctor.cli.purple_wheel import write_wheel
from proctor.common.errors import CommandError, UsageError

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_MARK = ".tmpl"


def new_agent(name: str, folder: Path) -> None:
    """Write the project into ``folder / name`` and say how to continue."""
    class_name = "".join(word.capitalize() for word in _words_of(name))
    values = {"class_name": class_name, "version": version("proctor")}
    target = _write_project("agent", name, folder, "mail-clerk", values)
    wheel = write_wheel(target / "wheels")
    with (target / "requirements.lock").open("a", encoding="utf-8") as lock:
        digest = sha256(wheel.read_bytes()).hexdigest()
        lock.write(f"proctor-purple=={version('proctor')} \\\n    --hash=sha256:{digest}\n")
    _say_next("agent", target=target)


def new_scenario(name: str, folder: Path) -> None:
    """Write the scenario into ``folder / name`` and say how to continue."""
    target = _write_project("scenario", name, folder, "team-lunch", {"canary": str(uuid4())})
    built = subprocess.run([sys.executable, "build.py"], cwd=target, capture_output=True, text=True, check=False)
    if built.returncode:
        raise CommandError(f"{target} is written, but its build.py fails: {built.stderr.strip()}")
    where = target if target.is_absolute() else f"./{target}"
    _say_next("scenario", target=target, where=where, folder=folder, name=name)


def new_family(name: str, folder: Path) -> None:
    """Write a family into ``folder / "families" / name`` and say how to continue."""
    target = _write_project("family", name, folder / "families", "barn_sale", {})
    _say_next("family", target=target, folder=folder, name=name)


def _write_project(kind: str, name: str, folder: Path, example: str, values: Mapping[str, str]) -> Path:
    """Fill in the templates of a kind, and write them into ``folder / name``.

    Args:
        name: the project's name, which the templates get as ``$name``, and as a title in ``$title``.
        values: what else the templates name.

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
    title = " ".join(_words_of(name)).capitalize()
    try:
        _write(files("proctor.cli") / "templates" / kind, target, {"name": name, "title": title, **values})
    except OSError as problem:
        raise UsageError(f"can't write to {target}: {problem.strerror or problem}") from None
    return target


def _say_next(kind: str, **values: object) -> None:
    text = (files("proctor.cli") / "templates" / f"{kind}.txt").read_text(encoding="utf-8")
    print(Template(text).substitute(values), end="")


def _words_of(name: str) -> list[str]:
    return re.split(r"[-_]", name)


def _write(source: Traversable, target: Path, values: Mapping[str, str]) -> None:
    """Fill in a folder of templates; ``gitignore`` gets its dot, which would hide it here."""
    target.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.is_dir():
            _write(entry, target / entry.name, values)
        elif entry.name.endswith(_MARK):
            name = entry.name.removesuffix(_MARK)
            text = Template(entry.read_text(encoding="utf-8")).substitute(values)
            (target / {"gitignore": ".gitignore"}.get(name, name)).write_text(text, encoding="utf-8")
