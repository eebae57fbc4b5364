"""``proctor-purple``: what an agent's author installs, and what comes with it."""

import re
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.cli.installed import ROOT, build_wheels, new_environment
from tests.programs import LINKED
from tests.work import NIGHTLY

MOST_MEGABYTES = 60
HEAVY = re.compile(r"temporal|nexus|langchain|langsmith|openai|numpy|scipy")
NEED_A_MODEL = ("purple_sdk.examples.assistant_agent", "purple_sdk.examples.terminal_agent")
"""The extra ``assistant`` brings what they need."""
NEED_A_FRAMEWORK = "purple_sdk.examples.frameworks.with_"
"""What they need is in their folder's README; ``tests/assessments/test_frameworks.py`` plays them."""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build_wheels(tmp_path_factory.mktemp("wheels"))


def files_of(wheel: Path) -> set[str]:
    return {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}


def needs_of(found: Distribution, *extras: str) -> Iterator[Requirement]:
    for requirement in map(Requirement, found.requires or []):
        if not requirement.marker or any(requirement.marker.evaluate({"extra": name}) for name in ("", *extras)):
            yield requirement


def unpacked(wheel: Path, folder: Path) -> Distribution:
    ZipFile(wheel).extractall(folder)
    (own,) = folder.glob("*.dist-info")
    return PathDistribution(own)


def all_that_is_needed_by(light: Distribution) -> dict[str, Distribution]:
    """Directly or not, as it stands in the tests' own environment."""
    found: dict[str, Distribution] = {}
    waiting = list(needs_of(light))
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in found or requirement.extras:
            found[name] = distribution(name)
            waiting += needs_of(found[name], *requirement.extras)
    return found


def link(found: Distribution, packages: Path) -> int:
    """Have what is installed here in another environment, too; its bytes, but for what is compiled."""
    size = 0
    for file in found.files or []:
        here = Path(str(file.locate()))
        if file.parts[0] == ".." or not here.is_file():
            continue
        there = packages / file
        there.parent.mkdir(parents=True, exist_ok=True)
        there.symlink_to(here)
        size += 0 if "__pycache__" in file.parts else here.stat().st_size
    return size


def test_proctor_has_all_of_it_and_needs_no_distribution_that_no_index_has(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    assert set(wheels) == {"proctor", "proctor_purple"}
    assert files_of(wheels["proctor_purple"]) < files_of(wheels["proctor"])
    needed = {canonicalize_name(need.name) for need in needs_of(unpacked(wheels["proctor"], tmp_path))}
    assert "temporalio" in needed
    assert "proctor-purple" not in needed


def test_each_wheel_has_its_roots_and_every_file_once(wheels: dict[str, Path]) -> None:
    """The folders that are linked into ``proctor`` are in it, and nowhere else."""
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")
    purple = {name for name in tracked if name.startswith("purple_sdk/")}
    ours = {name for name in tracked if name.startswith("proctor/")} - {f"proctor/{name}" for name in LINKED}
    ours |= {f"proctor/{name}" for name in tracked if name.partition("/")[0] in LINKED}
    assert len(LINKED) == 4
    for name, expected in (("proctor", ours | purple), ("proctor_purple", purple)):
        members = [member for member in ZipFile(wheels[name]).infolist() if ".dist-info/" not in member.filename]
        assert sorted(member.filename for member in members) == sorted(expected)
        assert not any(stat.S_ISLNK(member.external_attr >> 16) for member in members)


@pytest.mark.skipif(not NIGHTLY, reason="it downloads packages: make nightly")
def test_proctor_and_llama_index_workflows_have_their_own_package_workflows(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    """In either order of installation; an agent's author may have both. Other packages are those of the tests."""
    installed = {"proctor": ("--no-deps", str(wheels["proctor"])), "llama": ("llama-index-workflows",)}
    code = "from workflows import Workflow; import proctor.service.worker, proctor.a2a_gateway.server; "
    code += "import proctor.workflows.assessment; print(Workflow.__module__, proctor.workflows.__name__)"
    for order in (("llama", "proctor"), ("proctor", "llama")):
        packages = new_environment(tmp_path / order[0])
        (packages / "what_proctor_needs.pth").write_text(sysconfig.get_path("purelib") + "\n")
        python = str(tmp_path / order[0] / "bin" / "python")
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet")
        for name in order:
            subprocess.run([*pip, "--ignore-installed", *installed[name]], check=True)
        done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stdout.split() == ["workflows.workflow", "proctor.workflows"], done.stderr


def test_it_is_typed(wheels: dict[str, Path]) -> None:
    files = files_of(wheels["proctor_purple"])
    assert {name.partition("/")[0] for name in files} == {"purple_sdk"}
    assert "purple_sdk/py.typed" in files


def test_with_all_that_it_needs_it_is_small_and_every_module_of_it_works(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    needed = all_that_is_needed_by(unpacked(wheels["proctor_purple"], tmp_path / "unpacked"))
    assert [name for name in needed if HEAVY.search(name)] == []
    packages = new_environment(tmp_path / "environment")
    unpacked(wheels["proctor_purple"], packages)
    size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    size += sum(link(found, packages) for found in needed.values())
    print(f"{size / 1e6:.1f} MB, {len(needed) + 1} packages: proctor-purple {' '.join(sorted(needed))}")
    assert size < MOST_MEGABYTES * 1e6

    modules = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in files_of(wheels["proctor_purple"])
        if name.endswith(".py") and not name.endswith("__main__.py") and "plain-a2a" not in name
    }
    lines = [f"import {name}" for name in sorted(modules) if not name.startswith((*NEED_A_MODEL, NEED_A_FRAMEWORK))]
    done = subprocess.run(
        [str(tmp_path / "environment" / "bin" / "python"), "-c", "\n".join(lines)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not NIGHTLY, reason="it downloads packages: make nightly")
def test_in_an_empty_environment_the_readmes_agent_passes_mypy_strict(wheels: dict[str, Path], tmp_path: Path) -> None:
    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", str(environment))
    python = str(environment / "bin" / "python")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", str(wheels["proctor_purple"]))
    listed = run(*pip, "list")
    (packages,) = environment.glob("lib/python*/site-packages")
    size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file() and path.suffix != ".pyc")
    print(f"{listed}\n{size / 1e6:.1f} MB")
    assert not HEAVY.search(listed)
    assert size < MOST_MEGABYTES * 1e6
    agent = re.search(r"```python\n(.*?)```", (ROOT / "purple_sdk" / "README.md").read_text(), re.DOTALL)
    assert agent is not None
    (tmp_path / "agent.py").write_text(agent[1])
    run(sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--python-executable={python}", "agent.py")
