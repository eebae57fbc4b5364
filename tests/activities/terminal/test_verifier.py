"""Verdicts that an agent cannot move: tests in a fresh container, against what an agent may have changed."""

import base64
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.activities.terminal.conftest import Trials
from tests.activities.terminal.tampering import HARBOR, PRELOADED, TAMPERING, VERSION_ONE, harbor, version_one
from tests.work import NIGHTLY

_FEW = ("python3 replaced", "conftest.py in /", "a listening process that rewrites tests")
_CASES = [
    *((version_one, name) for name in (VERSION_ONE if NIGHTLY else _FEW)),
    *((harbor, name) for name in (HARBOR if NIGHTLY else ("bash replaced",))),
]
_MOVES_NOTHING = ("conftest.py in the work folder",)


def _command(name: str, folder: Path) -> str:
    if name != "/etc/ld.so.preload":
        return TAMPERING[name]
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is here")
    source, library = folder / "evil.c", folder / "evil.so"
    source.write_text(PRELOADED)
    subprocess.run([compiler, "-shared", "-fPIC", "-Os", "-s", "-o", library, source], check=True)
    encoded = base64.b64encode(library.read_bytes()).decode()
    return f"mkdir -p /app/evil; echo {encoded} | base64 -d > /app/evil/e.so; echo /app/evil/e.so > /etc/ld.so.preload"


@pytest.mark.parametrize(("make", "name"), _CASES, ids=lambda each: each if isinstance(each, str) else each.__name__)
async def test_no_change_of_the_agents_makes_failing_tests_pass(
    trials: Trials, tmp_path: Path, make: Callable[[Path], Path], name: str
) -> None:
    trial = await trials.of(make(tmp_path / "task"))
    await trial.act(_command(name, tmp_path))
    outcome = await trial.test(verifier="separate")
    assert (outcome.verifier, bool(outcome.is_resolved), outcome.reward) == ("separate", False, 0.0), outcome.log
    print(f"TABLE | {make.__name__} | {name} | separate | {outcome.is_resolved} | doubts {len(outcome.doubts)}")
    if NIGHTLY:
        other = await trials.of(make(tmp_path / "task"), "trial-2")
        await other.act(_command(name, tmp_path))
        moved = await other.test(verifier="same-container")
        print(f"TABLE | {make.__name__} | {name} | same | {moved.is_resolved} | doubts {len(moved.doubts)}")
        assert not moved.is_resolved or moved.doubts, "a verdict that was moved is marked"
