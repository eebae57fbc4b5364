"""The turns of an assessment in words: incoming messages, actions, texts that the participant wrote, and replies."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from proctor.activities.archive.payloads import TurnNote
from proctor.activities.simulation.states import load_states
from proctor.protocol.archive import (
    ArchivedUpdate,
    Arrival,
    Items,
    StateRecord,
    TurnRecord,
    flatten_states,
    merge_patch,
)
from proctor.protocol.updates import TaskUpdateType
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobStore
from purple_sdk.protocol.readings import chat_text, instant
from purple_sdk.protocol.results import AssessmentResults

_WORDS = 160
"""The longest quotation of a message, in characters."""


def turn_records(
    results: AssessmentResults,
    updates: Sequence[ArchivedUpdate],
    notes: Sequence[TurnNote],
    turn_notes: Mapping[int, str],
    states: Mapping[int, Items],
) -> list[TurnRecord]:
    """Return a record of every turn that was begun.

    Args:
        results: the result of the assessment.
        updates: its update stream.
        notes: the finished turns, and the beginning (0).
        turn_notes: the participant's notes by turn.
        states: the known states after the turns, by turn; 0 is the beginning.
    """
    by_turn = _updates_by_turn(updates)
    noted = {note.turn: note for note in notes}
    last = max([*by_turn, *noted, *(entry.turn for entry in results.action_log), 0])
    return [
        _record(turn, results, by_turn.get(turn, []), noted.get(turn), turn_notes.get(turn), _arrivals(turn, states))
        for turn in range(1, last + 1)
    ]


def _record(
    turn: int,
    results: AssessmentResults,
    updates: Sequence[ArchivedUpdate],
    note: TurnNote | None,
    words: str | None,
    arrived: list[Arrival],
) -> TurnRecord:
    begun = next((update for update in updates if update.data["message_type"] == TaskUpdateType.TURN_STARTED), None)
    done = next((update for update in updates if update.data["message_type"] == TaskUpdateType.TURN_COMPLETED), None)
    played_in = results.forked_from.find_player(turn) if results.forked_from else None
    return TurnRecord(
        turn=turn,
        began_at=note.began_at if note else _time(begun.data.get("current_time")) if begun else None,
        reached=note.reached if note else None,
        started_at=begun.recorded_at if begun else None,
        ended_at=done.recorded_at if done and not played_in else None,
        tries=results.turn_tries.get(str(turn), 1),
        is_finished=turn <= results.turns_taken,
        ends_early=bool(done and done.data.get("early_completion_requested")),
        arrived=arrived,
        actions=[entry for entry in results.action_log if entry.turn == turn],
        reported=[entry for entry in results.action_report.reported if entry.turn == turn],
        notes=words,
        answers=note.replies if note else [],
        troubles=[
            str(update.data.get("error_message", ""))
            for update in updates
            if update.data["message_type"] == TaskUpdateType.ERROR_OCCURRED
        ],
        events_processed=note.events_processed if note else 0,
        moves=note.moves if note else [],
        noise=note.noise if note else {},
        inherited_from=played_in,
    )


def _updates_by_turn(updates: Sequence[ArchivedUpdate]) -> dict[int, list[ArchivedUpdate]]:
    by_turn: dict[int, list[ArchivedUpdate]] = {}
    for update in updates:
        turn = update.data.get("turn_number")
        if isinstance(turn, int) and turn > 0:
            by_turn.setdefault(turn, []).append(update)
    return by_turn


def _arrivals(turn: int, states: Mapping[int, Items]) -> list[Arrival]:
    """Return the messages and calendar replies since the previous turn. For the first turn, return all unread
    messages.
    """
    was, now = states.get(turn - 2, {}), states.get(turn - 1)
    if now is None or (turn > 1 and not was):
        return []
    own = now.get("email/user_email_address")
    arrivals = []
    for path, item in now.items():
        section = path.partition("/")[0]
        if not isinstance(item, dict) or path.count("/") < 2 or (path in was) != (section == "calendar"):
            continue
        is_new = bool(was) or not item.get("is_read")
        if path.startswith("email/emails/"):
            sender = item.get("from_address")
            if is_new and sender != own and item.get("folder") not in ("sent", "drafts"):
                at = item.get("received_at") or item.get("sent_at")
                arrivals.append(_arrival(path, at, sender, item.get("subject")))
        elif path.startswith("sms/messages/"):
            if is_new and item.get("direction") == "incoming":
                arrivals.append(_arrival(path, item.get("sent_at"), item.get("from_number"), item.get("body")))
        elif path.startswith("chat/messages/"):
            if item.get("role") != "assistant":
                words = chat_text(item.get("content"))
                arrivals.append(_arrival(path, item.get("timestamp"), item.get("role"), words))
        elif path.startswith("calendar/events/") and isinstance(earlier := was.get(path), dict):
            known = _responses(earlier)
            for who, response in _responses(item).items():
                if response in ("accepted", "declined", "tentative") and known.get(who, response) != response:
                    what = f"{response}: {_short(item.get('title'))}"
                    arrivals.append(Arrival(path=path, at=_time(item.get("updated_at")), who=who, what=what))
    return sorted(arrivals, key=lambda each: (each.at is None, each.at and each.at.timestamp(), each.path))


def _arrival(path: str, at: Any, who: Any, what: Any) -> Arrival:
    return Arrival(path=path, at=_time(at), who=str(who or ""), what=_short(what))


def _responses(event: Mapping[str, Any]) -> dict[str, str]:
    attendees = event.get("attendees")
    return {
        str(attendee.get("email")): str(attendee.get("response"))
        for attendee in (attendees if isinstance(attendees, list) else [])
        if isinstance(attendee, dict)
    }


def _short(text: Any) -> str:
    words = " ".join(str(text or "").split())
    return words if len(words) <= _WORDS else words[: _WORDS - 1] + "…"


def _time(value: Any) -> datetime | None:
    try:
        return instant(value) if isinstance(value, str) else None
    except ValueError:
        return None


READ_AT_MOST = 512 * 1024 * 1024
"""The most bytes of checkpoints that are read for one assessment. If there are more, states are read only every few
turns.
"""

_LEFT_OUT = "the assessment is so large that not every turn's state is kept"


class StateHistory(NamedTuple):
    """The states of an assessment: the first state, then the changes, turn by turn."""

    initial: Items
    records: list[StateRecord]
    by_turn: dict[int, Items]


def read_states(notes: Sequence[TurnNote], store: BlobStore) -> StateHistory:
    """Read the states of all turns; this may take some seconds. Raises ``StoreUnavailableError``."""
    initial: Items = {}
    last: Items = {}
    by_turn: dict[int, Items] = {}
    records: list[StateRecord] = []
    known: dict[str, Any] = {}
    chosen = _chosen([note.checkpoint.size for note in notes])
    for place, note in enumerate(notes):
        patch, lacking = Items(), None if place in chosen else _LEFT_OUT
        try:
            if place in chosen:
                items = flatten_states(load_states(store.get_blocking(note.checkpoint), store, known))
                initial, last = (items, items) if place == 0 else (initial, last)
                patch, last = merge_patch(last, items), items
                by_turn[note.turn] = items
        except (BlobNotFoundError, BlobDamagedError, ValueError) as error:
            lacking = str(error)
        records.append(
            StateRecord(turn=note.turn, time=note.reached, checkpoint=note.checkpoint, patch=patch, lacking=lacking)
        )
    return StateHistory(initial, records, by_turn)


def _chosen(sizes: Sequence[int]) -> set[int]:
    """Choose the checkpoints to read: all of them, or every n-th and the last if all would exceed the limit."""
    step = max(1, -(-sum(sizes) // READ_AT_MOST))
    return {*range(0, len(sizes), step), len(sizes) - 1}
