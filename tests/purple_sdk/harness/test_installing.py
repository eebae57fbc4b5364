"""A CLI agent that is missing, too old or not installable is a sentence with the remedy, before anything is played."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from purple_sdk.harness.clis.codex import CODEX
from purple_sdk.harness.declared import HarnessError, Launch
from purple_sdk.harness.installing import cache_folder, find_program, install, read_version
from tests.purple_sdk.harness.playing import FAKE
from tests.sentences import says


def _program(folder: Path, script: str) -> str:
    file = folder / FAKE.program
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


def test_a_program_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(HarnessError, check=says("--program")):
        find_program(FAKE)
    with pytest.raises(HarnessError, check=says("--program")):
        find_program(FAKE, "/no/such")
    own = _program(cache_folder(FAKE) / "bin", "exit 0")
    assert find_program(FAKE) == own


@pytest.mark.parametrize(
    "script",
    [
        "echo fake 0.9.12",
        "echo no idea; exit 2",
        "sleep 600",
    ],
)
def test_a_program_of_the_wrong_version_is_named(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("purple_sdk.harness.installing._VERSION_SECONDS", 0.2 if "sleep" in script else 60)
    with pytest.raises(HarnessError, check=says()):
        read_version(FAKE, _program(tmp_path, f"exec {script}" if "sleep" in script else script))


def test_a_program_that_is_new_enough_says_its_version(tmp_path: Path) -> None:
    assert read_version(FAKE, _program(tmp_path, "echo fake v1.10.2-beta")) == "1.10.2"
    assert read_version(replace(FAKE, oldest=()), "/no/such") == ""


async def test_an_installation_without_npm_or_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HarnessError, check=says("Node.js", "20")):
        await install(FAKE)
    (tmp_path / "npm").write_text("#!/bin/sh\necho no such package >&2\nexit 1\n")
    (tmp_path / "npm").chmod(0o755)
    with pytest.raises(HarnessError, check=says()):
        await install(FAKE)


def test_any_name_of_a_model_makes_a_configuration_that_can_be_read(tmp_path: Path) -> None:
    name = 'naïve "gpt" 😀\\'
    launch = Launch("codex", name, "", None, "", home=tmp_path, work=tmp_path, relay="http://127.0.0.1:1")
    assert tomllib.loads(CODEX.files(launch)[".codex/config.toml"])["model"] == name
