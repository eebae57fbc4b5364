"""Polite messages: short ones without substance, request or consent."""

from typing import get_args

from proctor.language.patterns import compiled
from proctor.language.reader.mentions import Kind
from proctor.language.reader.stance import sentences_of
from proctor.language.reader.values import Values

_LONGEST, _MOST_SENTENCES = 300, 6
"""Limits of a polite message: characters; sentences and lines, greeting and signature included."""

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

_ORDER = (
    r"\b(?:pay|transfer|send|give|make|do|sign|buy|book|delete|stop|wire|bring|leave) "
    r"(?:the|this|that|your|all|him|her)\b"
    r"|\b(?:machen|zahlen|überweisen|schicken|senden|geben|kommen|löschen|nehmen|unterschreiben|gehen) sie\b"
)
_REFUSES = r"\b(?:no|not|off|never|nothing|fired|cancel\w*|nein|nicht|nie|kein\w*|abgesagt|storn\w*|gekündigt)\b|n't\b"
_FORMULA = (
    r"\bplease (?:excuse|forgive)\b|\bbitte (?:entschuldig|verzeih)\w*|\bno (?:worries|problem)\b|\bkein problem\b"
    r"|\bnot at all\b|\b(?:could|did|can)(?: not|n't|not) (?:reply|answer|write|respond|get back)\b"
    r"|\bthanks a million\b|\btausend dank\b|\b(?:thanks|thank you) for the \d+\b|\bdanke für die \d+\b"
    r"|\b(?:yes|ja),? (?:it|they|es|sie) (?:has |have |ist |sind )?(?:arrived|came|here|da|angekommen)\b"
)
"""Polite phrases in the form of a request, an answer or a value."""

_KIND = (
    r"\b(?:than(?:ks?|king)|thx|dank\w*|h(?:i|ello|allo|ope\w*|offe\w*)|dear|lieber?|guten|good|regards|wishes|best"
    r"|cheers|gr(?:ü|ue)(?:ß|ss)\w*|gruß|sincerely|sorry|apolog\w*|regret\w*|excuse|forgive|entschuldig\w*"
    r"|leider|leid|bedauer\w*|verzeih\w*|note[ds]?|notiert|receiv\w*|receipt|got (?:it|this|your)|erhalten|angekommen"
    r"|arrived|came|appreciat\w*|read|gelesen|kenntnis|understood|verstanden|glad|nice|kind\w*|happy|congrat\w*|glückwunsch|welcome"
    r"|freu\w*|worries|problem|look\w* (?:into|forward)|pass\w* (?:it|this|that|your|them)|forward\w*|weiter\w*"
    r"|have a|schön\w*|enjoy\w*)\b"
)
_SHORT = 6
"""The most words of a line that is a name or a signature, without a full stop or a verb."""
_STATES = (
    r"[.!;]\s*\z|'(?:s|re|m|ll)\b"
    r"|\b(?:is|are|am|was|were|be|will|has|have|had|get|go|ist|sind|bin|bist|war|wird|hat|haben)\b"
)


def is_polite(words: Values) -> bool:
    """Whether a message is only polite: no value, no question, no yes or no, at most a few sentences of thanks.

    Each sentence has a word of greeting, thanks, regret or receipt; a line with a name needs none.
    """
    text = words.text.lower()
    formulas = [(match.start(), match.end()) for match in compiled(_FORMULA).finditer(text)]
    rest = compiled(_FORMULA).sub("-", text)
    sentences = [text[start:end].strip() for start, end in sentences_of(text)]
    mentions = (mention for kind in get_args(Kind) for mention in words.of_kind(kind))
    return (
        len(text) <= _LONGEST
        and len(sentences) <= _MOST_SENTENCES
        and not any(compiled(pattern).search(rest) for pattern in (_REQUEST, _AGREES, _ORDER, _REFUSES))
        and all(any(start <= mention.start and mention.end <= end for start, end in formulas) for mention in mentions)
        and any(map(_is_kind, sentences))
        and all(_is_kind(sentence) or _is_name(sentence) for sentence in sentences)
    )


def _is_kind(sentence: str) -> bool:
    return compiled(_KIND).search(sentence) is not None


def _is_name(line: str) -> bool:
    return len(line.split()) <= _SHORT and compiled(_STATES).search(line) is None
