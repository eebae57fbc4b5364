"""Write the notes of this machine's deployments; other commands read them (``proctor.client.deployments``)."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.client.deployments import LINKS, NOTE
from proctor.common.errors import CommandError
from proctor.common.state import make_folder
from proctor.settings.config import default_state

if TYPE_CHECKING:
    from proctor.local.stack import LocalStack


@contextmanager
def noted(stack: "LocalStack") -> Iterator[None]:
    """Let other commands find a deployment. Until the context ends, they see it as running."""
    config = stack.config
    settings = {
        "archive_url": stack.archive_url,
        "storage_url": stack.storage_url,
        "temporal_address": stack.temporal_address,
        "temporal_namespace": config.temporal_namespace,
        "temporal_ui_url": stack.ui_url,
        "task_queue": config.task_queue,
    }
    with os.fdopen(os.open(stack.state / NOTE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as note:
        fcntl.flock(note, fcntl.LOCK_EX)  # only readers can hold it: state_folder excludes other deployments
        note.write(json.dumps(settings))
        note.flush()
        with suppress(OSError, RuntimeError, CommandError):  # without a home folder, commands need --state to find it
            _link(Path(default_state()).expanduser(), stack.state)
        yield


def _link(home: Path, state: Path) -> None:
    if state == home.resolve():
        return
    make_folder(home)
    links = home / LINKS
    links.mkdir(exist_ok=True)
    for link in links.iterdir():
        if not link.exists():
            link.unlink(missing_ok=True)
    link = links / hashlib.sha256(str(state).encode()).hexdigest()[:16]
    if not link.is_symlink():
        link.symlink_to(state)
