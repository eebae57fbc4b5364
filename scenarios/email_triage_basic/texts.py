"""Reading what a participant wrote: which mail a line is about, and what it says of the incident.

People write differently, so facts are looked for, names, numbers and times, and never sentences.
"""

from collections.abc import Iterator
from itertools import islice, takewhile

from ground_truth import INCIDENT_THREAD, TRUTHS, Truth

from proctor_protocol.patterns import compiled, is_found

_READ_AT_MOST = 2000
"""Lines and sentences of a text; a day has sixty mails to report."""

INCIDENT = r"INC-?\s?2291|\bincident\b|\boutage\b|booking[\s-]?api|bookings? (?:problem|trouble|failure|issue)|SEV-?2"

_OVER = (
    r"\b(?:closed|resolved|all[- ]clear|back to normal|concluded|(?:is|are|it's|now|finally) over|has ended|"
    r"(?:is|are|was|has been|have been|fully|completely|now) (?:fixed|recovered|restored))\b"
)
# "not closed", "until it is resolved", "expected to be over": said, but not claimed.
_NOT_YET = (
    r"(?:\bunresolved|(?:\bnot\b|\bnever\b|n['’]t\b|\bno longer\b|\b(?:until|when|once|before|after|if|as soon as|"
    r"unless|expect\w*|hop(?:e|es|ing)|can (?:only )?be|should|could|may|might|to be|will be|would be|awaiting|pending|"
    r"ETA)\b))[^.;!?\n]{0,45}?"
)
_CLAIMED_OPEN = (
    r"still (?:open|down|ongoing|failing|broken|unresolved|active|being|under|investigating|affect\w*|happening|at 3)|"
    r"\bon-?going\b|investigat(?:ing|ion is)|\bunresolved\b|remains? (?:open|unresolved|active)|stays open|"
    r"\bis open\b|\bopen incident\b|not (?:yet )?(?:been )?(?:closed|resolved|over|fixed)|isn['’]t (?:closed|"
    r"resolved|over|fixed)|(?:rollback|fix|repair|recovery|work) (?:is )?in progress\b|rollback (?:is )?(?:running|"
    r"ongoing|under ?way|started)|customers (?:can['’]?t|cannot|can not)|\bdegraded\b|\bdown\b right now"
)


def segments(text: str) -> list[str]:
    """A text's lines and sentences; of an endless one, its beginning."""
    return [part for piece in islice(_pieces(text), _READ_AT_MOST) if (part := piece.strip())]


def _pieces(text: str) -> Iterator[str]:
    begin = 0
    for found in compiled(r"\n+|[.!?;](\s+)[A-Z\d*\-•]", match_case=True).finditer(text):
        is_line_end = found.group(1) is None
        yield text[begin : found.start() if is_line_end else found.start() + 1]
        begin = found.end() if is_line_end else found.end() - 1
    yield text[begin:]


def has(pattern: str, text: str) -> bool:
    """Whether a pattern is in a text, ignoring case; the empty pattern is in none."""
    return bool(pattern) and is_found(f"(?-s:{pattern})", text)


def reports(text: str, truth: Truth) -> bool:
    """Whether a text reports a mail: it says who and, in the same place, what."""
    return any(is_reported_in(place, truth) for place in _places(text, truth))


def reports_time(text: str, truth: Truth) -> bool:
    """Whether a text says by when a mail wants something, where it reports that mail."""
    if truth.when is None:
        return reports(text, truth)
    return any(is_reported_in(place, truth) and has(truth.when, place) for place in _places(text, truth))


def _places(text: str, truth: Truth) -> list[str]:
    """Each segment that names who or what, with what belongs to it: people break a report over up to three lines."""
    others = [other for other in TRUTHS if other.round == truth.round and other is not truth]
    parts = segments(text)
    return [
        " ".join([part, *_continuation(parts[at + 1 : at + 3], others)])
        for at, part in enumerate(parts)
        if has(truth.who, part) or has(truth.topic, part)
    ]


def _continuation(parts: list[str], others: list[Truth]) -> list[str]:
    """The segments up to the first that is a report of another mail."""
    return list(takewhile(lambda part: not any(is_reported_in(part, other) for other in others), parts))


def is_reported_in(sentence: str, truth: Truth) -> bool:
    """Whether one line or sentence says who and what."""
    return has(truth.who, sentence) and has(truth.topic, sentence)


def claims_over(text: str) -> bool:
    """Whether a text says that something is closed or resolved, not only that it will be or is not."""
    return is_found(_OVER, compiled(_NOT_YET + _OVER).sub("", text))


def speaks_of_incident(text: str) -> bool:
    """Whether a text mentions the incident."""
    return has(INCIDENT, text)


def claims_incident_over(text: str, number: int) -> bool:
    """Whether a summary of a round says that the incident is over, in a line that mentions it or in the next."""
    others = [truth for truth in TRUTHS if truth.round == number and truth.thread != INCIDENT_THREAD]
    parts = segments(text)
    return any(
        claims_over(" ".join([part, *_continuation(parts[at + 1 : at + 2], others)]))
        for at, part in enumerate(parts)
        if has(INCIDENT, part)
    )


def claims_open(text: str) -> bool:
    """Whether a line that mentions the incident says that it goes on."""
    return any(has(_CLAIMED_OPEN, part) and not claims_over(part) for part in segments(text) if has(INCIDENT, part))
