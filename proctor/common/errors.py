"""Errors that end a command: an exit code and a sentence for each."""

import shutil
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TextIO


class ExitCode(IntEnum):
    DONE = 0
    FAILED = 1
    WRONG_USAGE = 2
    UNREACHABLE = 3
    CANCELLED = 4


class CommandError(Exception):
    """A command can't continue; the message is a sentence for the person who typed the command.

    Any function of a command may raise this error. Docstrings mention it only if that isn't obvious.
    """

    exit_code = ExitCode.FAILED


class UsageError(CommandError):
    exit_code = ExitCode.WRONG_USAGE


class UnreachableError(CommandError):
    """A service doesn't answer."""

    exit_code = ExitCode.UNREACHABLE


class CancelledError(CommandError):
    """The request was cancelled, here or elsewhere."""

    exit_code = ExitCode.CANCELLED


def fit(text: str, stream: TextIO) -> str:
    """Wrap a text to a terminal's width; return it unchanged if the stream isn't a terminal."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    lines = [
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False, replace_whitespace=False)
        for line in text.split("\n")
    ]
    return "\n".join(lines)


@contextmanager
def ending_as(kind: type[CommandError], *problems: type[Exception]) -> Iterator[None]:
    """Convert exceptions of these kinds to an error that ends the command, with the same message."""
    try:
        yield
    except problems as error:
        sentence = error.strerror if isinstance(error, OSError) else None
        raise kind(sentence or str(error)) from None
