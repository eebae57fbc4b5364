"""The user's wishes, read from plain text by rules."""

import re
from dataclasses import dataclass

from purple_sdk.examples.triage_agent.rules import Category

_SYNONYMS: dict[Category, str] = {
    "urgent": r"urgent|critical|important|priority|now",
    "action": r"action|reply|respond|to-?do|task|follow",
    "fyi": r"fyi|info|read|reference|later",
    "personal": r"personal|private|family|home",
    "noise": r"noise|junk|spam|bulk|newsletter|promo|low",
}
_LISTED = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)])[ \t]*[\"'`“]?([A-Za-z][\w /-]{1,23}?)[\"'`”]?[ \t]*(?::|–|—| - )", re.M)
_QUOTED = re.compile(r"[\"'`“]([a-z][\w/-]{1,23})[\"'`”]", re.I)
_WORDS = re.compile(r"(?:less than|at most|under|up to|no more than|max(?:imum)?(?: of)?|within) (\d{2,4}) words", re.I)
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


@dataclass(frozen=True)
class Orders:
    """The user's wishes.

    Attributes:
        archives_noise, marks_read, stars_private: whether these were asked for.
        incident_contact: the person to inform of incidents, without asking.
    """

    labels: dict[Category, str]
    word_limit: int
    archives_noise: bool
    marks_read: bool
    stars_private: bool
    incident_contact: str | None


def read_orders(text: str, default_word_limit: int = 150) -> Orders:
    """Read the user's instructions; anything they don't ask for is left undone."""
    names = [name.strip() for name in _LISTED.findall(text) + _QUOTED.findall(text)]
    labels: dict[Category, str] = {}
    for category, pattern in _SYNONYMS.items():
        fitting = [name for name in names if re.match(pattern, name, re.I)]
        labels[category] = fitting[0] if fitting else category
    limit = _WORDS.search(text)
    return Orders(
        labels=labels,
        word_limit=int(limit[1]) if limit else default_word_limit,
        archives_noise=_says(text, r"\barchive\b", rf"\b({labels['noise']}|noise|junk|newsletters?|spam)\b"),
        marks_read=_says(text, r"\bmark\b", r"\bas read\b"),
        stars_private=_says(text, r"\bstar\b", r"\b(personal|private)\b"),
        incident_contact=_whom(text, r"\b(incident|outage|sev-?\d)\b"),
    )


def _says(text: str, *patterns: str) -> bool:
    """Whether one paragraph matches all of the patterns, without forbidding their subject."""
    return any(all(re.search(pattern, part, re.I) for pattern in patterns) for part in _paragraphs(text))


def _whom(text: str, about: str) -> str | None:
    for part in _paragraphs(text):
        topic = re.search(about, part, re.I)
        address = _ADDRESS.search(part, topic.end()) if topic else None
        if address and re.search(r"\b(tell|inform|notify|brief|alert|write)\b", part, re.I):
            return address[0].rstrip(".")
    return None


def _paragraphs(text: str) -> list[str]:
    return [part for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*•]|\d+[.)])\s)", text) if part.strip()]
