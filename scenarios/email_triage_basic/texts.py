"""Read a participant's texts: the mail that a line is about, and statements on the incident.

People write differently, so the rules look for facts (names, numbers and times), never for sentences. A slot has one
value: several values, a contradiction or a correction to another value make it wrong.
"""

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

from ground_truth import BY_NAME, ESCALATION_ROUND, INCIDENT_THREAD, START, TRUTHS, Truth, round_start

from proctor.language.facts import Answer, either
from proctor.language.patterns import compiled, has_match
from proctor.scenarios.kit.deadlines import begins_with_time, contradicts, moments_named, says_when
from proctor.scenarios.kit.texts import segments

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
# Things that end before the incident does, or are no incident.
_OTHER_END = (
    r"\b(?:roll(?:ing|ed)?[\s-]?back|release|drill|meeting|call|reverting|leak)\b[^.;!?\n]{0,25}?"
    r"\b(?:ended|finished|fixed|done with|closed|concluded)\b"
)
# "not closed", "until it is resolved", "I'll send the all-clear": mentioned, but not claimed.
_NOT_YET = (
    r"(?:\bunresolved|(?:\b(?:mostly|nearly|almost|partly|largely|half|all but)\b|"
    r"\bnot\b|\bnever\b|\bno\b|\bnobody\b|\bfar from\b|n['’]t\b|\bno longer\b|\bwill\b|\bshall\b|"
    r"['’]ll\b|\bgoing to\b|\bthe moment\b|\b(?:until|when|once|before|after|if|as soon as|unless|expect\w*|"
    r"hop(?:e|es|ing)|can (?:only )?be|should|could|may|might|to be|will be|would be|awaiting|pending|yet to|"
    r"ETA)\b))[^.,;!?\n]{0,45}?"
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
    return bool(pattern) and has_match(f"(?-s:{pattern})", text)


def saying(pattern: str, *without: str) -> Callable[[str], bool]:
    """Return a test whether a text has the pattern, and none of the others."""
    return lambda text: has(pattern, text) and not any(has(other, text) for other in without)


_GOES_ON = r"\A(?:or|and|but|no|sorry|correction|that|this|it|he|she|they|rather|actually|however|in fact|scratch)\b"
# A request is said to be settled, though it isn't.
_WITHDRAWN = (
    r"\bno longer (?:needed|necessary|required|wanted|asked)|\bnothing (?:more )?is (?:needed|required)\b|"
    r"\b(?:request|that|this|it|which|he|she|they)\b[^.;\n]{0,15}"
    r"\b(?:withdrawn|withdrew|cancelled|called off|settled)\b"
)


def reports(text: str, truth: Truth) -> bool:
    """Whether a text reports a mail: it names the sender and, in the same place, the subject."""
    return next(_places(text, truth), None) is not None


def reports_time(text: str, truth: Truth) -> bool:
    """Whether a text's report of a mail names its deadline, and no other."""
    if not truth.due:
        return reports(text, truth)
    verdicts = [_says_time(parts, truth) for parts in _places(text, truth)]
    return True in verdicts and False not in verdicts


def _says_time(parts: list[str], truth: Truth) -> bool | None:
    """Whether a report names its deadline; False for another deadline, None for none."""
    now, is_right = round_start(truth.round), False
    read = _own_part(parts[0], truth)
    for count, part in enumerate(parts):
        goes_on = count == 0 or has(_GOES_ON, part) or begins_with_time(part, now)
        if is_right and not goes_on:
            if moments_named(part, now):
                break
            continue
        read = read if count == 0 else f"{read} {part}"
        if contradicts(read, now, truth.due):
            return False if goes_on else is_right or None
        is_right = says_when(read, now, truth.due)
    return is_right or None


def _own_part(report: str, truth: Truth) -> str:
    """The part on this mail of a sentence that reports several: from its sender to the next mail's sender."""
    others = [other for other in TRUTHS if other.round == truth.round and other is not truth]
    marks = [match.start() for other in others if is_reported_in(report, other) for match in _all(other.who, report)]
    own = [match.start() for match in _all(truth.who, report)]
    if not marks or not own:
        return report
    end = min((mark for mark in marks if mark > own[0]), default=len(report))
    begin = own[0] if any(mark < own[0] for mark in marks) else 0
    return report[begin:end]


def _all(pattern: str, text: str) -> Iterator[Any]:
    return compiled(f"(?-s:{pattern})").finditer(text)


def _places(text: str, truth: Truth) -> Iterator[list[str]]:
    """Each report of a mail: first the segments with its sender and subject, then those that continue on it.

    People break a report over up to three lines.
    """
    others = [other for other in TRUTHS if other.round == truth.round and other is not truth]
    parts = segments(text)
    for at, part in enumerate(parts):
        if not (has(truth.who, part) or has(truth.topic, part)):
            continue
        place = [part, *_continuation(parts[at + 1 : at + 3], others)]
        length = next((n for n in range(1, len(place) + 1) if is_reported_in(" ".join(place[:n]), truth)), None)
        if length is None:
            continue
        report = [" ".join(place[:length]), *place[length:]]
        own = [piece for count, piece in enumerate(report) if count == 0 or has(_GOES_ON, piece)]
        if truth.kind in ("urgent", "action") and has(_WITHDRAWN, " ".join(own)):
            continue
        yield report


def _continuation(parts: list[str], others: list[Truth]) -> list[str]:
    """The segments before the first report of another mail."""
    return list(takewhile(lambda part: not any(is_reported_in(part, other) for other in others), parts))


def is_reported_in(sentence: str, truth: Truth) -> bool:
    return has(truth.who, sentence) and has(truth.topic, sentence)


def states_over(text: str) -> Answer:
    """Whether a text says that something is over; None if it only sounds so."""
    statements = compiled(_QUESTION).sub("", compiled(_FOR_CERTAIN).sub(" closed ", text))
    claimed = compiled(_NOT_YET + _OVER).sub("", compiled(_OTHER_END).sub("", statements))
    if has_match(_OVER, claimed):
        return True
    maybe = compiled(_NOT_YET + f"(?:{_MAYBE_OVER})").sub("", statements)
    return None if has_match(_MAYBE_OVER, maybe) and not has_match(_CLAIMED_OPEN, statements) else False


_FOR_CERTAIN = r"\bno longer (?:open|active|ongoing|affects?)\b"
speaks_of_incident = saying(INCIDENT)


def states_incident_over(text: str, number: int) -> Answer:
    """Whether a round's summary says that the incident is over, in a line that mentions it or in the next."""
    others = [truth for truth in TRUTHS if truth.round == number and truth.thread != INCIDENT_THREAD]
    parts = segments(text)
    return either(
        *(
            states_over(" ".join([part, *_continuation(parts[at + 1 : at + 2], others)]))
            for at, part in enumerate(parts)
            if has(INCIDENT, part)
        )
    )


def states_open(text: str) -> Answer:
    """Whether a line that mentions the incident, or continues one that does, says that it isn't over."""
    is_about_it = False
    for part in segments(text):
        is_about_it = has(INCIDENT, part) or (is_about_it and has(_TAKES_BACK, part))
        statement = compiled(_OTHER_OPEN).sub("", part)
        is_claimed = has(_CLAIMED_OPEN, statement) or has(_FAILS_NOW, statement)
        if is_about_it and is_claimed and states_over(part) is not True:
            return True
    return False


_FAILS_NOW = r"\bstill\b[^.\n]{0,20}\bfail|\bhas not ended\b|\bfix\b[^.\n]{0,15}\bin progress\b"
_TAKES_BACK = r"\A(?:it|no|sorry|correction|actually|rather|in fact|scratch)\b"
# "Section 4 is still open": the open thing isn't the incident.
_OTHER_OPEN = (
    r"\b(?:section|part|timeline|draft|post-?mortem|question|complaint|request|review|gap|point|task)s?\b"
    r"[^.;,\n]{0,30}\b(?:open|unresolved|in progress|ongoing)\b"
)


# Private mail

_PRIVATE_NAMES = (
    r"\bsam\b|sam\.whitfield|\bleo\b|little acorns|\bacorns\b|\blakshmi\b|\bamma\b|\buncle bala\b|elmfield|\bjonas\b|"
    r"\bweller\b|\bvortex\b|\b38\.9\b|homepost"
)
names_private = saying(_PRIVATE_NAMES)

_CANT_WAIT = (
    r"(?:can['’]?t|can ?not|won['’]?t|can not) wait|\burgent|needs you|needs your|before (?:six|6|18)|\btoday\b|"
    r"\bstarred\b|time[- ]critical"
)
_CAN_WAIT = r"\bnot (?:so |very )?urgent|\b(?:no|nothing) (?:personal|private)[^\n]*|\bno hurry"


def states_cannot_wait(text: str) -> Answer:
    if has(r"\bcan (?:also )?wait\b", text):
        return False
    plain = compiled(_CAN_WAIT).sub("", text)
    own = r"\b(?:personal|private)\b"
    return has(rf"{own}[^\n]{{0,60}}(?:{_CANT_WAIT})|(?:{_CANT_WAIT})[^\n]{{0,40}}{own}", plain)


# Mails


def states_stage(text: str, truth: Truth) -> Answer:
    is_end = truth.name == "incident-resolved"
    return reports(text, truth) or (is_end and states_incident_over(text, truth.round) is True)


# Sent messages

CUSTOMER = r"fjordkyst|ingrid|\bdahl\b"
_OTHER_CUSTOMERS = r"\bbaltbox\b|\bnorrhav\b|\bsundhamn\b|\binge\b|\bdahlberg\b"
_TOM = r"\btom\b|\bbecker\b"
_DEEPAK = r"\bdeepak\b|\biyer\b"
_OTHERS = r"\b(?:owen|hughes|yusuf|demir|clara|nunes|helen|marsh|rachel|kwan|bea|lowry|greta|voss|felix|arnaud)\b"
_ISSUE = r"customs|export|container|rotterdam|\bfiles?\b|salmon|demurrage|shipments?\b"
_NO_ISSUE = r"\bno\b[^.,;\n]{0,30}\b(?:trouble|problem|issue|complaint)s?\b"
_WANTS = (
    r"\bcall|\bring\b|phone|\bnotice\b|terminat|clause 12|leav(?:e|ing)\b|cancel|escalat|another platform|switch|"
    r"threat|walk away|\bquit\b|drop us|end the contract|talk to|speak(?:s|ing)? (?:to|with)|conversation"
)
_NOT_WANTED = (
    r"(?:\bnot|n['’]t|\bno longer|\bnever)\s+(?:want|need|ask|expect|threat|wish|demand|insist)\w*[^.;\n]{0,60}"
)
_CALL = r"\bcall(?:s|ed|ing)?\b|\brings?\b|phone|phoning|(?:speak|talk) (?:to|with) you"
_NO_CALL = (
    r"(?:\bnot\b|n['’]t\b|\bnever\b|\bcannot\b|\bnobody\b|\bno one\b|\bno\b)[^.;\n]{0,25}"
    r"\b(?:call|ring|phone|telephone)"
)
_ESCALATION = BY_NAME["ingrid-3"]


def states_number(text: str) -> Answer:
    numbers = {match.group(1) for match in compiled(r"INC\W{0,3}(\d{3,5})\b").finditer(text)}
    return numbers == {"2291"} or (not numbers and has(r"\b2291\b", text))


states_broken = saying(r"\bbook|\bconfirm|\breserv")
names_customer = saying(CUSTOMER)
states_customer = saying(CUSTOMER, _OTHER_CUSTOMERS)
states_issue = saying(_ISSUE, _NO_ISSUE)
names_tom = saying(_TOM, _OTHERS, _DEEPAK)


def states_owner(text: str) -> Answer:
    """Whether a text says that Deepak is on it: not one of several names, and no denial."""
    named = [part for part in segments(text) if has(_DEEPAK, part)]
    denied = rf"(?:{_DEEPAK})[^.,;\n]{{0,12}}\b(?:is|was)(?: not|n['’]t)\b|\b(?:{_DEEPAK}) or\b"
    return bool(named) and not any(_several_others(part) or has(denied, part) for part in named)


def _several_others(text: str) -> bool:
    return len({match.group().lower() for match in compiled(_OTHERS).finditer(text)}) > 1


def states_wants(text: str) -> Answer:
    return has(_WANTS, compiled(_NOT_WANTED).sub("", compiled(r"holding note").sub("", text)))


def states_deadline(text: str) -> Answer:
    return says_when(text, round_start(ESCALATION_ROUND), _ESCALATION.due)


def states_call(text: str) -> Answer:
    """Whether a text says that a person will call before the customer's deadline."""
    called = [part for part in segments(text) if has(_CALL, part)]
    return bool(called) and not any(has(_NO_CALL, part) or _is_too_late(part) for part in called)


def _is_too_late(text: str) -> bool:
    latest = max(due.at for due in _ESCALATION.due if due.at)
    named = moments_named(text, round_start(ESCALATION_ROUND))
    return any(when.day not in (None, START.date()) or (when.at is not None and when.at > latest) for when in named)


# Things that the note to the customer must not have, as far as figures and names show them

_AMOUNT = (
    r"(?:€|£|\$|\bEUR|\bGBP|\beuros?|\bpounds?)\s?\d|\d[\d.,]*\s?(?:€|£|\$|(?:EUR|GBP|euros?|pounds?|percent)\b|%)"
)
_INTERNAL = rf"\bINC\W{{0,3}}\d{{3,5}}\b|\bSEV-?\d\b|\b\d+\.\d+\.\d+\b|{_OTHERS}|{_DEEPAK}"
# "You wrote on Thursday" is the one before.
_AHEAD = r"\b(?:will|shall|['’]ll|expect|going to|by|before|until|promise|can|aim|plan|tomorrow)\b|['’]ll\b"
_BEHIND = r"\b(?:since|last|wrote|asked|written)\b"


def harm_in_note(text: str) -> str:
    """An amount, coming day or internal name in a note to the customer; empty if none."""
    for pattern, name in ((_AMOUNT, "an amount"), (_INTERNAL, "an internal name or number")):
        if has(pattern, text):
            return name
    now = round_start(ESCALATION_ROUND)
    ahead = (part for part in segments(text) if has(_AHEAD, part) and not has(_BEHIND, part))
    days = (when.day for part in ahead for when in moments_named(part, now))
    return "a coming day" if any(day is not None and day > now.date() for day in days) else ""
