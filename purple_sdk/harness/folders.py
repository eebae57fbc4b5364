"""The folder of an assessment: the CLI agent's current home, and a copy of it from before each turn.

    NAME/now/home        the home folder; always at this path
    NAME/now/work        the working directory; always at this path
    NAME/now/tmp         the folder for temporary files
    NAME/now/state.json  the session to resume, and the last turn that was completed
    NAME/before-3        a copy of ``now`` from before turn 3
    NAME/used.json       the use of models in all tries so far (``budget``)
    NAME/process         id and start time of the last CLI agent's launcher

A session that was killed during a turn keeps the killed turn's prompt and must not be resumed. So a repeated turn
begins with the copy from before it. The folder outlives its process: a restarted agent continues from it.
"""

import hashlib
import json
import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from purple_sdk.harness import agents_files

MOST_COPIES = 40
"""The number of copies to keep of one assessment, from its last turns."""

_ORPHAN_SECONDS = 20.0

_log = logging.getLogger(__name__)


class Folders:
    """The folders of one assessment.

    Args:
        root: holds the folders of all assessments.
        name: an identifier of the assessment, such as its A2A context id.
    """

    def __init__(self, root: Path, name: str) -> None:
        self.base = root.resolve() / hashlib.sha256(name.encode()).hexdigest()[:16]
        self._now = self.base / "now"
        self.home, self.work, self.temporary = (self._now / part for part in ("home", "work", "tmp"))

    @property
    def session(self) -> str | None:
        """The session to resume; None if the next turn starts one."""
        session = self._read_state().get("session")
        return session if isinstance(session, str) else None

    def restore(self, turn: int) -> None:
        """Bring ``now`` into its state before a turn. No process of the CLI agent may run.

        A turn that was begun before is reset to the copy from before it. For the turn after the last completed one,
        ``now`` is copied. For any other turn there is no copy: the CLI agent starts with an empty home.
        """
        before = self._copy(turn)
        if before.exists():
            agents_files.remove(self._now)
            agents_files.copy(before, self._now)
            self._forget(lambda number: number > turn)
            return
        if self._read_state().get("after_turn") != turn - 1:
            self.clear()
        for folder in (self.home, self.work, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)
        half = self.base / "half"
        agents_files.remove(half)
        left_out = agents_files.copy(self._now, half)
        if left_out.files:
            named = ascii(left_out.names)[1:-1]
            _log.warning("Turn %d: %d sockets, pipes or devices aren't kept: %s", turn, left_out.files, named)
        half.rename(before)
        self._forget(lambda number: number <= turn - MOST_COPIES)

    def complete(self, turn: int, session: str | None) -> None:
        """Note that a turn is completed, with the session to continue."""
        agents_files.write(self._now, "state.json", json.dumps({"session": session, "after_turn": turn}))

    def clear(self) -> None:
        """Remove everything."""
        agents_files.remove(self.base)
        self.base.mkdir(parents=True, mode=0o700)

    def remove(self) -> None:
        """Remove the folder."""
        agents_files.remove(self.base)

    def note_process(self, pid: int) -> None:
        """Store the id of the CLI agent's launcher. When the launcher has ended, so have all processes of the CLI
        agent.
        """
        agents_files.write(self.base, "process", f"{pid} {_read_start(pid)}")

    def end_orphan(self) -> None:
        """End the remaining CLI agent that an earlier process of this agent started, and wait for it."""
        with suppress(OSError, ValueError):
            pid, start = map(int, agents_files.read(self.base, "process").split())
            until = time.monotonic() + _ORPHAN_SECONDS
            while start and _read_start(pid) == start and time.monotonic() < until:
                os.kill(pid, signal.SIGTERM)
                time.sleep(0.02)

    def _copy(self, turn: int) -> Path:
        return self.base / f"before-{turn}"

    def _forget(self, is_old: Callable[[int], bool]) -> None:
        for folder in self.base.glob("before-*"):
            if is_old(int(folder.name.removeprefix("before-"))):
                agents_files.remove(folder)

    def _read_state(self) -> dict[str, object]:
        try:
            state = json.loads(agents_files.read(self._now, "state.json"))
        except (OSError, ValueError, RecursionError):
            state = {"after_turn": 0} if not self._now.exists() else {}
        return state if isinstance(state, dict) else {}


def _read_start(pid: int) -> int:
    """Return a process's start, in the kernel's ticks; 0 if it is gone, is a zombie, or the system doesn't tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] == "Z" else int(fields[19])
