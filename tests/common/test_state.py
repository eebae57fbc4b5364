"""The state folder: one secret for all services of a user, wherever they are started, and for nobody else."""

import fcntl
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.a2a_gateway.auth.tokens import Tokens, TokensError, make_token
from proctor.common.errors import CommandError
from proctor.common.state import deployment_secret, state_folder, with_secret
from proctor.settings.config import GreenAgentConfig
from tests import programs as processes
from tests.sentences import says


def test_the_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    secret = deployment_secret(tmp_path)
    assert len(secret) >= 32
    assert deployment_secret(tmp_path) == secret
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_an_empty_secret_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    with pytest.raises(CommandError, check=says()):
        deployment_secret(tmp_path)


def test_a_state_folder_belongs_to_one_at_a_time(tmp_path: Path) -> None:
    alone = pytest.raises(CommandError, check=says())
    with state_folder(tmp_path / "state"), alone, state_folder(tmp_path / "state"):
        pass
    with state_folder(tmp_path / "state") as again:
        assert again.is_absolute()


def test_a_state_folder_that_cant_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, check=says("--state")), state_folder(tmp_path / "file" / "state"):
        pass


def test_a_new_state_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    deployment_secret(tmp_path / "deep" / "state")
    assert stat.S_IMODE((tmp_path / "deep" / "state").stat().st_mode) == 0o700
    with state_folder(tmp_path / "deep" / "state") as folder:
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


_SERVICES_AT_ONCE = """
import os, sys
from pathlib import Path
from proctor.common.state import deployment_secret

ready, go = os.pipe()
for _ in range(8):
    if not os.fork():
        os.close(go)
        os.read(ready, 1)  # until the other end is closed everywhere
        os.write(1, deployment_secret(Path(sys.argv[1])).encode() + b"\\n")
        os._exit(0)
os.close(go)
for _ in range(8):
    os.wait()
"""


def test_services_that_start_at_the_same_moment_agree_on_the_secret(tmp_path: Path) -> None:
    ended = subprocess.run(
        processes.program(_SERVICES_AT_ONCE, str(tmp_path / "state")), capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == [deployment_secret(tmp_path / "state")] * 8
    assert {path.name for path in (tmp_path / "state").iterdir()} == {"secret", "secret.lock"}


def test_a_secret_that_a_killed_service_left_half_written_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "secret.new").write_text("ha")
    assert len(deployment_secret(tmp_path)) >= 32
    assert {path.name for path in tmp_path.iterdir()} == {"secret", "secret.lock"}


def _keep(path: Path) -> int:
    """Lock a file or folder, until what is returned is closed."""
    kept = os.open(path, os.O_RDONLY)
    fcntl.flock(kept, fcntl.LOCK_EX)
    return kept


def _add_token(state: Path) -> None:
    Tokens(state / "tokens.json").add(make_token("ada")[0])


@pytest.mark.timeout(30)
def test_nobody_waits_for_who_can_only_list_the_state_folder(tmp_path: Path) -> None:
    kept = _keep(tmp_path)
    deployment_secret(tmp_path)
    _add_token(tmp_path)
    os.close(kept)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize(("name", "use"), [("secret.lock", deployment_secret), ("tokens.json.lock", _add_token)])
def test_a_lock_that_is_kept_is_named(
    name: str, use: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purple_sdk.processes.locks.SECONDS", 0.0)
    (tmp_path / name).touch(0o600)
    kept = _keep(tmp_path / name)
    with pytest.raises((CommandError, TokensError), check=says(name)):
        use(tmp_path)
    os.close(kept)
    use(tmp_path)


def test_a_secret_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    deployment_secret(tmp_path)
    (tmp_path / "secret").chmod(0o644)
    with pytest.raises(CommandError, check=says("600")):
        deployment_secret(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_secret_of_another_users_is_not_used(tmp_path: Path) -> None:
    deployment_secret(tmp_path)
    os.chown(tmp_path / "secret", 12345, -1)
    with pytest.raises(CommandError, check=says()):
        deployment_secret(tmp_path)


def test_a_secret_that_is_set_wins_and_none_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTBEATS_GREEN_SECRET", "a secret of one's own")
    config = with_secret(GreenAgentConfig(state=str(tmp_path / "state")))
    assert config.secret.get_secret_value() == "a secret of one's own"
    assert not (tmp_path / "state").exists()


def test_secret_and_store_are_the_same_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = set()
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        config = with_secret(GreenAgentConfig())
        found.add((config.secret.get_secret_value(), config.storage_url))
    ((_, storage_url),) = found
    assert storage_url == str(tmp_path / "state" / "proctor" / "storage")


def test_a_folder_that_is_named_goes_before_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTBEATS_GREEN_STATE", "mine")
    config = GreenAgentConfig()
    assert (config.state, config.storage_url) == (str(tmp_path / "mine"), str(tmp_path / "mine" / "storage"))
