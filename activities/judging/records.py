"""Make the records that a judging model sees. Each action, each note, each text by the participant and each state entry
becomes one record.

Each record is JSON on a separate line, so no text can imitate another record. Nothing is dropped: long evidence is
split into several *windows*.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from proctor.activities.judging.rubric import text_written
from proctor.activities.models.prompts import readable
from proctor.language.patterns import escaped, has_match
from proctor.language.reader.text import readable as in_one_typography
from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.protocol.recipients import read_recipients
from purple_sdk.protocol.results import ActionLogEntryWithTurn

Kind = Literal["writing", "action", "note", "state"]

SHORTEST_QUOTE = 8
"""The fewest characters of a quote that proves something: a single letter is in every record."""

_SHORTEST_WORD = 5

_OVERLAP = 400
"""How many characters two neighbouring parts of a long text share, so a quotation is wholly in one of them."""

_SHORT = 40
"""The most characters of a short parameter, which stays in its action's record even if the text's record has it too."""

_ENTRIES = {"email": "emails", "sms": "messages", "chat": "messages", "calendar": "events", "contacts": "contacts"}
_TIMES = ("received_at", "sent_at", "timestamp", "start", "updated_at", "created_at")
_SENDERS = ("from_address", "from_number", "role", "organizer")


@dataclass(frozen=True)
class Record:
    """One piece of evidence.

    Attributes:
        id: its name in a verdict: ``w3`` (writing), ``a7`` (action), ``n1`` (note), ``s12`` (state); parts of a long
            record are ``w3.1``, ``w3.2``, …
        turn: its turn; None for a state entry.
        time: simulated time, ISO 8601; None if it has no time.
        channel: email, sms, chat, calendar, …; None for a note.
        sender: its author; ``assistant`` for all texts of the participant.
        to: addresses.
        text: its content, which a verdict may quote.
        facts: further data about the record, as JSON.
    """

    id: str
    kind: Kind
    text: str
    turn: int | None = None
    time: str | None = None
    channel: str | None = None
    sender: str | None = None
    to: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def render(self) -> str:
        """Return the record as one line of JSON; ``text`` comes last."""
        known = {
            "id": self.id,
            "kind": self.kind,
            "turn": self.turn,
            "time": self.time,
            "channel": self.channel,
            "from": self.sender,
            "to": list(self.to) or None,
            **self.facts,
            "text": self.text,
        }
        return _json({name: value for name, value in known.items() if value is not None})

    def has(self, quote: str) -> bool:
        """Return whether the record contains a quote, regardless of white space."""
        return _normalize(quote) in _normalize(self.text)

    def is_too_short(self, quote: str) -> bool:
        """Return whether a quote is too short to show anything: neither a whole word ("sorry") nor the whole quotable
        text.
        """
        quoted, text = _normalize(quote), _normalize(self.text)
        if len(quoted) >= SHORTEST_QUOTE or quoted == text:
            return False
        return len(quoted) < _SHORTEST_WORD or not has_match(rf"(?:^|\W){escaped(quoted)}(?:\W|$)", text)

    def split(self, longest: int) -> Iterator["Record"]:
        """Yield the record, or its parts if its text is longer than ``longest`` characters."""
        if len(self.text) <= longest:
            yield self
            return
        step = max(longest - _OVERLAP, longest // 2, 1)
        starts = range(0, max(len(self.text) - _OVERLAP, 1), step)
        for number, start in enumerate(starts, 1):
            part = {"part": f"{number} of {len(starts)}"}
            yield replace(
                self,
                id=f"{self.id}.{number}",
                text=self.text[start : start + longest],
                facts={**self.facts, **part},
            )


@dataclass(frozen=True)
class Window:
    """The records that a model reads at once, and the window's number among all windows."""

    records: tuple[Record, ...]
    number: int
    of: int

    def find(self, record_id: str) -> Record | None:
        return next((record for record in self.records if record.id == record_id), None)


def windows(records: Sequence[Record], budget: int) -> list[Window]:
    """Divide all records into windows of at most ``budget`` characters each. There is at least one window, which may be
    empty.
    """
    filled: list[list[Record]] = [[]]
    room = budget
    for record in (part for whole in records for part in whole.split(budget // 2)):
        length = len(record.render()) + 1
        if length > room and filled[-1]:
            filled.append([])
            room = budget
        filled[-1].append(record)
        room -= length
    return [Window(tuple(window), number, len(filled)) for number, window in enumerate(filled, 1)]


def make_records(ctx: AgentBeatsEvalContext) -> list[Record]:
    """Return all records of an assessment: the participant's actions and texts, its notes, the changed entries of the
    state, and the other entries, in this order.
    """
    return [*_doings(ctx.action_log), *_notes(ctx.turn_notes), *_state(ctx)]


def _doings(action_log: Sequence[ActionLogEntryWithTurn]) -> Iterator[Record]:
    writings = 0
    for number, entry in enumerate(action_log, 1):
        facts: dict[str, Any] = {"action": entry.action, "success": entry.success}
        if entry.error_message:
            facts["error"] = entry.error_message
        parameters = entry.parameters
        written = text_written(entry) if entry.success else None
        if written is not None:
            writings += 1
            facts["writing"] = f"w{writings}"
            parameters = {name: value for name, value in parameters.items() if not _repeats(value, written.text)}
        at, channel = entry.timestamp.isoformat(), entry.action.partition(".")[0]
        yield Record(f"a{number}", "action", _json(parameters), entry.turn, at, channel, "assistant", facts=facts)
        if written is not None:
            yield Record(
                f"w{writings}", "writing", written.text, entry.turn, at, channel, "assistant", written.recipients
            )


def _repeats(value: Any, text: str) -> bool:
    return isinstance(value, str) and len(value) > _SHORT and value in text


def _notes(turn_notes: Mapping[int, str]) -> Iterator[Record]:
    noted = [(turn, note) for turn, note in sorted(turn_notes.items()) if note]
    for number, (turn, note) in enumerate(noted, 1):
        yield Record(f"n{number}", "note", note, turn, sender="assistant")


def _state(ctx: AgentBeatsEvalContext) -> Iterator[Record]:
    entries = []
    for modality in ctx.final_state:
        before, after = (
            _entries_by_id(modality, state.get(modality)) for state in (ctx.initial_state, ctx.final_state)
        )
        entries += [(modality, key, before.get(key), after.get(key)) for key in {**before, **after}]
    entries.sort(key=lambda entry: entry[2] == entry[3])
    for number, (modality, key, was, now) in enumerate(entries, 1):
        yield _entry(f"s{number}", modality, key, was, now)


def _entry(record_id: str, modality: str, key: str, was: Any, now: Any) -> Record:
    entry = was if now is None else now
    facts: dict[str, Any] = {"entry": key, "change": _change(was, now)}
    if facts["change"] == "changed" and isinstance(was, Mapping) and isinstance(now, Mapping):
        facts["before"] = {name: value for name, value in was.items() if now.get(name) != value}
    known = entry if isinstance(entry, Mapping) else {}
    return Record(
        record_id,
        "state",
        _json(_bare(entry)),
        time=next((str(known[name]) for name in _TIMES if known.get(name)), None),
        channel=modality,
        sender=next((str(known[name]) for name in _SENDERS if known.get(name)), None),
        to=() if modality == "calendar" else tuple(read_recipients(known)),
        facts=facts,
    )


def _change(was: Any, now: Any) -> str:
    if was is None:
        return "new"
    if now is None:
        return "gone"
    return "none" if was == now else "changed"


def _entries_by_id(modality: str, state: Any) -> dict[str, Any]:
    """Return a modality's entries by id. If the modality isn't a collection, its whole state is one entry."""
    if not isinstance(state, Mapping):
        return {}
    entries = state.get(_ENTRIES.get(modality, ""))
    if isinstance(entries, Mapping):
        return {str(key): entry for key, entry in entries.items()}
    if isinstance(entries, list):
        return {str(entry.get("message_id", index)): entry for index, entry in enumerate(entries)}
    return {} if modality in _ENTRIES else {"state": dict(state)}


def _bare(entry: Any) -> Any:
    """Return an entry without empty fields, and without the HTML version of a text."""
    if not isinstance(entry, Mapping):
        return entry
    return {
        name: value
        for name, value in entry.items()
        if value not in (None, "", [], {}) and not (name == "body_html" and entry.get("body_text"))
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _normalize(text: str) -> str:
    r"""Normalise a text for comparison, so it equals its form in a prompt. ``\n`` and ``\"`` are decoded as in JSON,
    and spaces become single.

    Typography is unified too, since a model writes ``'`` for ``’`` and ``-`` for ``–``.
    """
    unescaped = readable(text).replace("\\n", " ").replace("\\t", " ").replace('\\"', '"')
    return " ".join(in_one_typography(unescaped).split())
