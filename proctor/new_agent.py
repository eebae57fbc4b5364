"""``proctor new-agent NAME``: a project for a participant, which plays as it is."""

import re
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from proctor.errors import ExitCode, UsageError

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_MARK = ".tmpl"


def new_agent(name: str, folder: Path) -> ExitCode:
    """Write the project into ``folder / name`` and say how to go on.

    Raises:
        UsageError: the name is none for a project, or something is there already.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f'"{name}" is no name for a project: write small letters, digits and dashes, such as mail-clerk'
        )
    target = folder / name
    if target.exists():
        raise UsageError(f"{target} is there already: choose another name, or another --folder")
    words = re.split(r"[-_]", name)
    values = {
        "name": name,
        "title": " ".join(words).capitalize(),
        "class_name": "".join(word.capitalize() for word in words),
        "version": version("proctor"),
    }
    try:
        _write(files("proctor") / "templates" / "agent", target, values)
    except OSError as problem:
        raise UsageError(f"can't write to {target}: {problem.strerror or problem}") from None
    print(f"{target}: edit execute_turn in agent.py, then\n")
    print(f"  cd {target}\n  pytest\n  python agent.py --port 8001")
    print("  proctor check-agent http://localhost:8001        (in another terminal)")
    print("  proctor up                                       (in another terminal)")
    print("  proctor assess email_triage_basic --agent http://localhost:8001 --offline")
    return ExitCode.DONE


def _write(source: Traversable, target: Path, values: dict[str, str]) -> None:
    """Fill in a folder of templates; ``gitignore`` gets its dot, which would hide it here."""
    target.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.is_dir():
            _write(entry, target / entry.name, values)
        elif entry.name.endswith(_MARK):
            name = entry.name.removesuffix(_MARK)
            text = Template(entry.read_text(encoding="utf-8")).substitute(values)
            (target / {"gitignore": ".gitignore"}.get(name, name)).write_text(text, encoding="utf-8")
