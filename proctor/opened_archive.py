"""The archive that a command's flags name: opened, asked, and what narrows down its entries."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from proctor.errors import CommandError, UsageError
from proctor.settings import read_settings, with_connection
from proctor_protocol.archive import ArchiveEntry
from proctor_protocol.durations import parse_iso8601_duration
from proctor_settings.config import GreenAgentConfig
from proctor_storage.archive import Archive, EntryDamagedError, NoSuchEntryError
from proctor_storage.archive import open_archive as opened
from proctor_storage.entry_table import EntryQuery
from proctor_storage.folder import StoreUnavailableError

T = TypeVar("T")

_PERIOD = re.compile(r"(\d+)([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


@dataclass(frozen=True)
class Filters:
    """A filter of entries; None for any. ``since`` and ``until`` are dates, times, or periods before now."""

    scenario: str | None = None
    agent: str | None = None
    status: str | None = None
    campaign: str | None = None
    since: str | None = None
    until: str | None = None

    def query(self) -> EntryQuery:
        """What to ask the archive for.

        Raises:
            UsageError: ``since`` or ``until`` can't be read.
        """
        return EntryQuery(
            scenario=self.scenario,
            agent=self.agent,
            status=self.status,
            campaign=self.campaign,
            since=moment(self.since, "--since") if self.since is not None else None,
            until=moment(self.until, "--until") if self.until is not None else None,
        )


def moment(text: str, flag: str) -> datetime:
    """A date, a time, or a period before now (``36h``, ``7d``, ``2w``).

    Raises:
        UsageError: it isn't one of them.
    """
    if _PERIOD.fullmatch(text):
        return datetime.now(UTC) - period(text, flag)
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{flag} {text!r}: write a date (2026-11-22), a time, or a period before now (7d)") from None
    return read if read.tzinfo else read.astimezone()


def period(text: str, flag: str) -> timedelta:
    """A period: ``36h``, ``7d``, ``2w``, or an ISO 8601 duration.

    Raises:
        UsageError: it isn't one.
    """
    if match := _PERIOD.fullmatch(text):
        return int(match.group(1)) * _UNITS[match.group(2)]
    try:
        return parse_iso8601_duration(text)
    except ValueError:
        raise UsageError(f"{flag} {text!r}: write a period such as 36h, 7d or 2w") from None


def open_archive(archive: str | None, state: str | None) -> tuple[Archive, GreenAgentConfig]:
    """The archive that flags and environment name, and the settings."""
    config = with_connection(read_settings(GreenAgentConfig, archive_url=archive, state=state))
    return opened(config), config


def find(kept: Archive, name: str) -> ArchiveEntry:
    """The entry of an id, or of a beginning that only one has.

    Raises:
        UsageError: there is none, or there are several.
    """
    return ask_archive(lambda: kept.find(name))


def ask_archive(work: Callable[[], T]) -> T:
    """Something that the archive is asked; its problems are the command's."""
    try:
        return work()
    except NoSuchEntryError as problem:
        raise UsageError(str(problem)) from None
    except (EntryDamagedError, StoreUnavailableError) as problem:
        raise CommandError(str(problem)) from None
