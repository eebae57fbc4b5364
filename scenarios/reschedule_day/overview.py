"""Reads the overview that the participant leaves in the chat: what it says about each meeting."""

import re
from itertools import pairwise

from ground_truth import MEETINGS, PANEL_NAMES, REVIEW_NAMES
from slots import ANY_DAY, FLAGS, Slot, last_day_named, names_slot

_TOPICS = {**{meeting.key: meeting.names for meeting in MEETINGS}, "panel": PANEL_NAMES, "review": REVIEW_NAMES}
# A new sentence or line; "Dr. Keller" and "16.30" don't end one.
_BREAK = re.compile(r"\n+|(?<!\bDr)(?<!\bProf)[.;!?]\s+(?=[A-Z*\-•(])")


def overview_of(messages: list[str]) -> str:
    """The message that covers most of the meetings (the latest of equals), and what was said after it."""
    if not messages:
        return ""
    covered = [sum(bool(re.search(meeting.names, text, FLAGS)) for meeting in MEETINGS) for text in messages]
    if not max(covered):
        return ""
    best = max(i for i, count in enumerate(covered) if count == max(covered))
    return "\n".join(messages[best:])


def passages(overview: str, topic: str) -> list[str]:
    """The pieces of an overview that speak of a topic.

    A piece begins with the sentence or line that names the topic and ends before the next that names another; a day
    that stands as a heading above it is put before it.
    """
    pieces = _pieces(overview)
    found: list[str] = []
    heading = ""
    current: list[str] = []
    for piece in pieces:
        named = {key for key, names in _TOPICS.items() if re.search(names, piece, FLAGS)}
        if named and current:
            found.append(" ".join(current))
            current = []
        if topic in named:
            current = [piece if re.search(ANY_DAY, piece, FLAGS) else f"{heading} {piece}"]
        elif current:
            current.append(piece)
        heading = last_day_named(piece) or heading
    if current:
        found.append(" ".join(current))
    return found


def _pieces(overview: str) -> list[str]:
    """Sentences and lines; one that lists several topics is cut before each further one."""
    pieces = []
    for sentence in filter(None, (piece.strip() for piece in _BREAK.split(overview) if piece)):
        starts = sorted(
            match.start() for names in _TOPICS.values() for match in [re.search(names, sentence, FLAGS)] if match
        )
        # Name and meeting of one person stand together ("Daniel (pricing review)"): that's one topic, not two.
        topics = {key for key, names in _TOPICS.items() if re.search(names, sentence, FLAGS)}
        if len(topics) < 2:
            pieces.append(sentence)
            continue
        cuts = [0, *starts[1:], len(sentence)]
        pieces += [sentence[a:b] for a, b in pairwise(cuts) if sentence[a:b].strip()]
    return pieces


def gives_time(overview: str, topic: str, slot: Slot) -> bool:
    """Whether an overview says that a topic is at a slot."""
    return any(names_slot(passage, slot) for passage in passages(overview, topic))


def says(overview: str, topic: str, pattern: str) -> bool:
    """Whether an overview says something about a topic."""
    return any(re.search(pattern, passage, FLAGS) for passage in passages(overview, topic))
