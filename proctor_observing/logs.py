"""Log lines: for people on a terminal, as JSON for whatever collects them.

What a line is about (task, turn, attempt) stands on it without anybody saying so: ``about`` keeps it while something is
in hand, and every line that is logged meanwhile carries it.
"""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType

from proctor_observing import tracing

_about: ContextVar[Mapping[str, str | int]] = ContextVar("log_about", default=MappingProxyType({}))


@contextmanager
def about(**what: str | int | None) -> Iterator[None]:
    """Have every line that is logged meanwhile say what it is about; what is None is left out."""
    token = _about.set({**_about.get(), **{name: value for name, value in what.items() if value is not None}})
    try:
        yield
    finally:
        _about.reset(token)


def what_it_is_about() -> Mapping[str, str | int]:
    """What a line that is logged now is about."""
    return _about.get()


def set_up_logs(kind: str, rooms: Mapping[str, str], others: str = "WARNING") -> None:
    """Have this process log to standard error.

    Args:
        kind: ``json``, ``text``, or ``auto``: text where standard error is a terminal, else JSON.
        rooms: loggers of ours, with their levels.
        others: the level of everything else.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if is_json(kind) else TextLines())
    logging.basicConfig(level=others, handlers=[handler], force=True)
    for room, level in rooms.items():
        logging.getLogger(room).setLevel(level)


def is_json(kind: str) -> bool:
    """Whether lines are JSON: see ``set_up_logs``."""
    return kind == "json" or (kind == "auto" and not sys.stderr.isatty())


class JsonLines(logging.Formatter):
    """A line is one JSON object: ``time``, ``level``, ``logger``, ``message``, what it is about, the ids of its
    trace and span, and the traceback of a defect as ``exception``.
    """

    def format(self, record: logging.LogRecord) -> str:
        """See ``logging.Formatter``."""
        line: dict[str, str | int] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **what_it_is_about(),
            **tracing.current_ids(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class TextLines(logging.Formatter):
    """A line for people: time, level, logger, message, and in brackets what it is about."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """See ``logging.Formatter``."""
        said = what_it_is_about()
        ends = f" [{' '.join(f'{name}={value}' for name, value in said.items())}]" if said else ""
        return super().formatMessage(record) + ends
