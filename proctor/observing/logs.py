"""Write log lines: as text for people on a terminal, as JSON for programs that collect them.

``about`` sets the subject (task, turn, attempt) of all lines that are logged while it is open.
"""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType

from proctor.observing import tracing
from proctor.processes.names import OWN_PACKAGES
from purple_sdk.processes.announcing import announce_as_json, printable

_USED_BY_OWN = ("temporalio.activity", "temporalio.workflow")
"""Loggers of Temporal's SDK through which own code logs in activities and workflows."""

_LONGEST = 20_000
"""The most characters of a message or a traceback; participants or models may have written parts of them."""

_about: ContextVar[Mapping[str, str | int]] = ContextVar("log_about", default=MappingProxyType({}))


@contextmanager
def about(**what: str | int | None) -> Iterator[None]:
    """Set the subject of the lines that are logged while the context is open; values of None are left out."""
    token = _about.set({**_about.get(), **{name: value for name, value in what.items() if value is not None}})
    try:
        yield
    finally:
        _about.reset(token)


def what_it_is_about() -> Mapping[str, str | int]:
    """Return the subject of a line that is logged now."""
    return _about.get()


def set_up_logs(kind: str, level: str, *libraries: str) -> None:
    """Make this process log to standard error. With ``json``, its announcements are JSON, too.

    Args:
        kind: ``json``, ``text``, or ``auto``: text if standard error is a terminal, else JSON.
        level: the level of all own packages. All other loggers log warnings.
        libraries: further loggers with this level.
    """
    announce_as_json(kind == "json")
    leave_details_to_fields()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if is_json(kind) else TextLines())
    logging.basicConfig(level="WARNING", handlers=[handler], force=True)
    for name in (*OWN_PACKAGES, *_USED_BY_OWN, *libraries):
        logging.getLogger(name).setLevel(level)


def leave_details_to_fields() -> None:
    """Stop Temporal's SDK from adding the subject to the text of a line, if this process uses the SDK."""
    if (activity := sys.modules.get("temporalio.activity")) is not None:
        activity.logger.activity_info_on_message = False
    if (workflow := sys.modules.get("temporalio.workflow")) is not None:
        workflow.logger.workflow_info_on_message = False


def is_json(kind: str) -> bool:
    """Whether lines are JSON; ``kind`` is that of ``set_up_logs``."""
    return kind == "json" or (kind == "auto" and not sys.stderr.isatty())


def _about_record(record: logging.LogRecord) -> Mapping[str, str | int]:
    """Return the subject of a line. If Temporal's SDK logs a failure, the subject is the workflow and the activity."""
    for kind, kind_of_step in (("temporal_activity", "activity_type"), ("temporal_workflow", "workflow_type")):
        details = getattr(record, kind, None)
        if isinstance(details, Mapping) and "task" not in what_it_is_about():
            keys = {"task": "workflow_id", "step": kind_of_step, "attempt": "attempt"}
            return {**what_it_is_about(), **{name: details[key] for name, key in keys.items() if key in details}}
    return what_it_is_about()


def _shorten(text: str) -> str:
    """Shorten a long text to its beginning, the number of characters that are left out, and its end."""
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]} … ({len(text) - _LONGEST:,} more characters) … {text[-half:]}"


class JsonLines(logging.Formatter):
    """Format each line as a JSON object.

    Its fields are ``time``, ``level``, ``logger``, ``message``, the line's subject, the ids of trace and span, and
    ``exception`` with the traceback of a defect.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, str | int] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _shorten(record.getMessage()),
            **_about_record(record),
            **tracing.current_ids(),
        }
        if record.exc_info:
            line["exception"] = _shorten(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


class TextLines(logging.Formatter):
    """Format each line for people: time, level, logger, message, and the subject in brackets."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return _shorten(printable(super().format(record)))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        subject = _about_record(record)
        ends = f" [{' '.join(f'{name}={value}' for name, value in subject.items())}]" if subject else ""
        return super().formatMessage(record) + ends
