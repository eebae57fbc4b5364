"""Refused requests are one line in the log; only defects of ours come with a traceback."""

import json
import logging

from a2a.utils.errors import A2AError, InternalError
from google.protobuf.json_format import ParseError
from pydantic import ValidationError

_CALLERS_FAULTS = (A2AError, ParseError, ValidationError, json.JSONDecodeError, UnicodeError, RecursionError)
_LOGGERS = (
    "a2a.server.routes.jsonrpc_dispatcher",
    "a2a.server.routes.rest_dispatcher",
    "a2a.compat.v0_3.jsonrpc_adapter",
    "a2a.compat.v0_3.rest_adapter",
    "a2a.utils.error_handlers",
)
"""Where a2a-sdk logs what it refuses; a filter sees only its own logger's records."""

_LONGEST = 500


def log_refusals_as_lines() -> None:
    """Have a2a-sdk log what callers do wrong without a traceback, once for the process."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_as_line)


def _as_line(record: logging.LogRecord) -> bool:
    problem = record.exc_info[1] if record.exc_info else None
    message = record.getMessage()
    if isinstance(problem, _CALLERS_FAULTS) and not isinstance(problem, InternalError):
        message = f"{message}: {problem}"
        record.exc_info = record.exc_text = None
    elif problem is not None:
        return True
    record.msg, record.args = " ".join(message.split())[:_LONGEST], ()
    return True
