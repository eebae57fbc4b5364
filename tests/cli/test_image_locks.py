"""What images install: parts of the lock, with hashes, and our own folders alone."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.cli.test_packaging import locked
from tests.programs import ROOT

PROGRAM = "packaging/lock_part.py"
AGENT_LOCK = "proctor/cli/templates/agent/requirements.lock.tmpl"
PARTS = re.findall(rf"python3 {PROGRAM} (.*) >", (ROOT / "Dockerfile").read_text())
"""The command lines with which the images' parts are made."""

INSTALLS = re.compile(
    r"\b(pip3?|pipx|uvx?|poetry|conda|npm|npx|pnpm|yarn|apt|apt-get|apk|dnf|cargo|go|gem)\b.*\b(install|add|sync|i|ci)\b"
)
OWN_FOLDERS = {".", "./packaging/purple"}


def commands_in(text: str) -> Iterator[str]:
    """The shell commands of a file, one by one; comments are left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("#", "//"))]
    for command in re.split(r"&&|\|\|?|;|\n|^RUN ", "\n".join(lines).replace("\\\n", " "), flags=re.MULTILINE):
        yield " ".join(command.split())


def is_checked(command: str) -> bool:
    """Whether a command that installs does so by hash alone, or installs nothing but a folder of ours."""
    words = command.partition(" install ")[2].split()
    if "--require-hashes" in words:
        # The build of a source distribution fetches its own needs, which no hash checks.
        return "--only-binary :all:" in command and {"-r"} <= set(words)
    given = [word for word in words if not word.startswith("--") and word != "/own"]
    return {"--no-deps", "--no-build-isolation"} <= set(words) and len(given) == 1 and given[0] in OWN_FOLDERS


def files_of_images() -> list[Path]:
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    kinds = re.compile(r"(^|/)(Dockerfile[^/]*|.*\.dockerfile|.*\.ya?ml|.*\.json5|[^/]*\.sh)$")
    return [ROOT / name for name in tracked if kinds.search(name) or name.startswith(".ci/")]


def test_no_image_or_template_of_ours_installs_anything_without_its_hash() -> None:
    found = {path: list(filter(INSTALLS.search, commands_in(path.read_text()))) for path in files_of_images()}
    assert [path for path, commands in found.items() if commands] == [
        ROOT / "Dockerfile",
        ROOT / "proctor/cli/templates/agent/Dockerfile.tmpl",
    ]
    assert [command for commands in found.values() for command in commands if not is_checked(command)] == []


@pytest.mark.parametrize(
    "command",
    [
        "RUN pip install requests",
        "RUN true && python3 -m pip install --constraint versions.txt '.[local]'",
        "RUN python3 -m pip install --no-deps .",
        "RUN python3 -m pip install --no-deps --no-build-isolation requests",
        "RUN python3 -m pip install --no-deps --no-build-isolation . requests",
        "RUN pip install --require-hashes \\\n    -r needs.txt",
        "RUN [ -z x ] || npm ci",
        "RUN apt-get update; apt-get install -y curl",
    ],
)
def test_a_command_that_installs_without_hashes_is_found(command: str) -> None:
    [found] = filter(INSTALLS.search, commands_in(command))
    assert not is_checked(found)


def needed_by(requirements: list[str]) -> set[str]:
    """What these requirements need here, directly or not: the tests' own environment has all of it."""
    found: set[tuple[str, str]] = set()
    waiting = [Requirement(line) for line in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if (name, extra) in found:
                continue
            found.add((name, extra))
            asked = map(Requirement, distribution(name).requires or [])
            waiting += [need for need in asked if need.marker is None or need.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def asked_by(words: list[str]) -> list[str]:
    """The requirements for which a part is made, of those that concern this system."""
    is_build = words[0] == "--build"
    folder, *extras = words[is_build:]
    declared = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())
    project = declared["project"]
    asked = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    asked = declared["build-system"]["requires"] if is_build else asked
    return [line for line in asked if (marker := Requirement(line).marker) is None or marker.evaluate()]


def lock_part(words: list[str], folder: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, PROGRAM, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_dockerfile_makes_a_part_for_each_stage_that_installs() -> None:
    assert [part.split()[:2] for part in PARTS] == [
        ["packaging/purple", "assistant"],
        ["--build", "packaging/purple"],
        [".", "local"],
        ["--build", "."],
    ]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_has_all_that_its_image_needs_with_the_hashes_of_the_lock(part: str, tmp_path: Path) -> None:
    words = part.split()
    made = lock_part(words)
    assert made.returncode == 0, made.stderr
    (tmp_path / "part").write_text(made.stdout)
    pins, every = locked(str(tmp_path / "part")), locked("requirements.lock")
    assert needed_by(asked_by(words)) - pins.keys() == set()
    assert pins.items() <= every.items()
    assert set(made.stdout.splitlines()) < set((ROOT / "requirements.lock").read_text().splitlines())
    assert not {"pytest", "mypy", "ruff", "playwright", "moto", "flask"} & pins.keys()


def test_a_lock_that_lacks_a_package_makes_no_part(tmp_path: Path) -> None:
    (tmp_path / "packaging").mkdir()
    (tmp_path / PROGRAM).write_text((ROOT / PROGRAM).read_text())
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    lock = (ROOT / "requirements.lock").read_text()
    (tmp_path / "requirements.lock").write_text(re.sub(r"^temporalio==.*\n(?: .*\n)*", "", lock, flags=re.MULTILINE))
    made = lock_part(["."], tmp_path)
    assert (made.returncode, made.stdout) == (1, "")
    assert made.stderr == "requirements.lock has no temporalio: run make lock\n"
    wrong = lock_part([".", "locale"])
    assert wrong.returncode == 1
    assert wrong.stderr.startswith(". has no extra locale: choose of local, ")


def test_a_new_agents_lock_is_what_the_light_distribution_needs() -> None:
    pins, every = locked(AGENT_LOCK), locked("requirements.lock")
    assert needed_by(asked_by(["packaging/purple"])) - pins.keys() == set()
    assert pins.items() <= every.items(), "make lock"
    assert not {"temporalio", "langchain-core", "numpy", "grpcio"} & pins.keys()
