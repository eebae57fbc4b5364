"""The deployments of this user on this machine: where each keeps its archive, for commands in other terminals.

A deployment's state folder has a note of its settings, which is locked as long as it runs. The default state folder has
a link to each of the others.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.errors import CommandError
from proctor.state import make_folder
from proctor_settings.config import GreenAgentConfig, default_state

if TYPE_CHECKING:
    from proctor.local import LocalStack

_NOTE, _LINKS = "deployment.json", "deployments"
PLACES = frozenset({"archive_url", "storage_url"})


@dataclass(frozen=True)
class Deployment:
    """A state folder that `proctor up` has used.

    Attributes:
        settings: fields of ``GreenAgentConfig`` that it has or had; of one that ended, store and archive alone. None
            where they can't be read.
        is_running: whether it runs now.
    """

    state: Path
    settings: dict[str, str] = field(default_factory=dict)
    is_running: bool = False

    def settle(self, config: GreenAgentConfig, chosen: frozenset[str] = frozenset()) -> GreenAgentConfig:
        """The settings with those of the deployment, except for the ``chosen`` ones."""
        own = {"state": str(self.state), "archive_url": str(self.state / "archive")}
        own |= {"storage_url": str(self.state / "storage"), **self.settings}
        return config.model_copy(update={name: value for name, value in own.items() if name not in chosen})


@contextmanager
def noted(stack: "LocalStack") -> Iterator[None]:
    """Let other commands find a deployment; they know that it runs until the end of the context."""
    config = stack.config
    settings = {
        "archive_url": stack.archive_url,
        "storage_url": stack.storage_url,
        "temporal_address": stack.temporal_address,
        "temporal_namespace": config.temporal_namespace,
        "temporal_ui_url": stack.ui_url,
        "task_queue": config.task_queue,
    }
    with os.fdopen(os.open(stack.state / _NOTE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as note:
        fcntl.flock(note, fcntl.LOCK_EX)  # waits for a reader at most: state_folder keeps out other deployments
        note.write(json.dumps(settings))
        note.flush()
        with suppress(OSError, RuntimeError, CommandError):  # without a home, it has to be named by --state
            _link(Path(default_state()).expanduser(), stack.state)
        yield


def _link(home: Path, state: Path) -> None:
    if state == home.resolve():
        return
    make_folder(home)
    links = home / _LINKS
    links.mkdir(exist_ok=True)
    for link in links.iterdir():
        if not link.exists():
            link.unlink(missing_ok=True)
    link = links / hashlib.sha256(str(state).encode()).hexdigest()[:16]
    if not link.is_symlink():
        link.symlink_to(state)


def known_deployments(home: Path) -> list[Deployment]:
    """All deployments with results or a note: the running ones first, and among equals that of ``home``.

    Args:
        home: the default state folder.
    """
    folders = [home]
    with suppress(OSError):
        folders += sorted((home / _LINKS).iterdir(), key=lambda link: link.lstat().st_mtime, reverse=True)
    states = [folder.resolve() for folder in folders if (folder / _NOTE).is_file() or (folder / "archive").is_dir()]
    return sorted(map(read_deployment, dict.fromkeys(states)), key=lambda each: not each.is_running)


def read_deployment(state: Path) -> Deployment:
    """The deployment of a state folder; without settings where it has none, or they can't be read."""
    try:
        with (state / _NOTE).open(encoding="utf-8") as note:
            try:
                fcntl.flock(note, fcntl.LOCK_SH | fcntl.LOCK_NB)
                is_running = False
            except BlockingIOError:
                is_running = True
            found = json.load(note)
        known = GreenAgentConfig.model_fields.keys() if is_running else PLACES
        settings = {name: str(value) for name, value in found.items() if name in known}
    except (OSError, ValueError, AttributeError):
        return Deployment(state)
    return Deployment(state, settings, is_running)
