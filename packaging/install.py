"""Install proctor and the packages of a lock into ``.venv``: ``python packaging/install.py requirements-run.lock``.

The Makefile calls this script before anything is installed, so only the standard library is used. Packages are
installed with uv if it is on the PATH or pip can fetch it in seconds (``packaging/uv.txt``), and with pip otherwise.
Every package is checked against the hashes of the lock. Progress goes to standard error.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = Path(".venv")
PYTHON = VENV / "bin" / "python"
UV_PINNED = ROOT / "packaging" / "uv.txt"
SECONDS_FOR_UV = 45
OWN = ("--no-deps", "--no-build-isolation", "-e", str(ROOT))
"""The checkout itself; the lock has its build requirements."""

NO_LINKS = (
    "proctor/workflows is not a folder: this checkout lacks its symbolic links. Clone it with git, on Windows with "
    "`git clone -c core.symlinks=true`."
)
NO_VENV = "{} can't make a virtual environment: install its venv module (Debian: apt-get install python3-venv)."


def main(lock: Path) -> int:
    """Make the environment if it is missing, install the lock and this checkout, and check that they fit."""
    began = time.monotonic()
    if not (ROOT / "proctor" / "workflows").is_dir():
        say(NO_LINKS)
        return 1
    packages = count_packages(lock)
    uv = find_uv(shutil.which("uv"))
    if not make_environment(uv):
        say(NO_VENV.format(sys.executable))
        return 1
    with tempfile.TemporaryDirectory(prefix="proctor-uv-") as folder:
        if not install(lock, packages, uv or fetch_uv(Path(folder))):
            return 1
    if run([PYTHON, "-m", "pip", "check", "--disable-pip-version-check"], quiet=True):
        say(f"{lock.name} does not fit pyproject.toml: run make lock")
        return 1
    say(f"installed {packages} packages in {time.monotonic() - began:.0f} s")
    return 0


def install(lock: Path, packages: int, uv: str | None) -> bool:
    """Install with uv, or with pip if uv is None or fails. Return whether one of them succeeded."""
    say(f"installing {packages} packages into {VENV} with {'uv' if uv else 'pip'} (once) ...")
    if not (uv and install_with_uv(uv, lock)):
        if uv:
            say("uv could not install them; trying pip ...")
        if not install_with_pip(lock, packages):
            say("pip could not install them: its message is above. Is a package index reachable?")
            return False
    return True


def count_packages(lock: Path) -> int:
    """How many packages a lock pins, without those for other systems."""
    pins = re.findall(r"^[A-Za-z0-9._-]+==.*", lock.read_text(), re.MULTILINE)
    return len([pin for pin in pins if not re.search(r"platform == '(?:win32|emscripten)'", pin)])


def find_uv(program: str | None) -> str | None:
    """Return the path of uv if it runs, since a uv on the PATH may be a shim without a program."""
    return program if program and os.path.exists(program) and not run([program, "--version"], quiet=True) else None


def make_environment(uv: str | None) -> bool:
    """Make ``.venv`` with pip, unless it exists; return False if this Python can't make it."""
    if PYTHON.exists():
        return True
    if uv and not run([uv, "venv", "--quiet", "--seed", "--clear", "--python", sys.executable, VENV], quiet=True):
        return True
    if run([sys.executable, "-m", "venv", VENV], quiet=True):
        shutil.rmtree(VENV, ignore_errors=True)
        return False
    return True


def fetch_uv(folder: Path) -> str | None:
    """Let pip install uv into a temporary folder; None if that fails or takes too long."""
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    try:
        options = ["--require-hashes", "--timeout", "10", "--retries", "1", "--target", folder]
        run([*pip, *options, "-r", UV_PINNED], quiet=True, timeout=SECONDS_FOR_UV)
    except subprocess.TimeoutExpired:
        return None
    return find_uv(str(folder / "bin" / "uv"))


def install_with_uv(uv: str, lock: Path) -> bool:
    """Install everything with uv, which shows its own progress; return whether it succeeded."""
    pip = [uv, "pip", "install", "--python", PYTHON]
    return not (run([*pip, "--no-deps", "--require-hashes", "-r", lock]) or run([*pip, "--quiet", *OWN]))


def install_with_pip(lock: Path, packages: int) -> bool:
    """Install everything with pip and show the number of fetched packages; return whether it succeeded."""
    pip = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]
    with subprocess.Popen(
        [*map(str, pip), "--no-deps", "--require-hashes", "-r", str(lock)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        fetched = 0
        for line in process.stdout:
            if name := re.match(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)", line):
                fetched += 1
                show_progress(fetched, packages, name[1])
            elif line.startswith("Installing collected packages"):
                show_progress(packages, packages, "unpacking")
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return process.returncode == 0 and not run([*pip, "--quiet", *OWN])


def show_progress(fetched: int, packages: int, name: str) -> None:
    """Print the progress. On a terminal, one line is overwritten; elsewhere, there is a line for every 20 packages."""
    if sys.stderr.isatty():
        print(f"\r\033[K  {fetched} of {packages}: {name}", end="", file=sys.stderr, flush=True)
    elif fetched % 20 == 0 or name == "unpacking":
        say(f"  {fetched} of {packages}: {name}")


def say(sentence: str) -> None:
    """Print a line to standard error, at once."""
    print(sentence, file=sys.stderr, flush=True)


def run(command: list[str | Path], *, quiet: bool = False, timeout: float | None = None) -> int:
    """Run a command and return its exit code; ``quiet`` discards its output.

    Raises:
        subprocess.TimeoutExpired: it took longer than ``timeout`` seconds.
    """
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(
        list(map(str, command)), stdout=output, stderr=output, timeout=timeout, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
