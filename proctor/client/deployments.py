"""The deployments of this user on this machine. Commands in other terminals find their archives by this module.

The state folder of a deployment has a note of its settings. The note is locked as long as the deployment runs. The
default state folder has a link to each other state folder.
"""

import fcntl
import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from proctor.settings.config import GreenAgentConfig

NOTE, LINKS = "deployment.json", "deployments"
PLACES = frozenset({"archive_url", "storage_url"})


@dataclass(frozen=True)
class Deployment:
    """A state folder that `proctor up` has used.

    Attributes:
        settings: values of ``GreenAgentConfig`` by field. A deployment that has ended has only its store and archive.
            The dictionary is empty if they can't be read.
        is_running: whether the deployment runs now.
    """

    state: Path
    settings: dict[str, str] = field(default_factory=dict)
    is_running: bool = False

    def settle(self, config: GreenAgentConfig, chosen: frozenset[str] = frozenset()) -> GreenAgentConfig:
        """Replace settings by those of the deployment, except for the ``chosen`` fields."""
        own = {"state": str(self.state), "archive_url": str(self.state / "archive")}
        own |= {"storage_url": str(self.state / "storage"), **self.settings}
        return config.model_copy(update={name: value for name, value in own.items() if name not in chosen})


def known_deployments(home: Path) -> list[Deployment]:
    """All deployments with results or a note. Running deployments come first; in each group, ``home`` comes first.

    Args:
        home: the default state folder.
    """
    folders = [home]
    with suppress(OSError):
        folders += sorted((home / LINKS).iterdir(), key=lambda link: link.lstat().st_mtime, reverse=True)
    states = [folder.resolve() for folder in folders if (folder / NOTE).is_file() or (folder / "archive").is_dir()]
    return sorted(map(read_deployment, dict.fromkeys(states)), key=lambda each: not each.is_running)


def read_deployment(state: Path) -> Deployment:
    """The deployment of a state folder. It has no settings if the folder has no note, or an unreadable one."""
    try:
        with (state / NOTE).open(encoding="utf-8") as note:
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
