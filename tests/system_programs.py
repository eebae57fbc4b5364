"""Programs of the system that some tests need: which are missing, what they are for, and how to add them.

``python -m tests.system_programs`` lists what is missing. With ``--install`` it installs it, which needs root and
``apt-get``. ``make test`` does the first, ``make system-packages`` the second.

A test that needs a missing program is skipped. With ``PROCTOR_TEST_COMPLETE=1``, as in CI, it fails.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

CHROMIUM = "PROCTOR_TEST_CHROMIUM"
"""Environment variable that names a Chromium, where it has another name than those below."""

_CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
COMPLETE = "PROCTOR_TEST_COMPLETE"
COMMAND = "make system-packages"
ENGINE_PROGRAMS = ("dockerd", "docker", "docker-compose", "debootstrap", "ip")
_PACKAGES = {
    "chromium": "chromium",
    "dockerd": "docker.io",
    "docker": "docker.io",
    "docker-compose": "docker-compose",
    "debootstrap": "debootstrap",
    "ip": "iproute2",
    "tini": "tini",
    "prometheus": "prometheus",
    "promtool": "prometheus",
}
"""Each program, and Debian's package for it."""

_USES = {
    "pages and the Temporal UI": ("chromium",),
    "terminal tasks and images": (*ENGINE_PROGRAMS, "tini"),
    "metrics and alerts": ("prometheus", "promtool"),
}
"""What the tests are about that need the programs."""


def find_chromium() -> str | None:
    """The Chromium that the environment names or that the system has; None where it has none."""
    return os.environ.get(CHROMIUM) or next(filter(None, map(shutil.which, _CHROMIUM_NAMES)), None)


def has(program: str) -> bool:
    """Whether tests find a program here, or its substitute."""
    if program == "chromium":
        return find_chromium() is not None or _has_playwright_chromium()
    if program in _USES["terminal tasks and images"] and os.environ.get("PROCTOR_TEST_ENGINE"):
        return True
    return shutil.which(program) is not None


def require(*programs: str) -> None:
    """Skip the test where one of these is missing; fail it where a run has to be complete."""
    if missing := [program for program in programs if not has(program)]:
        refuse(*missing)


def refuse(*missing: str) -> NoReturn:
    """Skip the test for want of these programs; fail it where a run has to be complete."""
    why = f"not on this machine: {', '.join(missing)}. To add missing programs, as root: {COMMAND}"
    if os.environ.get(COMPLETE):
        pytest.fail(why)
    pytest.skip(why)


def _has_playwright_chromium() -> bool:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).is_file()


def list_missing() -> dict[str, list[str]]:
    """What is missing, by what the tests are about that need it."""
    found = {use: [program for program in programs if not has(program)] for use, programs in _USES.items()}
    return {use: programs for use, programs in found.items() if programs}


def install(missing: dict[str, list[str]]) -> int:
    """Install what is missing with ``apt-get``; the exit code."""
    packages = sorted({_PACKAGES[program] for programs in missing.values() for program in programs})
    if not packages:
        print("All programs that tests need are here.")
        return 0
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        print(
            f"Installing {', '.join(packages)} needs root and apt-get. As root: {COMMAND}. Without apt-get, install "
            "them with your system's package manager. Chromium alone, without root: .venv/bin/playwright install "
            "chromium",
            file=sys.stderr,
        )
        return 1
    print(f"installing {' '.join(packages)} ...", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", *command], env=environment, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            print(f"apt-get {command[0]} failed: its message is above", file=sys.stderr)
            return 1
    return 0


def main() -> int:
    """List what is missing, or install it."""
    missing = list_missing()
    if "--install" in sys.argv[1:]:
        return install(missing)
    for use, programs in missing.items():
        print(f"not on this machine: {', '.join(programs)}. Tests of {use} are skipped.", file=sys.stderr)
    if missing:
        print(f"To add them, as root: {COMMAND}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
