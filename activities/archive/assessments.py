"""The activity that archives an assessment after any kind of end."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pydantic_core import from_json, to_json
from temporalio import activity

from proctor.activities.archive import elsewhere
from proctor.activities.archive.payloads import ArchiveInput, as_lines, decode_updates
from proctor.activities.archive.transcript import read_states, turn_records
from proctor.activities.attempts import failures
from proctor.activities.attempts.fencing import own_fence
from proctor.activities.attempts.patience import patiently
from proctor.activities.attempts.scrubbing import Scrubber
from proctor.protocol.archive import (
    RESULT,
    STATES,
    TURNS,
    UPDATES,
    ArchivedUpdate,
    ArchiveEntry,
    trajectory_file,
)
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import SCENARIO, Archive, open_archive
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobStore
from purple_sdk.protocol.instances import Instance
from purple_sdk.protocol.provenance import ModelUse, Provenance
from purple_sdk.protocol.results import ResultStatus

_LARGE = 8_000_000
"""Bytes of an initial state. An assessment with a larger state is archived in a separate process."""

_SENTENCES: dict[ResultStatus, str] = {"canceled": "The assessment was cancelled."}


class ArchiveActivities:
    """Writes archive entries. ``scrubber`` takes a simulation's id, and returns the scrubber for its texts."""

    def __init__(self, config: GreenAgentConfig, store: BlobStore, scrubber: Callable[[str], Scrubber]) -> None:
        self._config = config
        self._store = store
        self._scrubber = scrubber
        self._archive = open_archive(config)

    @activity.defn
    async def archive(self, payload: ArchiveInput) -> None:
        """Archive an assessment that has ended; a second call writes the same entry again."""
        entry, updates = self._entry(payload), decode_updates(payload.updates)
        if entry.part_of:
            updates = [update for update in updates if update.data.get("role") in (None, entry.role)]
        rest = (self._scrubber(entry.id), entry, payload.model_copy(update={"updates": []}), updates)
        if payload.plan.initial_state.size > _LARGE:
            addresses = (self._config.storage_url, self._config.archive_url)
            await patiently(lambda: asyncio.to_thread(self._write_elsewhere, entry, *addresses, *rest))
        else:
            await patiently(lambda: asyncio.to_thread(_write, self._store, self._archive, *rest))

    def _write_elsewhere(self, entry: ArchiveEntry, *payload: Any) -> None:
        with self._archive.indexing(entry):  # all such processes write to one file of the index
            elsewhere.do(write_by_addresses, *payload)

    def _entry(self, payload: ArchiveInput) -> ArchiveEntry:
        plan, results, info = payload.plan, payload.results, activity.info()
        provenance = results.provenance or Provenance()
        cost, currency = _cost([*provenance.judges, *provenance.characters])
        began_at = provenance.started_at or info.started_time
        return ArchiveEntry(
            **ArchiveEntry.pick_fields(results),
            id=plan.assessment_id,
            fence=own_fence(),
            run_id=info.workflow_run_id,
            campaign=payload.campaign,
            context_id=payload.context_id,
            owner=payload.owner,
            failed_by_participant=results.failure_kind in failures.BY_PARTICIPANT,
            sentence=_SENTENCES.get(results.status, results.failure or ""),
            roles=[role.participant for role in plan.roles],
            role=plan.participant,
            participant=payload.card.name if payload.card else plan.participant,
            participant_version=payload.card.version if payload.card else None,
            score=results.scores.overall.score,
            max_score=results.scores.overall.max_score,
            doubtful_points=results.scores.overall.doubtful_points,
            expected_turns=plan.scenario_turns or plan.expected_turns,
            package=plan.package,
            began_with=plan.initial_state,
            seconds=results.duration_seconds,
            cost=cost,
            currency=currency,
            started_at=began_at,
            ended_at=provenance.ended_at or info.started_time,
            temporal_namespace=info.workflow_namespace if self._config.temporal_ui_url else None,
            message=payload.message,
            scenario_name=plan.scenario_name,
            scenario_version=plan.scenario_version,
            participant_url=plan.participant_url,
            max_turns=plan.max_turns,
            turn_timeout=plan.turn_timeout,
            turn_tries=plan.turn_tries,
            votes=plan.votes,
            judges=plan.judges,
        )


def _write(
    store: BlobStore,
    archive: Archive,
    scrubber: Scrubber,
    entry: ArchiveEntry,
    payload: ArchiveInput,
    updates: list[ArchivedUpdate],
    *,
    is_indexed: bool = True,
) -> None:
    states = read_states(payload.turns, store)
    turns = turn_records(payload.results, updates, payload.turns, payload.turn_notes, states.by_turn)
    files = {
        RESULT: payload.results.model_dump_json(indent=1).encode(),
        UPDATES: as_lines(updates),
        TURNS: as_lines(turns),
        STATES: as_lines(states.records),
        **_trajectories(payload, store),
    }
    contents = dict[str, bytes]()
    with suppress(BlobNotFoundError, BlobDamagedError):  # results are kept without the blob
        contents[SCENARIO] = _archived_scenario(store.get_blocking(payload.plan.scenario), payload.plan.instance)
    if states.initial:
        contents["initial_state"] = to_json(states.initial)
    clean = scrubber.written
    archive.write(
        entry,
        {name: clean(content) for name, content in files.items()},
        {name: clean(content) for name, content in contents.items()},
        is_indexed=is_indexed,
    )


def _trajectories(payload: ArchiveInput, store: BlobStore) -> dict[str, bytes]:
    found = {}
    for turn, ref in payload.trajectories.items():
        with suppress(BlobNotFoundError, BlobDamagedError):
            found[trajectory_file(turn)] = store.get_blocking(ref)
    return found


def _archived_scenario(scenario: bytes, instance: Instance | None) -> bytes:
    """Return a scenario in its archived form. The answers of a family's day are left out, unless its seed is for
    practice.
    """
    if instance is None or instance.is_practice:
        return scenario
    form = from_json(scenario)
    for part in (form, *form.get("roles", {}).values()):
        for criterion in part["criteria"]:
            criterion["params"] = None
        for person in part["characters"].values():
            person.update({"scripted_replies": [], "special_instructions": None})
    return to_json(form)


def write_by_addresses(storage_url: str, archive_url: str, *rest: Any) -> None:
    """Write the entry in a process that knows only the addresses of store and archive. The parent process indexes the
    entry.
    """
    _write(BlobStore(storage_url), Archive(archive_url), *rest, is_indexed=False)


def _cost(uses: list[ModelUse]) -> tuple[float | None, str | None]:
    """Return the total cost of all models and its currency. The total is unknown if any cost is unknown, or if there
    are several currencies.
    """
    currencies = {use.currency for use in uses}
    costs = [use.cost for use in uses]
    if not uses:
        return 0.0, None
    if len(currencies) != 1 or any(cost is None for cost in costs):
        return None, None
    return round(sum(cost for cost in costs if cost is not None), 8), currencies.pop()
