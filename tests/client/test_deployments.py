"""Commands over the archive find that of the deployment that runs, or that is named."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor.cli.archive_commands import list_entries, show_entry
from proctor.client.opened_archive import deployment_settings, local_archives
from proctor.common.errors import UsageError
from proctor.common.settings import read_settings
from proctor.common.state import state_folder
from proctor.local.noting import noted
from proctor.local.stack import LocalStack, Ports
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import Archive
from proctor.storage.entry_table import EntryQuery
from tests.sentences import says
from tests.viewer.entries import write_day

PORTS = Ports(1, 2, 3, 4)  # at which nothing listens


@contextmanager
def running(state: Path, **settings: str) -> Iterator[LocalStack]:
    """A deployment without its services: it holds the lock and the note that `proctor up` holds."""
    config = read_settings(GreenAgentConfig, state=str(state), **settings)
    with state_folder(state) as folder:
        stack = LocalStack(config, PORTS, folder, is_durable=True)
        with noted(stack):
            yield stack


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The default state folder, in which the user's own archive has one day."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("AGENTBEATS_GREEN_CONNECT_TIMEOUT", "0.1")
    write_day(Archive(str(tmp_path / "proctor" / "archive")), "own-day")
    return tmp_path / "proctor"


def listed(capsys: pytest.CaptureFixture[str], state: Path | None = None) -> str:
    list_entries(None, str(state) if state else None, EntryQuery(), 50, False)
    return capsys.readouterr().out


def test_the_running_deployment_is_listed_and_the_others_are_named(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path / "x") as stack:
        write_day(Archive(stack.archive_url), "day-of-x")
        said = listed(capsys)
        assert "day-of-x" in said
        assert "own-day" not in said
        assert f"other deployments: --state {home}" in said
        config = deployment_settings()
        assert (config.temporal_address, config.state) == ("127.0.0.1:3", str(tmp_path / "x"))
    said = listed(capsys)
    assert "own-day" in said
    assert f"other deployments: --state {tmp_path / 'x'}" in said


def test_an_id_is_found_in_whichever_archive_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(tmp_path / "x") as stack:
        write_day(Archive(stack.archive_url), "day-of-x")
        show_entry(None, None, "own", False, False)
        assert set(local_archives()) >= {tmp_path / "x" / "archive", tmp_path / "proctor" / "archive"}
    show_entry(None, None, "day-of", False, False)
    assert "day-of-x" in capsys.readouterr().out


def test_a_named_deployment_has_the_archive_that_it_ran_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    with running(tmp_path / "x", archive_url=elsewhere):
        write_day(Archive(elsewhere), "day-of-x")
    assert "day-of-x" in listed(capsys, tmp_path / "x")
    assert deployment_settings(state=str(tmp_path / "x")).temporal_address == "127.0.0.1:7233", "its own has ended"
    monkeypatch.setenv("AGENTBEATS_GREEN_STORAGE_URL", str(tmp_path / "store"))
    assert says().within(listed(capsys, tmp_path / "x"))


def test_of_several_that_run_the_default_one_is_read_else_one_has_to_be_named(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path / "x"), running(tmp_path / "y"):
        with pytest.raises(UsageError, check=says("--state")):
            listed(capsys)
        with running(home):
            assert "own-day" in listed(capsys)


def test_notes_that_cannot_be_read_and_folders_that_are_gone_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("x", "y"):
        with running(tmp_path / name):
            pass
    (tmp_path / "x" / "deployment.json").write_text("[1")
    os.rename(tmp_path / "y", tmp_path / "gone")
    assert "own-day" in listed(capsys)
    with running(tmp_path / "z"):
        assert len(list((tmp_path / "proctor" / "deployments").iterdir())) == 2
