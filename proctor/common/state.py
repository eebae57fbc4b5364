"""The state folder holds all files that outlive a process. All services of a user on a machine share it.

* ``secret``: all keys are derived from it
* ``storage``: checkpoints and large payloads
* files of ``proctor up``: Temporal's database, logs, and the lock of the running deployment
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import SecretStr

from proctor.common.errors import CommandError
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.locks import BusyError, locked

_FOR_ITS_OWNER = 0o700
_FOR_OTHERS = 0o077


def secret_file(config: GreenAgentConfig) -> Path:
    return Path(config.state) / "secret"


def with_secret(config: GreenAgentConfig) -> GreenAgentConfig:
    """The same settings with the secret of the state folder, unless one is set."""
    if "secret" in config.model_fields_set:
        return config
    return config.model_copy(update={"secret": SecretStr(deployment_secret(Path(config.state)))})


def deployment_secret(state: Path) -> str:
    """The secret of this state folder's deployment.

    The first process that needs the secret makes it, with read access for its owner only.
    """
    path = state / "secret"
    make_folder(state)
    try:
        if not path.exists():
            with locked(state / "secret.lock"):  # two processes at the same moment get the same secret
                if not path.exists():
                    _write(path, secrets.token_urlsafe(32))
        status, secret = path.stat(), path.read_text().strip()
    except BusyError as error:
        raise CommandError(str(error)) from None
    except (OSError, UnicodeError) as error:
        raise CommandError(f"{path} can't be used ({error}): {_REMEDY}") from None
    if not secret:
        raise CommandError(f"{path} is empty: remove it, so that a new secret is made")
    if status.st_uid != os.geteuid():
        raise CommandError(f"{path} belongs to another user, who knows this secret then: {_REMEDY}")
    if status.st_mode & _FOR_OTHERS:
        raise CommandError(f"{path} is open to other users: chmod 600 it, or remove it, so that a new secret is made")
    return secret


def make_folder(path: Path) -> None:
    """Make a state folder that only its owner can open, unless the folder exists."""
    try:
        path.mkdir(parents=True, mode=_FOR_ITS_OWNER, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{path} can't be used as the state folder ({error}): {_REMEDY}") from None


@contextmanager
def state_folder(path: Path) -> Iterator[Path]:
    """Make a state folder, and lock it for this `proctor up` until the context ends."""
    make_folder(path)
    try:
        lock = os.fdopen(os.open(path / "lock", os.O_WRONLY | os.O_CREAT, 0o600), "w")
    except OSError as error:
        raise CommandError(f"{path} can't be used as the state folder ({error}): {_REMEDY}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(
                f"another `proctor up` uses {path}: end it, or choose another folder with --state"
            ) from None
        yield path.resolve()


_REMEDY = "choose one with --state or AGENTBEATS_GREEN_STATE"


def _write(path: Path, secret: str) -> None:
    """Write a secret atomically."""
    draft = path.with_name("secret.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
