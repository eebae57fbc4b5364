"""What ``proctor new-agent`` and ``proctor new-scenario`` write is held to."""

import os
import subprocess
import sys
from pathlib import Path

from tests.programs import ROOT


def run(*command: str, folder: Path, **environment: str) -> str:
    """Run a module in a project; it has to end well. Returns what it printed."""
    words, known = [sys.executable, "-m", *command], {**os.environ, **environment}
    done = subprocess.run(words, cwd=folder, env=known, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_tests(project: Path) -> str:
    """Run a project's tests with the plugin that its guide names; those of our other packages would take seconds."""
    words = ("pytest", "-p", "asyncio", "-p", "no:cacheprovider")
    return run(*words, folder=project, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def require_clean(project: Path) -> None:
    """Ruff finds nothing in it."""
    run("ruff", "check", "--no-cache", "--isolated", "--line-length=120", ".", folder=project)
    run("ruff", "format", "--no-cache", "--isolated", "--line-length=120", "--check", ".", folder=project)


def require_in_wheel(kind: str) -> None:
    """Hatchling takes what lies in a package's folder, whatever it is, unless git ignores it."""
    templates = ROOT / "proctor" / "cli" / "templates" / kind
    done = subprocess.run(["git", "check-ignore", *map(str, templates.rglob("*"))], cwd=ROOT, check=False)
    assert done.returncode == 1, "a template is ignored by git"
