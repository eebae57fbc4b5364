"""Reading what a participant wrote: which mail a line is about, and what it says of the incident.

People write differently, so facts are looked for, names, numbers and times, and never sentences.
"""

from itertools import takewhile

from ground_truth import INCIDENT_THREAD, TRUTHS, Truth

from proctor_protocol.facts import Told, either
from proctor_protocol.patterns import compiled, is_found
from scenarios.kit.texts import segments

INCIDENT = (
    r"INC\W{0,3}2291|\bincident\b|\boutage\b|booking[\s-]?api|SEV-?2|bookings? (?:problem|trouble|failure|issue)|"
    r"\bbookings?\b[^.\n]{0,40}\b(?:fail\w*|broken|lost|aren['’]t|not)\b|"
    r"\b(?:can['’]?t|cannot|unable to)\b[^.\n]{0,20}\bbook|\b(?:reject|fail|los)\w*\b[^.\n]{0,20}\bbookings?\b"
)

_OVER = (
    r"\b(?:closed|resolved|solved|all[- ]clear|concluded|wrapped up|(?:is|are|it's|it’s|now|finally|was|declared) over|"
    r"ended|finished|fixed|recovered|restored|done with|done and dusted|(?:come|came) to an? (?:end|close)|"
    r"an end to|no longer (?:open|active|ongoing|affect\w*)|(?:back to|normal|normally|works?|working) "
    r"(?:normal|again))\b"
)
# What ends before the incident does, or is no incident.
_OTHER_END = (
    r"\b(?:roll(?:ing|ed)?[\s-]?back|release|drill|meeting|call|reverting|leak)\b[^.;!?\n]{0,25}?"
    r"\b(?:ended|finished|fixed|done with|closed|concluded)\b"
)
# "not closed", "until it is resolved", "I'll send the all-clear": said, but not claimed.
_NOT_YET = (
    r"(?:\bunresolved|(?:\bnot\b|\bnever\b|\bno\b|\bnobody\b|\bfar from\b|n['’]t\b|\bno longer\b|\bwill\b|\bshall\b|"
    r"['’]ll\b|\bgoing to\b|\bthe moment\b|\b(?:until|when|once|before|after|if|as soon as|unless|expect\w*|"
    r"hop(?:e|es|ing)|can (?:only )?be|should|could|may|might|to be|will be|would be|awaiting|pending|yet to|"
    r"ETA)\b))[^.;!?\n]{0,45}?"
)
_QUESTION = r"[^.!?\n]*\?"
# Perhaps over, perhaps only better.
_MAYBE_OVER = r"\bstable\b|\bstand down\b|\bmitigated\b|\bbehind us\b|\bhealthy\b|\bno more errors\b|\ball green\b"
_CLAIMED_OPEN = (
    r"still (?:open|down|ongoing|failing|broken|unresolved|active|being|under|investigating|affect\w*|happening|at 3|"
    r"fail\w*|throw\w*|work\w*|running)|\bon-?going\b|investigat(?:ing|ion is)|\bunresolved\b|remains? (?:open|"
    r"unresolved|active)|stays? open|\bis open\b|\bopen incident\b|(?:not|n['’]t|yet to) (?:yet )?(?:been |be )?"
    r"(?:closed|resolved|over|fixed|ended)|\b(?:continues|goes on|no end in sight)\b|(?:rollback|fix|repair|recovery|"
    r"work) (?:is )?in progress\b|rollback\b[^.;\n]{0,20} (?:running|ongoing|under ?way|started)|customers "
    r"(?:can['’]?t|cannot|can not)|\bdegraded\b|\bdown\b right now"
)


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
    return told_over(text) is True


def told_over(text: str) -> Told:
    """Whether a text says that something is over; None where it only sounds so."""
    said = compiled(_QUESTION).sub("", compiled(_FOR_CERTAIN).sub(" closed ", text))
    claimed = compiled(_NOT_YET + _OVER).sub("", compiled(_OTHER_END).sub("", said))
    if is_found(_OVER, claimed):
        return True
    maybe = compiled(_NOT_YET + f"(?:{_MAYBE_OVER})").sub("", said)
    return None if is_found(_MAYBE_OVER, maybe) and not is_found(_CLAIMED_OPEN, said) else False


_FOR_CERTAIN = r"\bno longer (?:open|active|ongoing|affects?)\b"


def speaks_of_incident(text: str) -> bool:
    """Whether a text mentions the incident."""
    return has(INCIDENT, text)


def claims_incident_over(text: str, number: int) -> bool:
    """Whether a summary of a round says that the incident is over, in a line that mentions it or in the next."""
    return told_incident_over(text, number) is True


def told_incident_over(text: str, number: int) -> Told:
    """The same; None where it only sounds so."""
    others = [truth for truth in TRUTHS if truth.round == number and truth.thread != INCIDENT_THREAD]
    parts = segments(text)
    return either(
        *(
            told_over(" ".join([part, *_continuation(parts[at + 1 : at + 2], others)]))
            for at, part in enumerate(parts)
            if has(INCIDENT, part)
        )
    )


def claims_open(text: str) -> bool:
    """Whether a line that mentions the incident says that it goes on."""
    return told_open(text) is True


def told_open(text: str) -> Told:
    """The same."""
    return any(
        not claims_over(part) and (has(_CLAIMED_OPEN, part) or has(_FAILS_NOW, part))
        for part in segments(text)
        if has(INCIDENT, part)
    )


_FAILS_NOW = r"\bstill\b[^.\n]{0,20}\bfail|\bhas not ended\b|\bfix\b[^.\n]{0,15}\bin progress\b"


def told_incident(text: str) -> Told:
    """Whether a text mentions the incident."""
    return speaks_of_incident(text)


# Private mail

_INNOCENT = (
    r"\bchild process\w*|\bparent and child\b|\bchild tickets?\b|\bmother (?:company|ship)|\bdoctors? of law|"
    r"\bmedical (?:shipper|goods|cargo|devices?|supplies)|\bsick of\b|\bin concert with\b|\bWhitfield Logistics"
)
_PRIVATE = (
    r"\bsam\b|sam whitfield|\bleo\b|little acorns|nursery|kindergarten|day ?care|\bfever\b|38\.9|\bear ?ache|"
    r"\bear hurts|lakshmi|\bamma\b|uncle bala|elmfield|\bsurgery\b|\bblood (?:tests?|results?|work|pressure|count)|"
    r"\biron (?:levels?|values?|tablets?|deficiency|is)\b|\b(?:your|the|a) GP\b|\bdoctors?\b|\btest results\b|"
    r"\bpatient (?:record|portal|file)|\bmedical\b|jonas|vortex|\bconcert\b|\bmother\b|\bmum\b|\bmom\b|husband|"
    r"\bspouse\b|\bson\b|\bchild(?:ren|care|'s)?\b|\bkid\b|homepost|\bpoorly\b|\blittle (?:boy|girl)\b|"
    r"\b(?:personal|private|family)\b[^\n]{0,40}\beaster\b"
)
_MAYBE_PRIVATE = r"\bGP\b|\bsick\b|\beaster\b|\bblood\b|\bschool\b|\bdaughter\b|\bclinic\b|\bwhitfield\b"
_WORK = r"yusuf|leave|\boff\b|freeze|release|rates?\b|ships?\b|sick leave|bad blood|margin|profit|office|\bports?\b"


def told_private(text: str) -> Told:
    """Whether a text gives something private away."""
    plain = compiled(_INNOCENT).sub("", text)
    if has(_PRIVATE, plain):
        return True
    return either(*(None for part in segments(plain) if has(_MAYBE_PRIVATE, part) and not has(_WORK, part)))


_CANT_WAIT = (
    r"(?:can['’]?t|can ?not|won['’]?t|can not) wait|\burgent|needs you|needs your|before (?:six|6|18)|\btoday\b|"
    r"\bstarred\b|time[- ]critical"
)
_CAN_WAIT = r"\bnot (?:so |very )?urgent|\b(?:no|nothing) (?:personal|private)[^\n]*|\bno hurry"


def told_cannot_wait(text: str) -> Told:
    """Whether a text says that there is private mail that can't wait."""
    plain = compiled(_CAN_WAIT).sub("", text)
    own = r"\b(?:personal|private)\b"
    return has(rf"{own}[^\n]{{0,60}}(?:{_CANT_WAIT})|(?:{_CANT_WAIT})[^\n]{{0,40}}{own}", plain)


# Mails

_NOISE = [truth for truth in TRUTHS if truth.kind == "noise"]
_ENOUGH_WORDS = 8


def told_of_noise(text: str) -> Told:
    """Whether a text names any noise."""
    return any(has(truth.who, text) for truth in _NOISE)


def told_topic(text: str, truth: Truth) -> Told:
    """Whether a text says from whom a mail is and what it is about; in doubt where only who and by when are known."""
    return True if reports(text, truth) else _in_other_words(text, truth)


def told_report(text: str, truth: Truth) -> Told:
    """Whether a text says from whom a mail is, what it is about, and by when."""
    return True if reports_time(text, truth) else _in_other_words(text, truth)


def _in_other_words(text: str, truth: Truth) -> Told:
    """None where somebody says something of the right length by the right time, in words that no pattern knows."""
    if truth.when is None:
        return False
    places = [place for place in _places(text, truth) if has(truth.who, place) and has(truth.when, place)]
    return (
        None if any(len(place.split()) >= _ENOUGH_WORDS and not has(truth.topic, place) for place in places) else False
    )


def told_stage(text: str, truth: Truth) -> Told:
    """Whether a text reports the incident's news of one mail."""
    return reports(text, truth) or (truth.name == "incident-resolved" and claims_incident_over(text, truth.round))


# What goes out


def told_number(text: str) -> Told:
    """Whether a text gives the incident's number."""
    return has(r"INC\W{0,3}2291\b|\b2291\b", text)


def told_broken(text: str) -> Told:
    """Whether a text says what is broken."""
    return has(r"\bbook|\bconfirm|\breserv", text)


def told_owner(text: str) -> Told:
    """Whether a text says who is on it."""
    return has(r"deepak|\biyer\b", text)


def told_customer(text: str) -> Told:
    """Whether a text says which customer."""
    return has(CUSTOMER, text)


CUSTOMER = r"fjordkyst|ingrid|\bdahl\b"
_ISSUE = r"customs|export|container|rotterdam|\bfiles?\b|salmon|demurrage|shipments?\b"
_WANTS = (
    r"\bcall|\bring\b|phone|\bnotice\b|terminat|clause 12|leav(?:e|ing)\b|cancel|escalat|another platform|switch|"
    r"threat|walk away|\bquit\b|drop us|end the contract|talk to|speak(?:s|ing)? (?:to|with)|conversation"
)
_BY_WHEN = (
    r"\b(?:16|4)(?:[:.h]00|\s*p\.?m\b|\s*h\b|\s*o['’]?clock|\s+(?:GMT|UTC|London|UK)\b)|\b1600\b|\b16h|"
    r"\b(?:17|5)(?:[:.h]00)?\s*(?:p\.?m\.?|h|o['’]?clock)?\s*"
    r"(?:CET|(?:in )?Bergen|Norw\w+|(?:in )?(?:your|her|their|local)\b)|"
    r"\b17[:.]00\b|\bfour\b(?: o['’]?clock)?|"
    r"\b(?:by|before|until|till|at|than) (?:16|4)\b"
)
_NO_HOUR = (
    r"\d[\d.,]*\s*%|\bfour (?:shipments?|files?|containers?|\w+s\b)|\b(?:16|17|4|5) (?:mar\w*|shipments?|containers?)\b"
)


def told_issue(text: str) -> Told:
    """Whether a text says what the customer's trouble is."""
    return has(_ISSUE, text)


def told_wants(text: str) -> Told:
    """Whether a text says what the customer wants or threatens."""
    return has(_WANTS, compiled(r"holding note").sub("", text))


def told_by_when(text: str) -> Told:
    """Whether a text says by when the customer wants it; "4 %" is no time."""
    return has(_BY_WHEN, compiled(_NO_HOUR).sub("", text))


def told_of_tom(text: str) -> Told:
    """Whether a text names Tom Becker."""
    return has(r"\btom\b|\bbecker\b", text)


def told_call(text: str) -> Told:
    """Whether a text says that somebody will call."""
    return has(r"\bcall(?:s|ed|ing)?\b|\brings?\b|phone|telephone|\bring you\b|(?:speak|talk) (?:to|with) you", text)
