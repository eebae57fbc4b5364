"""Whether a message asks or proposes something, so that its reader has something to answer."""

from functools import lru_cache

from proctor.language.patterns import compiled
from proctor.language.reader.parts import own_words
from proctor.language.reader.text import READ_AT_MOST

_REPLY = r"(?m)\A\s*(?:re|aw|antwort|fwd?|wg)\s*(?:\[\d+\])?\s*:[^\n]*$"
"""The subject of an answer or a forwarded mail: another person wrote it."""
_ASKS = (
    r"\?[\"')\]*_]*(?:\s|\z)|\b(?:how|what) about\b|\b(?:my|our) (?:proposal|suggestion)\b|\bmein vorschlag\b"
    r"|\b(?:i|we)(?:'d| would)?(?: like to)? (?:propose|suggest)\b|\b(?:i am|i'm|we are|we're) (?:propos|suggest)ing\b"
    r"|\b(?:ich|wir) schlagen? |\b(?:let (?:me|us) know|please (?:confirm|say|tell me)|(?:sagen|bestätigen) sie)\b"
    r"[^\n.]*\b(?:if|whether|what|which|when|ob|wann|welche\w*)\b"
    r"[^\n.]*\b(?:works?|suits?|you can|okay|ok|fine|possible|passt|recht|geht|können)\b"
)


@lru_cache(maxsize=256)
def asks(text: str) -> bool:
    """Whether the author of a message asks or proposes something, in their own words; a mail begins with its subject.

    Thanks, notices, "let me know if you have questions" and quoted questions ask nothing.
    """
    own = compiled(_REPLY).sub("", own_words(text[:READ_AT_MOST]))
    return compiled(_ASKS).search(own) is not None
