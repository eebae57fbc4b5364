"""Proctor as its users install it: a wheel, in an environment of its own."""

import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]


def install(folder: Path) -> Path:
    """Build a wheel of this checkout, install it, and give the path of the ``proctor`` that came of it.

    Nothing of the checkout is importable there. What proctor needs from others (packages, ``temporal``) isn't installed
    anew, which would take a network and minutes: it comes from the tests' own environment, by a path file.
    """
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist"))
    environment = folder / "environment"
    _run(sys.executable, "-m", "venv", "--without-pip", str(environment))
    (wheel,) = (folder / "dist").glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(environment / "bin" / "python")]
    _run(*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel))
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "what_proctor_needs.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (environment / "bin" / "temporal").symlink_to(Path(sys.executable).with_name("temporal"))
    return environment / "bin" / "proctor"


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
