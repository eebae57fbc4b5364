"""Proctor as its users install it: wheels, in an environment of its own."""

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.util import cache_from_source
from pathlib import Path

import pip as pip_of_the_tests

ROOT = Path(__file__).parents[2]


PROJECTS = (ROOT, ROOT / "packaging" / "purple")
"""Proctor and its light part."""


def build_wheels(folder: Path, projects: Sequence[Path] = PROJECTS) -> dict[str, Path]:
    """Build the wheels of projects of this checkout into a folder; by name."""
    for project in projects:
        _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), folder=project)
    return {wheel.name.partition("-")[0]: wheel for wheel in folder.glob("*.whl")}


def new_environment(folder: Path, *wheels: Path) -> Path:
    """An environment with these wheels and nothing that they need; the path of its ``site-packages``."""
    _run(sys.executable, "-I", "-m", "venv", "--without-pip", str(folder))
    (packages,) = folder.glob("lib/python*/site-packages")
    if not wheels:
        return packages
    # What `pip --python` does in a second process.
    pip = [str(folder / "bin" / "python"), str(Path(pip_of_the_tests.__file__).parent), "--disable-pip-version-check"]
    _run(*pip, "install", "--quiet", "--no-compile", "--no-index", "--no-deps", *map(str, wheels))
    _bring_what_is_compiled(packages)
    return packages


def _bring_what_is_compiled(packages: Path) -> None:
    """Give installed modules the times and the compiled code of the checkout, whose files they are: to compile them all
    takes longer than to install them.
    """
    for module in packages.rglob("*.py"):
        original = ROOT / module.relative_to(packages)
        compiled = Path(cache_from_source(str(original)))
        if compiled.is_file() and original.stat().st_size == module.stat().st_size:
            shutil.copystat(original, module)
            copy = Path(cache_from_source(str(module)))
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(compiled, copy)


def install(folder: Path) -> Path:
    """Build proctor's wheel, install it, and give the path of the ``proctor`` that came of it.

    Nothing of the checkout is importable there. What proctor needs from others (packages, ``temporal``) isn't installed
    anew, which would take a network and minutes: it comes from the tests' own environment, by a path file.
    """
    wheels = build_wheels(folder / "dist", PROJECTS[:1])
    environment = folder / "environment"
    packages = new_environment(environment, wheels["proctor"])
    (packages / "what_proctor_needs.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (environment / "bin" / "temporal").symlink_to(Path(sys.executable).with_name("temporal"))
    return environment / "bin" / "proctor"


def _run(*command: str, folder: Path = ROOT) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
