"""The archive that a command's flags name, and what narrows down its entries."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from proctor.errors import CommandError, UsageError, ending_as
from proctor.settings import read_settings, with_connection
from proctor_protocol.durations import parse_iso8601_duration
from proctor_settings.config import GreenAgentConfig
from proctor_storage.archive import Archive, EntryDamagedError, NoSuchEntryError
from proctor_storage.archive import open_archive as opened
from proctor_storage.entry_table import EntryQuery
from proctor_storage.folder import StoreUnavailableError

_PERIOD = re.compile(r"(\d+)([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def query_of(
    scenario: str | None,
    agent: str | None,
    status: str | None,
    campaign: str | None,
    since: str | None,
    until: str | None,
) -> EntryQuery:
    """What to ask the archive for; None for any. ``since`` and ``until`` are dates, times, or periods before now.

    Raises:
        UsageError: ``since`` or ``until`` can't be read.
    """
    return EntryQuery(
        scenario=scenario,
        agent=agent,
        status=status,
        campaign=campaign,
        since=moment(since, "--since") if since is not None else None,
        until=moment(until, "--until") if until is not None else None,
    )


def moment(text: str, flag: str) -> datetime:
    """A date, a time, or a period before now (``36h``, ``7d``, ``2w``)."""
    if _PERIOD.fullmatch(text):
        return datetime.now(UTC) - period(text, flag)
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{flag} {text!r}: write a date (2026-11-22), a time, or a period before now (7d)") from None
    return read if read.tzinfo else read.astimezone()


def period(text: str, flag: str) -> timedelta:
    """A period: ``36h``, ``7d``, ``2w``, or an ISO 8601 duration."""
    if match := _PERIOD.fullmatch(text):
        return int(match.group(1)) * _UNITS[match.group(2)]
    try:
        return parse_iso8601_duration(text)
    except ValueError:
        raise UsageError(f"{flag} {text!r}: write a period such as 36h, 7d or 2w") from None


def open_archive(archive: str | None, state: str | None) -> tuple[Archive, GreenAgentConfig]:
    config = with_connection(read_settings(GreenAgentConfig, archive_url=archive, state=state))
    return opened(config), config


@contextmanager
def archive_problems() -> Iterator[None]:
    """Raise the problems of an archive as those of a command; also a decorator of commands."""
    with ending_as(UsageError, NoSuchEntryError), ending_as(CommandError, EntryDamagedError, StoreUnavailableError):
        yield
