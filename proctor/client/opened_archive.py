"""The archive that a command's flags name, and filters of its entries."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from proctor.client.deployments import PLACES, Deployment, known_deployments, read_deployment
from proctor.common.errors import CommandError, UsageError, ending_as
from proctor.common.settings import read_settings, with_connection
from proctor.protocol.archive import ArchiveEntry
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import Archive, EntryDamagedError, NoSuchEntryError, SeveralEntriesError
from proctor.storage.archive import open_archive as opened
from proctor.storage.entry_table import EntryQuery
from proctor.storage.folder import StoreUnavailableError
from purple_sdk.protocol.durations import parse_iso8601_duration

_PERIOD = re.compile(r"(\d+)([hdw])")
_NAMED = 3  # deployments in a sentence
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def make_query(
    scenario: str | None,
    agent: str | None,
    status: str | None,
    campaign: str | None,
    since: str | None,
    until: str | None,
) -> EntryQuery:
    """A query of the archive. An argument of None doesn't limit it. ``moment`` reads ``since`` and ``until``.

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


def open_archive(archive: str | None, state: str | None, *names: str) -> tuple[Archive, GreenAgentConfig]:
    """The archive that flags, environment or the running deployment name, and the settings for that archive.

    Args:
        archive, state: the flags.
        names: ids of entries. If nothing names an archive, the first known archive with one of these ids is opened.

    Raises:
        UsageError: nothing names an archive, there are no ``names``, and several deployments run.
    """
    config = deployment_settings(*names, archive_url=archive, state=state)
    return opened(config), config


def deployment_settings(*names: str, **flags: str | None) -> GreenAgentConfig:
    """The settings of the archive that ``open_archive`` opens; ``flags`` take precedence."""
    config = read_settings(GreenAgentConfig, **flags)
    chosen = frozenset(config.model_fields_set)
    if chosen & PLACES:  # a store that is named decides the archive, too
        chosen |= PLACES
    if "state" in chosen:
        deployment = read_deployment(Path(config.state))
        settled = deployment.settle(config, chosen) if deployment.settings else config
        return settled if deployment.is_running else with_connection(settled)
    return with_connection(config) if chosen & PLACES else _choose_deployment(config, names)


def _choose_deployment(config: GreenAgentConfig, names: Sequence[str]) -> GreenAgentConfig:
    running, places = _places(config)
    if not names and len(running) > 1 and running[0].state != Path(config.state).resolve():
        raise UsageError(f"several deployments run: name one with {_flags(running)}")
    number = next((n for name in names for n, place in enumerate(places) if _has(place, name)), 0)
    return places[number] if number < len(running) else with_connection(places[number])


def _places(config: GreenAgentConfig) -> tuple[list[Deployment], list[GreenAgentConfig]]:
    """The running deployments, and all settings: of running deployments, then ``config``, then of ended deployments."""
    known, chosen = known_deployments(Path(config.state)), frozenset(config.model_fields_set)
    running = [deployment for deployment in known if deployment.is_running]
    settled = [deployment.settle(config, chosen) for deployment in known]
    return running, [*settled[: len(running)], config, *settled[len(running) :]]


def find_campaign(kept: Archive, name: str) -> ArchiveEntry | None:
    """The campaign with the id ``name``, or else the only one whose id begins with ``name``; None if there is none."""
    ids = [campaign.id for campaign in kept.select(EntryQuery(kind="campaign")) if campaign.id.startswith(name)]
    if len(ids) > 1 and name not in ids:
        raise UsageError(
            f"--campaign {name}: {len(ids)} campaigns begin so: {', '.join(ids[:5])}; write more of the id"
        )
    return kept.get(name if name in ids else ids[0]) if ids else None


def local_archives() -> list[Path]:
    """The folders of all archives that commands look in if no flag or setting names an archive."""
    _, places = _places(read_settings(GreenAgentConfig))
    return [Path(place.archive_url) for place in places if "://" not in place.archive_url]


def _has(config: GreenAgentConfig, name: str) -> bool:
    try:
        opened(config).find(name)
    except SeveralEntriesError:
        return True
    except (NoSuchEntryError, EntryDamagedError, StoreUnavailableError):
        return False
    return True


def other_deployments(config: GreenAgentConfig) -> str:
    """A hint with the flags that name the other deployments; empty if there are none."""
    home = Path(GreenAgentConfig().state)
    return _flags([other for other in known_deployments(home) if other.state != Path(config.state).resolve()])


def _flags(deployments: Sequence[Deployment]) -> str:
    named = [f"--state {deployment.state}" for deployment in deployments]
    return ", ".join(named[:_NAMED]) + ", …" * (len(named) > _NAMED)


@contextmanager
def archive_problems() -> Iterator[None]:
    """Convert an archive's errors to errors of a command. It is a context manager and a decorator."""
    with ending_as(UsageError, NoSuchEntryError), ending_as(CommandError, EntryDamagedError, StoreUnavailableError):
        yield
