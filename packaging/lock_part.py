"""Print the part of requirements.lock that a distribution needs: ``python packaging/lock_part.py FOLDER [EXTRA ...]``.

``FOLDER`` has the distribution's pyproject.toml. With ``--build`` before it, the part has the build requirements.
Images install parts with ``--require-hashes``.

For each package, the lock names the packages that need it (``# via``), so no index is asked. The lock doesn't name
extras: if any package needs an extra, the extra's packages are included. The module uses only the standard library.
"""

import re
import sys
import tomllib
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"


def main(words: list[str]) -> None:
    """Print the part."""
    is_build = words[:1] == ["--build"]
    folder, *extras = words[is_build:]
    declared = tomllib.loads((Path(folder) / "pyproject.toml").read_text())
    if is_build:
        asked = declared["build-system"]["requires"]
    else:
        known = declared["project"]["optional-dependencies"]
        if unknown := set(extras) - known.keys():
            raise SystemExit(f"{folder} has no extra {', '.join(sorted(unknown))}: choose of {', '.join(known)}")
        asked = declared["project"]["dependencies"] + [requirement for extra in extras for requirement in known[extra]]
    print(part(LOCK.read_text(), asked), end="")


def part(lock: str, asked: list[str]) -> str:
    """The lock's entries for these requirements, and for all packages that they need.

    Raises:
        SystemExit: the lock has no entry for one of them.
    """
    entries = [(read_name(block), block) for block in re.findall(r"^\w.*\n(?: .*\n)*", lock, re.MULTILINE)]
    needed = set(map(read_name, asked))
    if missing := needed - dict(entries).keys():
        raise SystemExit(f"requirements.lock has no {', '.join(sorted(missing))}: run make lock")
    while more := {name for name, entry in entries if name not in needed and needed & find_parents(entry)}:
        needed |= more
    return "".join(entry for name, entry in entries if name in needed)


def read_name(requirement: str) -> str:
    """The package name of a requirement or an entry, in the spelling of locks."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def find_parents(entry: str) -> set[str]:
    """The names of the packages that ask for this one."""
    return set(entry.partition("# via ")[2].strip().split(", "))


if __name__ == "__main__":
    main(sys.argv[1:])
