"""Finds CLI agents on this machine, and installs them from npm or PyPI into a cache folder."""

import asyncio
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from purple_sdk.harness.declared import Harness, HarnessError

_INSTALL_SECONDS = 900
_VERSION_SECONDS = 60
_BINARIES = ("node_modules/.bin", "bin")
"""The folder of npm's and venv's executables, below a cache folder."""


def cache_folder(harness: Harness) -> Path:
    """Return the folder in which a CLI agent is installed."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "proctor" / "harness" / harness.name


def find_program(harness: Harness, program: str | None = None) -> str:
    """Find a CLI agent's executable: the given one, the one of ``install``, or the one in PATH, in this order. Raises
    HarnessError if there is none.
    """
    if program is not None:
        return _name_program(harness, program)
    if not harness.program:
        raise HarnessError(f'{harness.title} is named by --program "COMMAND", such as --program "gemini --acp"')
    own = [str(cache_folder(harness) / folder) for folder in _BINARIES]
    path = shutil.which(harness.program, path=os.pathsep.join(own)) or shutil.which(harness.program)
    if path is None:
        raise HarnessError(
            f"{harness.title} is not installed: `proctor harness install {harness.name}` installs it "
            f"({harness.size}), or name its executable with --program"
        )
    return path


def _name_program(harness: Harness, program: str) -> str:
    """Check the value of ``--program``: an executable, or a command line for a CLI agent without its own executable."""
    if harness.program:
        path = shutil.which(program)
        if path is None:
            raise HarnessError(f"--program {program}: there is no such executable")
        return path
    try:
        first, *rest = shlex.split(program)
    except ValueError:
        raise HarnessError(f"--program {program}: it can't be read as a command line: check its quotes") from None
    installed = sorted(cache_folder(harness).parent.glob("*"))
    path = os.pathsep.join(str(folder / binaries) for folder in installed for binaries in _BINARIES)
    executable = shutil.which(first) or shutil.which(first, path=path)
    if executable is None:
        raise HarnessError(f"--program {program}: there is no executable {first}")
    return shlex.join([executable, *rest])


def read_version(harness: Harness, program: str) -> str:
    """Return the version that a CLI agent reports; empty if any version works. Raises HarnessError if the agent doesn't
    start, reports no version, or is too old.
    """
    if not harness.oldest:
        return ""
    try:
        output = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_VERSION_SECONDS,
            env={**os.environ, "PATH": f"{os.path.dirname(program)}:{os.environ.get('PATH', os.defpath)}"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HarnessError(f"{program} --version doesn't end well: {error}") from None
    numbers = re.search(r"\d+(?:\.\d+)+", output.stdout + output.stderr)
    if numbers is None:
        words = (output.stderr or output.stdout).strip()[-200:]
        raise HarnessError(f"{program} --version names no version (exit code {output.returncode}): {words}")
    if tuple(map(int, numbers[0].split("."))) < harness.oldest:
        oldest = ".".join(map(str, harness.oldest))
        raise HarnessError(
            f"{harness.title} {numbers[0]} is too old ({program}): {oldest} or newer is needed; "
            f"`proctor harness install {harness.name}` installs {harness.version}"
        )
    return numbers[0]


async def install(harness: Harness) -> str:
    """Install a CLI agent into its cache folder, and return its version. Raises HarnessError if an installation tool is
    missing, or if the installation failed.
    """
    folder = cache_folder(harness)
    folder.mkdir(parents=True, exist_ok=True)
    for package in harness.packages:
        await _run_installer(harness, _installer(harness, folder, package), folder)
    return read_version(harness, find_program(harness))


def _installer(harness: Harness, folder: Path, package: str) -> list[str]:
    if harness.installer == "npm":
        npm = shutil.which("npm")
        if npm is None:
            raise HarnessError(f"{harness.title} is installed by npm, which isn't here: install Node.js 20 or newer")
        return [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder), package]
    if not (folder / "bin" / "pip").exists():
        _make_environment(harness, folder)
    return [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", package]


def _make_environment(harness: Harness, folder: Path) -> None:
    """Make a virtual environment with the first Python that works. Some may not work, since a name in PATH may belong
    to a version manager.
    """
    for python in ("python3.12", "python3.13", sys.executable):
        command = [python, "-m", "venv", str(folder)]
        if shutil.which(python) and subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return
    raise HarnessError(
        f"{harness.title} needs a Python that can make a virtual environment: install python3.12 and venv"
    )


async def _run_installer(harness: Harness, command: list[str], folder: Path) -> None:
    path = f"{folder / 'node_modules/.bin'}:{os.environ.get('PATH', os.defpath)}"
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PATH": path},
        cwd=folder,
    )
    try:
        _, errors = await asyncio.wait_for(process.communicate(), _INSTALL_SECONDS)
    except TimeoutError:
        process.kill()
        raise HarnessError(f"{harness.title} was not installed within {_INSTALL_SECONDS} s: try again") from None
    if process.returncode:
        last = errors.decode(errors="replace").strip()[-500:]
        raise HarnessError(f"{harness.title} can't be installed ({' '.join(command[:2])} failed): {last}")
