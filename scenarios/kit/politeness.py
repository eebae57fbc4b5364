"""Polite words: a short message that says nothing of substance, asks for nothing, and agrees to nothing."""

from typing import get_args

from proctor_language.patterns import compiled
from proctor_language.reader.mentions import Kind
from proctor_language.reader.stance import sentences_of
from proctor_language.reader.values import Values

_LONGEST, _MOST_SENTENCES = 300, 6
"""Characters; sentences and lines, greeting and signature included."""

_AGREES = (
    r"\b(?:yes|agreed?|approved?|accept(?:ed)?|confirm(?:ed)?|granted|permission|go ahead|ja|einverstanden|genehmigt"
    r"|bestätigt)\b"
)
_REQUEST = (
    r"\?|https?:|www\.|\b(?:please|kindly|(?:can|could|would|will) (?:you|we|i)|let me know"
    r"|(?:i|we) (?:need|want|require)"
    r"|(?:send|tell|give|call|pay|transfer|forward|write|reply to) (?:me|us|it|them)|make sure|bitte um"
    r"|bitte (?:sag|schick|send|gib|geb|antwort|teil|ruf|mach|leit|bestätig)\w*|(?:können|könnten|würden) sie"
    r"|(?:kannst|könntest|würdest) du|(?:ich|wir) (?:brauche|brauchen|benötige|benötigen)"
    r"|(?:schick|sag|gib|ruf|überweise)(?:e|en)? (?:sie )?(?:mir|uns|mich))\b"
)


def is_polite(words: Values) -> bool:
    """Whether a message names no value of any kind, neither asks nor agrees, and has a few sentences at most."""
    return (
        len(words.text) <= _LONGEST
        and len(sentences_of(words.text)) <= _MOST_SENTENCES
        and not any(compiled(pattern).search(words.text.lower()) for pattern in (_REQUEST, _AGREES))
        and not any(words.of_kind(kind) for kind in get_args(Kind))
    )
