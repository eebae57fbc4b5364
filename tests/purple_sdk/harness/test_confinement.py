"""A CLI agent is kept in its folders and at the relay by the operating system, and plays all the same."""

import json
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from purple_sdk.harness import launcher
from purple_sdk.harness.launcher import find_missing_confinement
from purple_sdk.harness.starting import hidden_folders
from purple_sdk.processes.landlock import landlock_version
from purple_sdk.processes.locks import builds_folder
from tests.purple_sdk.harness.playing import fake_agent, simulated, speaks
from tests.scripted_model import ScriptedModel

SCENARIOS = Path(__file__).parents[3] / "scenarios"
TRUTH = (
    "email_triage_basic/ground_truth.toml",
    "families/clear_the_day/family.py",
    "terminal_bench/hello-file/solution.sh",
)


@pytest.mark.skipif(landlock_version() < 4, reason="this kernel has no Landlock that knows of ports")
async def test_it_can_not_leave_its_folders_nor_the_relay(tmp_path: Path) -> None:
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "key").write_text("x")
    files = [
        tmp_path / "truth" / "key",
        *(SCENARIOS / name for name in TRUTH),
        SCENARIOS.parent / "pyproject.toml",
    ]
    assert all(file.is_file() for file in files)
    (tmp_path / "homes" / "another").mkdir(parents=True)
    (tmp_path / "homes" / "another" / "secret").write_text("x")
    async with simulated() as day:
        with ScriptedModel({1: speaks("one")}) as model:
            does = ":".join(map(str, ("breaks-out", model.port, *files)))
            agent = fake_agent(tmp_path / "homes", model.url, does, hidden=str(tmp_path / "truth"))
            await day.greet(agent)
            day.begin(agent, 1)
            await agent.play_turn()
            (home,) = tmp_path.glob("homes/*/now/home")
        assert await day.texts() == ["one"]
    found = json.loads((home / "attempts.json").read_text())
    assert found.pop("memory") == launcher.MEMORY_BYTES
    assert {name for name, ended in found.items() if ended == "done"} == {"write in its home", "write a temporary file"}
    assert {ended for ended in found.values() if ended != "done"} <= {
        "EACCES",
        "ENOENT",
        "EROFS",
    }
    assert not (tmp_path / "homes" / "outside").exists()
    assert "PYTHONPATH" not in json.loads((home / "environment.json").read_text())


def test_an_installation_hides_its_scenarios_only_and_a_checkout_all_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert str(SCENARIOS.parent) in hidden_folders(tmp_path)
    spec = ModuleSpec("proctor", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path / "site-packages" / "proctor")]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    homes, more = tmp_path / "homes", tmp_path / "more"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    hidden = [homes, more, builds_folder(), tmp_path / "site-packages" / "proctor" / "scenarios"]
    assert hidden_folders(homes, f"{more}:") == [str(folder) for folder in hidden]


@pytest.mark.parametrize(
    ("version", "calls", "view", "missing"),
    [
        (0, "f", "files and processes", ["write files", "connect", "signals"]),
        (5, "f", "files and processes", ["signals"]),
        (6, "", "files and processes", ["change the limits"]),
        (6, "f", "files", ["sees your other processes"]),
        (6, "f", None, ["change modes and times", "sees your other processes"]),
        (6, "f", "files and processes", []),
    ],
)
def test_what_a_machine_lacks_is_named(
    version: int, calls: str, view: str | None, missing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "landlock_version", lambda: version)
    monkeypatch.setattr(launcher, "_filter", lambda: calls)
    monkeypatch.setattr(launcher, "_view", lambda: view)
    sentences = find_missing_confinement()
    assert len(sentences) == len(missing)
    assert all(words in sentence for words, sentence in zip(missing, sentences, strict=True))
