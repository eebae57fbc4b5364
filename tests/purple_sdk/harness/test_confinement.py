"""A CLI agent is kept in its folders and at the relay by the operating system, and plays all the same."""

import json
from pathlib import Path

import pytest

from proctor_processes.landlock import landlock_version
from purple_sdk.harness import launcher
from purple_sdk.harness.launcher import find_missing_confinement
from tests.purple_sdk.harness.playing import fake_agent, says, simulated
from tests.scripted_model import ScriptedModel


@pytest.mark.skipif(landlock_version() < 4, reason="this kernel has no Landlock that knows of ports")
async def test_it_can_not_leave_its_folders_nor_the_relay(tmp_path: Path) -> None:
    (tmp_path / "another").mkdir()
    (tmp_path / "another" / "secret").write_text("x")
    async with simulated() as day:
        with ScriptedModel({1: says("one")}) as model:
            agent = fake_agent(tmp_path, model.url, f"breaks-out:{model.port}")
            await day.greet(agent)
            day.begin(agent, 1)
            await agent.play_turn()
            (home,) = tmp_path.glob("*/now/home")
        assert await day.texts() == ["one"]
    found = json.loads((home / "attempts.json").read_text())
    assert found.pop("memory") == launcher.MEMORY_BYTES
    assert {name for name, ended in found.items() if ended == "done"} == {"write in its home", "write a temporary file"}
    assert {ended for ended in found.values() if ended != "done"} == {"EACCES"}
    assert not (tmp_path / "outside").exists()
    assert "PYTHONPATH" not in json.loads((home / "environment.json").read_text())


@pytest.mark.parametrize(
    ("version", "missing"), [(0, ["write files", "connect", "signals"]), (5, ["signals"]), (6, [])]
)
def test_an_older_kernel_is_named(version: int, missing: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "landlock_version", lambda: version)
    sentences = find_missing_confinement()
    assert len(sentences) == len(missing)
    assert all(words in sentence for words, sentence in zip(missing, sentences, strict=True))
