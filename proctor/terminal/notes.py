"""Problems of a task's files, noted while they are read, to report all of them at once."""

import difflib
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel

_LARGEST = 1_000_000


class Problem(BaseModel, frozen=True):
    """A problem of a task's files; the sentence names file, field, value and remedy.

    Attributes:
        is_fatal: whether the problem keeps the task from being played. Otherwise, it is only a remark.
    """

    task_id: str
    sentence: str
    is_fatal: bool = True


class Notes:
    """The problems of one task."""

    def __init__(self, task_id: str) -> None:
        self.problems: list[Problem] = []
        self._task_id = task_id

    def fatal(self, sentence: str) -> None:
        self.problems.append(Problem(task_id=self._task_id, sentence=sentence))

    def remark(self, sentence: str) -> None:
        """Note a problem that is worth knowing, although the task can be played."""
        self.problems.append(Problem(task_id=self._task_id, sentence=sentence, is_fatal=False))

    def unknown(self, where: str, names: Iterable[str], known: Iterable[str]) -> None:
        """Remark on fields that the format lacks, and suggest the nearest known name."""
        known = list(known)
        for name in names:
            close = difflib.get_close_matches(name, known, n=1)
            meant = f": did you mean {close[0]}?" if close else ": it has no effect, remove it"
            self.remark(f"{where}: {name} isn't a field of the format{meant}")

    def text(self, file: Path, folder: Path) -> str | None:
        """Return a file's text; None, with a note, if it can't be read."""
        name = file.relative_to(folder)
        try:
            if file.stat().st_size > _LARGEST:
                self.fatal(f"{name} has more than {_LARGEST // 1000:,} kB: shorten it")
                return None
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            self.fatal(f"{name} isn't UTF-8 text: save it as UTF-8")
        except OSError as error:
            self.fatal(f"{name} can't be read ({error.strerror}): add it, or let the evaluator read it")
        return None
