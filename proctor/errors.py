"""How a command ends: its exit code, and the sentence that goes with it."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every command."""

    DONE = 0
    FAILED = 1
    WRONG_USAGE = 2
    UNREACHABLE = 3
    CANCELLED = 4


class CommandError(Exception):
    """A command can't go on; the message is a sentence for the person who typed it."""

    exit_code = ExitCode.FAILED


class UsageError(CommandError):
    """What was asked for can't be done as asked."""

    exit_code = ExitCode.WRONG_USAGE


class UnreachableError(CommandError):
    """A service doesn't answer."""

    exit_code = ExitCode.UNREACHABLE


class CancelledError(CommandError):
    """What was asked for was called off, here or by somebody else."""

    exit_code = ExitCode.CANCELLED
