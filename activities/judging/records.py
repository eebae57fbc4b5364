"""What a judge's model gets to see: one record for each writing, action, note and state entry, as JSON on a line of its
own, so that no text can look like another record. Nothing is dropped: long evidence becomes several *windows*.
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
from purple_sdk.protocol.results import ActionLogEntryWithTurn

Kind = Literal["writing", "action", "note", "state"]

SHORTEST_QUOTE = 8
"""Characters of a quote that shows something: a single letter is in every record."""

_SHORTEST_WORD = 5

_OVERLAP = 400
"""Characters that two parts of a long text share, so that what is quoted lies wholly in one of them."""

_SHORT = 40
"""Characters; a shorter parameter stays in its action's record even though the writing has it, too."""

_ENTRIES = {"email": "emails", "sms": "messages", "chat": "messages", "calendar": "events", "contacts": "contacts"}
_TIMES = ("received_at", "sent_at", "timestamp", "start", "updated_at", "created_at")
_SENDERS = ("from_address", "from_number", "role", "organizer")
_RECIPIENTS = ("to_addresses", "cc_addresses", "bcc_addresses", "to_numbers")


@dataclass(frozen=True)
class Record:
    """One piece of evidence.

    Attributes:
        id: how a verdict names it: ``w3`` (writing), ``a7`` (action), ``n1`` (note), ``s12`` (state); parts of a
            long one are ``w3.1``, ``w3.2``, …
        turn: the turn that it belongs to; None for a state entry.
        time: simulated time, ISO 8601; None where it has none.
        channel: email, sms, chat, calendar, …; None for a note.
        sender: who it is from; ``assistant`` for all that the participant wrote.
        to: addresses.
        text: its content; what a verdict may quote.
        facts: what else is known of it, JSON data.
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
        """The record as one line of JSON; ``text`` comes last."""
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
        """Whether it contains a quote, regardless of white space."""
        return _plain(quote) in _plain(self.text)

    def is_too_short(self, quote: str) -> bool:
        """Whether a quote is too short to show anything: no whole word ("sorry"), nor all that there is to quote."""
        quoted, text = _plain(quote), _plain(self.text)
        if len(quoted) >= SHORTEST_QUOTE or quoted == text:
            return False
        return len(quoted) < _SHORTEST_WORD or not has_match(rf"(?:^|\W){escaped(quoted)}(?:\W|$)", text)

    def split(self, longest: int) -> Iterator["Record"]:
        """The record, or its parts where its text is longer than ``longest`` characters."""
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
    """As many records as a model reads at once, and which of how many windows they are."""

    records: tuple[Record, ...]
    number: int
    of: int

    def find(self, record_id: str) -> Record | None:
        return next((record for record in self.records if record.id == record_id), None)


def windows(records: Sequence[Record], budget: int) -> list[Window]:
    """All records in windows of at most ``budget`` characters each; at least one window, if an empty one."""
    filled: list[list[Record]] = [[]]
    room = budget
    for record in (part for whole in records for part in whole.split(budget // 2)):
        length = len(record.render()) + 1
        if length > room and filled[-1]:
            filled.append([])
            room = budget
        filled[-1].append(record)
        room -= length
    return [Window(tuple(each), number, len(filled)) for number, each in enumerate(filled, 1)]


def records_of(ctx: AgentBeatsEvalContext) -> list[Record]:
    """Every record of an assessment: what the participant wrote and did, in order, its notes, then the state's entries,
    those that changed before those that didn't.
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
            parameters = {name: value for name, value in parameters.items() if not _is_in(value, written.text)}
        at, channel = entry.timestamp.isoformat(), entry.action.partition(".")[0]
        yield Record(f"a{number}", "action", _json(parameters), entry.turn, at, channel, "assistant", facts=facts)
        if written is not None:
            yield Record(
                f"w{writings}", "writing", written.text, entry.turn, at, channel, "assistant", written.recipients
            )


def _is_in(value: Any, text: str) -> bool:
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
        to=tuple(str(address) for name in _RECIPIENTS for address in known.get(name) or ()),
        facts=facts,
    )


def _change(was: Any, now: Any) -> str:
    if was is None:
        return "new"
    if now is None:
        return "gone"
    return "none" if was == now else "changed"


def _entries_by_id(modality: str, state: Any) -> dict[str, Any]:
    """A modality's entries by id; the whole state as one entry where it isn't a collection."""
    if not isinstance(state, Mapping):
        return {}
    entries = state.get(_ENTRIES.get(modality, ""))
    if isinstance(entries, Mapping):
        return {str(key): entry for key, entry in entries.items()}
    if isinstance(entries, list):
        return {str(entry.get("message_id", index)): entry for index, entry in enumerate(entries)}
    return {} if modality in _ENTRIES else {"state": dict(state)}


def _bare(entry: Any) -> Any:
    """An entry without what is empty, and without the HTML twin of a text."""
    if not isinstance(entry, Mapping):
        return entry
    return {
        name: value
        for name, value in entry.items()
        if value not in (None, "", [], {}) and not (name == "body_html" and entry.get("body_text"))
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _plain(text: str) -> str:
    r"""A text for comparing: as it reads in a prompt, with ``\n`` and ``\"`` read as JSON does, white space as one.

    It is in one typography, since a model writes ``'`` for ``’`` and ``-`` for ``–``.
    """
    unescaped = readable(text).replace("\\n", " ").replace("\\t", " ").replace('\\"', '"')
    return " ".join(in_one_typography(unescaped).split())
