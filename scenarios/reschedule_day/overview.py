"""Read the overview that the participant leaves in the chat: its statements about each meeting."""

from collections.abc import Iterator
from itertools import pairwise

from ground_truth import MEETINGS, PANEL_NAMES, REVIEW_END, REVIEW_NAMES, REVIEW_START, WALKTHROUGH
from slots import Slot, last_day_named, names_any_day, names_slot, slots_stated, without_refusals

from proctor.language.facts import Answer
from proctor.language.patterns import compiled, has_match

_TOPICS = {**{meeting.key: meeting.names for meeting in MEETINGS}, "panel": PANEL_NAMES, "review": REVIEW_NAMES}
# A new sentence or line; "Dr. Keller" and "16.30" don't end one.
_BREAK = r"\n+|(?P<title>\b(?:Dr|Prof)\.[ \t]*)|[.;!?]\s+(?P<next>[A-Z*\-•(])"


def overview_of(messages: list[str]) -> str:
    """The message that covers most of the meetings (the latest of equals), and all messages after it."""
    if not messages:
        return ""
    covered = [sum(has_match(meeting.names, text) for meeting in MEETINGS) for text in messages]
    if not max(covered):
        return ""
    best = max(i for i, count in enumerate(covered) if count == max(covered))
    return "\n".join(messages[best:])


def passages(overview: str, topic: str) -> list[str]:
    """The pieces of an overview on a topic.

    A piece begins with the sentence or line that names the topic and ends before the next that names another; a day
    that is a heading above it is put before it.
    """
    pieces = _pieces(overview)
    texts: list[str] = []
    heading = ""
    current: list[str] = []
    for piece in pieces:
        named = {key for key, names in _TOPICS.items() if has_match(names, piece)}
        if named and current:
            texts.append(" ".join(current))
            current = []
        if topic in named:
            current = [piece if names_any_day(piece) else f"{heading} {piece}"]
        elif current:
            current.append(piece)
        heading = last_day_named(piece) or heading
    if current:
        texts.append(" ".join(current))
    return texts


def _pieces(overview: str) -> list[str]:
    """Sentences and lines; one that lists several topics is cut before each further one."""
    pieces = []
    for sentence in filter(None, map(str.strip, _sentences(overview))):
        starts = sorted(
            match.start() for names in _TOPICS.values() for match in [compiled(names).search(sentence)] if match
        )
        # Name and meeting of one person are together ("Daniel (pricing review)"): that's one topic, not two.
        topics = {key for key, names in _TOPICS.items() if has_match(names, sentence)}
        if len(topics) < 2:
            pieces.append(sentence)
            continue
        cuts = [0, *starts[1:], len(sentence)]
        pieces += [sentence[a:b] for a, b in pairwise(cuts) if sentence[a:b].strip()]
    return pieces


def _sentences(overview: str) -> Iterator[str]:
    begin = 0
    for match in compiled(_BREAK, match_case=True).finditer(overview):
        if match.group("title") is None:
            yield overview[begin : match.start()]
            begin = match.end() - len(match.group("next") or "")
    yield overview[begin:]


def says(overview: str, topic: str, pattern: str) -> bool:
    return any(has_match(pattern, passage) for passage in passages(overview, topic))


_REFUSED = (
    r"\brefus|\bangry\b|\bannoyed\b|\bfurious\b|\bupset\b|\bsaid no\b|\bdeclined\b|\bdisagree|\bunconfirmed\b"
    r"|\byet to \w+|\bwithout (?:his|her|their) (?:consent|agreement)\b|\bpending\b|\bopen\b"
    r"|\bno (?:answer|reply|agreement)\b"
    r"|(?:n['’]t|\bnot|\bnever) (?:yet )?(?:agreed?|answer(?:ed)?|confirm(?:ed)?|repl(?:y|ied)|accept(?:ed)?|settled)\b"
)
_AGREED = r"\b(?:agree[ds]?|accept(?:ed|s)|confirm(?:ed|s)|happy|fine|consent)\b"
_PANEL_DENIED = (
    r"(?:n['’]t|\bnot|\bnever) (?:yet |been )*(?:declined?|told|tell|informed?|notified|know)\b"
    r"|\byou (?:will |are )?attend|\baccepted\b"
)
_PANEL_OUTCOME = (
    r"declin|without you|told|inform|notif|let\b.{0,20}know|aware|e-?mail|RSVP|not attend|excus|absen|"
    r"said no|regrets"
)
_REVIEW_TIME = (
    rf"\b{REVIEW_START.hour}[:.]?00|\bnoon\b|\bmidday\b|\b12\s*(?:pm|[-–—])|13[:.]?30|"
    r"\b1[:.]30|at twelve|\bat 12\b|\b12h"
)
_OPEN = (
    r"\bopen\b|pending|unresolved|\bnot\b|\bno\b|wait|unconfirmed|still|n['’]t\b|yet to|to be agreed|outstanding|"
    r"thinking"
)


def states_time(overview: str, topic: str, slot: Slot) -> Answer:
    """Whether an overview says that a topic is at a slot; a person's refusal of the slot is different.

    If it also gives another time, even in a correction, its reader doesn't know which time holds.
    """
    pieces = passages(without_refusals(overview), topic)
    if not any(names_slot(passage, slot) for passage in pieces):
        return False
    return not slots_stated("\n".join(pieces)) - {slot, slot.later(60) if topic == WALKTHROUGH.key else slot}


def states_refused(overview: str, topic: str, slot: Slot) -> Answer:
    """Whether an overview's last word on a meeting's other side is that it refused, or has not agreed to the slot."""
    pieces: list[str] = []
    is_on = False
    for piece in _pieces(overview):  # the text up to the next named matter belongs together
        named = {key for key, names in _TOPICS.items() if has_match(names, piece)}
        if is_on and named <= {topic}:
            pieces[-1] += f" {piece}"
        elif topic in named:
            pieces.append(piece)
        is_on = topic in named or (is_on and not named)
    text = " ".join([passage for passage in pieces if names_slot(passage, slot)] or pieces)
    refused = [match.end() for match in compiled(_REFUSED).finditer(text)]
    agreed = [match.end() for match in compiled(_AGREED).finditer(text) if match.end() not in refused]
    return bool(refused) and max(refused) > max(agreed, default=0)


def states_open(overview: str, topic: str) -> Answer:
    return says(overview, topic, _OPEN)


def states_panel(overview: str) -> Answer:
    return says(overview, "panel", _PANEL_OUTCOME) and not says(overview, "panel", _PANEL_DENIED)


def states_review(overview: str) -> Answer:
    """Whether an overview gives the contract review's new time, and no other."""
    named = [piece for piece in _pieces(overview) if has_match(REVIEW_NAMES, piece)]
    others = slots_stated("\n".join(named)) - {REVIEW_START, REVIEW_END}
    return says(overview, "review", _REVIEW_TIME) and not others
