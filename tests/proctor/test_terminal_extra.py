"""Without the extra `terminal`, terminal tasks name what to install, and everything else works."""

import subprocess
import sys
from pathlib import Path

_WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("aiodocker", "aiohttp"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import importlib.util
importlib.util.find_spec = lambda name, found=importlib.util.find_spec: None if name == "aiodocker" else found(name)
"""


def run_without_extra(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that can import neither aiodocker nor aiohttp."""
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT + code, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_everything_but_terminal_tasks_needs_no_extra() -> None:
    rooms = ("proctor.worker", "proctor.up", "proctor.doctor.command", "a2a_gateway.server", "viewer.app")
    done = run_without_extra(f"import importlib; [importlib.import_module(room) for room in {rooms}]")
    assert done.returncode == 0, done.stderr


def test_a_run_of_terminal_tasks_names_the_extra(tmp_path: Path) -> None:
    dataset = Path(__file__).parents[2] / "scenarios" / "terminal_bench"
    arguments = ("terminal-bench", "run", "--dataset", str(dataset), "--agent", "oracle", "--state", str(tmp_path))
    done = run_without_extra("from proctor.main import main; main()", *arguments)
    assert done.returncode == 1, done.stderr
    assert "pip install 'proctor[terminal]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_and_ready_name_the_extra() -> None:
    done = run_without_extra(
        """
import asyncio
from proctor.doctor.services import look_at_engine
from proctor_settings.config import GreenAgentConfig
print(asyncio.run(look_at_engine(GreenAgentConfig(containers="on"))))
"""
    )
    assert "proctor[terminal]" in done.stdout, done.stderr
