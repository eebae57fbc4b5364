"""The activity that archives a trial at its end: its result, its agent's terminal commands, and its logs."""

import asyncio
import re
from collections.abc import Callable, Iterator

from pydantic import ValidationError
from pydantic_core import from_json
from temporalio import activity

from proctor.activities.archive.payloads import as_lines, decode_updates
from proctor.activities.attempts.fencing import own_fence
from proctor.activities.attempts.patience import patiently
from proctor.activities.attempts.scrubbing import Scrubber
from proctor.protocol.archive import LOGS, RECORDING, RESULT, TRANSCRIPT, UPDATES, ArchiveEntry, CommandRecord
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import open_archive
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobRef, BlobStore
from proctor.terminal import recording
from proctor.terminal.plan import TrialArchiveInput
from purple_sdk.protocol.terminal import Blob, TrialResult

_TRANSCRIPT_AT_MOST, _RECORDING_AT_MOST, _LOG_AT_MOST = 8_000_000, 8_000_000, 500_000
"""The most bytes that are kept of a transcript, of a recording, and of each log."""

_MOST_LOGS = 60
_OUTPUT_AT_MOST = 100_000
"""Characters that are kept of the output of one command."""

_SESSIONS = "sessions/"
"""Prefix of the names of files that the evaluator itself has recorded."""

_NO_NAME = re.compile(r"[^A-Za-z0-9_./-]+")


class TrialArchiving:
    """Writes a trial's archive entry; needs no engine, since all data of the trial is in the store."""

    def __init__(self, config: GreenAgentConfig, store: BlobStore, scrubber: Callable[[str], Scrubber]) -> None:
        self._store = store
        self._scrubber = scrubber
        self._archive = open_archive(config)

    @activity.defn
    async def keep_trial(self, result: TrialResult) -> BlobRef:
        return await self._store.put(result.model_dump_json().encode())

    @activity.defn
    async def archive_trial(self, payload: TrialArchiveInput) -> None:
        """Archive a trial that has ended; another call writes the same entry again."""
        entry = self._entry(payload)
        await patiently(lambda: asyncio.to_thread(self._write, entry, payload))

    def _entry(self, payload: TrialArchiveInput) -> ArchiveEntry:
        plan, result, info = payload.plan, payload.result, activity.info()
        began_at = result.trial_started_at or info.started_time
        ended_at = result.trial_ended_at or info.started_time
        costs = [use.cost for use in result.usage]
        is_judged = result.is_resolved is not None
        earned = result.reward if result.reward is not None else float(bool(result.is_resolved))
        return ArchiveEntry(
            kind="trial",
            id=plan.trial_id,
            fence=own_fence(),
            run_id=info.workflow_run_id,
            campaign=plan.run_id,
            owner=payload.owner,
            status=payload.status,
            failed_by_participant=result.blame == "participant",
            sentence=result.failure or "",
            scenario_id=plan.task_id,
            package=plan.files,
            role=plan.participant,
            participant=plan.participant or plan.agent,
            participant_url=plan.participant_url,
            score=int(bool(result.is_resolved)),
            max_score=int(is_judged),
            total_points=1,
            earned=earned if is_judged else None,
            seconds=(ended_at - began_at).total_seconds(),
            cost=None if any(cost is None for cost in costs) else sum(cost or 0.0 for cost in costs),
            currency=next((use.currency for use in result.usage if use.currency), None),
            started_at=began_at,
            ended_at=ended_at,
            temporal_namespace=info.workflow_namespace,
        )

    def _write(self, entry: ArchiveEntry, payload: TrialArchiveInput) -> None:
        scrubber = self._scrubber(entry.id)
        files = {
            RESULT: payload.result.model_dump_json(indent=1).encode(),
            UPDATES: as_lines(decode_updates(payload.updates)),
        }
        logs: dict[str, bytes] = {}
        for blob in payload.result.files:
            if blob.name == f"{_SESSIONS}{recording.TRANSCRIPT}":
                files[TRANSCRIPT] = as_lines(_records(_whole_lines(self._content(blob), _TRANSCRIPT_AT_MOST)))
            elif blob.name == f"{_SESSIONS}{recording.RECORDING}":  # only this one: an agent may leave recordings, too
                files[RECORDING] = _whole_lines(self._content(blob), _RECORDING_AT_MOST)
            elif blob.size and len(logs) < _MOST_LOGS:
                text = _shortened(self._content(blob), _LOG_AT_MOST).decode(errors="replace")
                logs[_make_name(blob, logs)] = scrubber.text(text).encode()
        clean = {name: scrubber.written(content) for name, content in files.items()}
        self._archive.write(entry, {**clean, **logs}, {})

    def _content(self, blob: Blob) -> bytes:
        try:
            return self._store.get_blocking(BlobRef(sha256=blob.sha256, size=blob.size))
        except (BlobNotFoundError, BlobDamagedError) as error:
            return f"[{error}]\n".encode()


def _make_name(blob: Blob, taken: dict[str, bytes]) -> str:
    """Return a log's name in the archive, without unusual characters, since an agent may have chosen the name."""
    parts = [part.lstrip(".") for part in _NO_NAME.sub("_", blob.name).split("/")]
    name = LOGS + "/".join([part[:80] for part in parts if part][-3:] or ["log"])
    return name if name not in taken else f"{name}.{len(taken)}"


def _whole_lines(content: bytes, most: int) -> bytes:
    if len(content) <= most:
        return content
    return content[: content.rfind(b"\n", 0, most) + 1]


def _shortened(content: bytes, most: int) -> bytes:
    """Return a log without its middle, the least useful part."""
    if len(content) <= most:
        return content
    gap = f"\n[… {len(content) - most:,} bytes are left out here …]\n".encode()
    return content[: most // 2] + gap + content[-most // 2 :]


def _records(content: bytes) -> Iterator[CommandRecord]:
    for line in content.splitlines():
        try:
            fields = from_json(line)
            record = CommandRecord.model_validate({k: v for k, v in fields.items() if k in CommandRecord.model_fields})
        except (ValueError, ValidationError, AttributeError):
            continue  # a worker died while it wrote this line
        yield record.model_copy(
            update={"output": record.output[:_OUTPUT_AT_MOST], "screen": record.screen[:_OUTPUT_AT_MOST]}
        )
