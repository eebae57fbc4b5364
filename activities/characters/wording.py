"""Whether a draft reads as a message at all: pieces of the prompt, greetings of oneself, loops, signs without words."""

import re
from collections import Counter
from collections.abc import Iterator

from activities.characters.messages import OutgoingMessage
from activities.characters.prompts import persona, reply_question
from proctor_language.patterns import compiled
from proctor_protocol.scenario import ScenarioConfig

_FRAME = r"<\||</?[a-z][a-z0-9]*(?:\s[^@>\n]*)?>|\b\d{4}-\d\d-\d\dT\d\d"
"""Markers and tags, and times as machines write them."""

_HELLO = r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)),?\s+(?:(?:Mr|Ms|Mrs|Dr)\.?\s+)?"
_WORD = r"\pL{2,}"
_OF_VALUES = r"\S*[@\d/]\S*"
_COPIED, _LOOPED, _ROUNDS = 5, 4, 3
"""Words in a row of the prompt; words in a row that come again, and how often."""


def unlike_a_message(
    draft: str, message: OutgoingMessage, character_id: str, scenario: ScenarioConfig, known: str
) -> str | None:
    """What no person would send, as a sentence; None where there is nothing.

    Args:
        draft: what a model wrote; empty is fine, as the comment on an invitation.
        message: what it answers.
        character_id: in whose name.
        scenario: with the people.
        known: what the person may quote: its own instructions, and what was written to it.
    """
    if found := compiled(_FRAME).search(draft):
        return f"it falls out of role: {found.group()!r}"
    prompt = joined(f"{persona(character_id, scenario)}\n{reply_question(message, scenario, '')}")
    quotable = joined(known)
    if copied := next((run for run in runs(draft, _COPIED) if run in prompt and run not in quotable), None):
        return f"it falls out of role: {copied!r}"
    person = scenario.characters[character_id]
    if message.sender not in (person.email, person.phone) and _greets(draft, person.name):
        return "the person greets themselves"
    if draft.strip() and not compiled(_WORD).search(compiled(_OF_VALUES).sub(" ", draft)):
        return "it has no words"
    if looped := next((run for run, times in Counter(runs(draft, _LOOPED)).items() if times >= _ROUNDS), None):
        return f"it says the same again and again: {looped!r}"
    return None


def _greets(draft: str, name: str) -> bool:
    names = "|".join(re.escape(part) for part in name.split())
    return bool(compiled(rf"\A\W*(?:{_HELLO}(?:{names})(?:\W|\z)|(?:{names})\s*[,:])").search(draft))


def joined(text: str) -> str:
    """A text in small letters, with single spaces."""
    return " ".join(text.lower().split())


def runs(text: str, length: int) -> Iterator[str]:
    """All runs of ``length`` words of a text, in small letters."""
    words = text.lower().split()
    return (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))
