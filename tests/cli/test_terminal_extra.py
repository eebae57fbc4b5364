"""Without the extra `terminal`, terminal tasks name what to install, and everything else works."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import MODELS

_WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("aiodocker", "aiohttp"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import importlib.util
importlib.util.find_spec = lambda name, found=importlib.util.find_spec: None if name == "aiodocker" else found(name)
from proctor.processes.importing import import_less; import_less()
import proctor.service.worker
print(*(name for name, module in sys.modules.items() if module))
import proctor.local.up, proctor.service.doctor.command, proctor.a2a_gateway.server, proctor.viewer.app

import asyncio
from proctor.service.doctor.services import look_at_engine
from proctor.settings.config import GreenAgentConfig
print(asyncio.run(look_at_engine(GreenAgentConfig(containers="on"))))

from proctor.cli.main import main
main()
"""
"""It imports what a worker needs, then all else, looks for an engine, and runs a command."""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> "subprocess.CompletedProcess[str]":
    """A process that can import neither aiodocker nor aiohttp, and what it said."""
    dataset = Path(__file__).parents[2] / "scenarios" / "terminal_bench"
    run = ("terminal-bench", "run", "--dataset", str(dataset), "--agent", "oracle")
    words = [sys.executable, "-c", _WITHOUT, *run, "--state", str(tmp_path_factory.mktemp("state"))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert len(done.stdout.splitlines()) >= 2, done.stderr
    return done


def test_a_worker_imports_nothing_of_the_extra_and_nothing_that_only_others_need(
    done: "subprocess.CompletedProcess[str]",
) -> None:
    """Its first model brings what models need, its first webhook the gateway's words, an engine its client."""
    worker = set(done.stdout.splitlines()[0].split())
    assert "proctor.activities.models.factory" in worker
    assert worker.isdisjoint({"proctor.ues", "proctor.a2a_gateway", "aiohttp", "aiodocker", "yaml", "rich", *MODELS})


def test_a_run_of_terminal_tasks_names_the_extra(done: "subprocess.CompletedProcess[str]") -> None:
    assert done.returncode == 1, done.stderr
    assert "pip install 'proctor[terminal]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_and_ready_name_the_extra(done: "subprocess.CompletedProcess[str]") -> None:
    assert "proctor[terminal]" in done.stdout, done.stderr
