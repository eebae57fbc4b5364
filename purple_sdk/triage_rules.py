"""What a mail is, by rules: words, senders, signs of bulk mail. Knows no scenario."""

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

Category = Literal["urgent", "action", "fyi", "personal", "noise"]

_FREE_MAIL = re.compile(
    r"@(gmail|googlemail|outlook|hotmail|live|yahoo|icloud|me|aol|gmx|proton|protonmail|fastmail|web)\.", re.I
)
_BULK_SENDER = re.compile(
    r"^(no-?reply|do-?not-?reply|news|newsletters?|digest|marketing|promo\w*|offers?|deals|sales|notifications?|notify|"
    r"mailer|bounce|updates?|hello|team|events?|webinars?|community|surveys?|receipts?|billing|invoice\w*|orders?|"
    r"alerts?|reports?|jobs|talent|recruit\w*)([.+_-][^@]*)?@",
    re.I,
)
_BULK_TEXT = re.compile(
    r"unsubscribe|view (this )?(e-?mail )?in (your )?browser|manage (your )?(e-?mail )?preferences|opt[ -]out|"
    r"you (get|are getting|receive|received|are receiving) this|% off|sale ends|limited[- ]time|register now|"
    r"read more|this week in|webinar|people viewed your|new followers?|connection request|add you to",
    re.I,
)
_COLD = re.compile(
    r"\b(15|20|30)[- ](minute|min)\b.{0,40}\b(call|chat|demo)\b|\bbook a demo\b|\bcompanies like yours\b|"
    r"\breaching out\b|\bexciting (opportunity|role)\b|\byour profile\b|\bopen to (new )?(roles|opportunities)\b|"
    r"\bwe help (companies|teams|leaders)\b|\b(quick|brief) (call|chat)\b|\bcircling back\b",
    re.I | re.S,
)
_FRAUD = re.compile(
    r"\bverify your (account|identity|mailbox|password)\b|\b(account|mailbox).{0,30}\b(suspended|deactivated|locked)\b|"
    r"\bgift cards?\b|\b(you('ve| have) won|winner|lottery|prize|inheritance)\b|\bbitcoin|\bcrypto\b|"
    r"\bconfidential\b.{0,80}\b(transfer|payment)\b|\bclick (here|the link)\b.{0,60}\b(password|log ?in|confirm)\b",
    re.I | re.S,
)
_ALL_IS_WELL = re.compile(
    r"\b(completed|finished|succeeded|passed) (successfully|without)|\bno (errors|issues|failures|action)\b|"
    r"\b(all|every) (checks?|jobs?|tests?|backups?) (passed|green|ok|succeeded)\b|\breceipt\b|\bpayment received\b|"
    r"\byour order\b|\bbackup .{0,20}(ok|completed)\b",
    re.I,
)
_PRIVATE = re.compile(
    r"\b(mum|mom|mummy|dad|daddy|grandma|granny|nana|auntie?|sis|love you|xx+|school (run|trip|nurse|office)|"
    r"pick(ed)? up .{0,25}(kids?|school|nursery|daughter|son)|nursery|kindergarten|dentist|dental|surgery|clinic|"
    r"prescription|your appointment|vet|birthday (party|dinner|present)|plumber|boiler|landlord|tenancy|"
    r"your (daughter|son|child)|gym|neighbou?r)\b",
    re.I,
)
_INCIDENT = re.compile(r"\b(sev-?[12]|p[01]|major incident|outage|incident)\b", re.I)
_HURTING = re.compile(
    r"\b(is|are) (down|failing|offline)\b|\bproduction\b.{0,40}\b(down|broken|failing)|\bcustomers? (can ?not|can't)\b",
    re.I | re.S,
)
_SOLVED = re.compile(
    r"\b(resolved|is closed|closing (this|the) incident|incident closed|all clear|fixed and verified|sorted( out)?|"
    r"never ?mind|false alarm|no longer needed|all good now)\b",
    re.I,
)
_THREAT = re.compile(
    r"\bescalat|\b(terminate|cancel|end|leave|leaving|reconsider)\b.{0,40}\b(contract|agreement|account|you|service)\b|"
    r"\b(our|my) (ceo|coo|cfo|cto|board|director|managing director|management|legal|lawyers?)\b|"
    r"\b(switch|move) to (another|a competitor)",
    re.I | re.S,
)
_PRESSING = re.compile(
    r"\b(asap|urgent(ly)?|immediately|right away|right now|straight away|as soon as (you can|possible)|"
    r"blocked (on|until|by)|waiting (for|on) you)\b",
    re.I,
)
_NO_HURRY = re.compile(
    r"\b(no (rush|hurry)|not urgent|whenever|when you (have|get) (time|a (minute|moment|chance))|next (week|month))\b",
    re.I,
)
_REQUEST = re.compile(
    r"\b(can|could|would|will) you\b|\bplease (review|approve|sign|send|confirm|decide|reply|answer|check|let|tell|"
    r"choose|fill|complete|read|return|say|give|have)\b|\blet me know\b|\b(need|want)s? (your|you)\b|"
    r"\byour (approval|decision|input|signature|answer|comments|feedback|go-ahead|ok)\b|\bare you (ok|able|free)\b",
    re.I,
)
_NO_REQUEST = re.compile(
    r"\b(nothing (for you )?to do|no action|no need to (reply|answer|do)|for your information|fyi)\b", re.I
)

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TODAY = re.compile(
    r"\b(by|before|until|at|till) (the )?(noon|midday|lunch(time)?|tonight|today|eod|cob|"
    r"(end|close) of (the )?(day|business)|"
    r"\d{1,2}([:.]\d{2})? ?(am|pm)|\d{1,2}[:.]\d{2}|\d{1,2} o'?clock)|"
    r"\b(today|tonight|this (morning|afternoon|evening)|within (the|an|one|two) hours?|in the next (hour|two hours))\b",
    re.I,
)
_LATER = re.compile(
    rf"\b(by|before|until|on|for) (the )?(tomorrow|next week|end of (the )?(week|month)|({'|'.join(_DAYS)})"
    r"(,? (\d{1,2} \w+|\w+ \d{1,2}))?|\d{1,2} (january|february|march|april|may|june|july|august|september|october|"
    r"november|december))\b|\btomorrow\b",
    re.I,
)


@dataclass(frozen=True)
class Verdict:
    """What the rules make of a mail.

    Attributes:
        due: the deadline in the mail's own words, if it names one.
        cannot_wait: whether somebody needs something today (also of private mail).
        incident: whether it is about something broken; ``solved`` whether it says that a matter is over.
        threat: whether somebody threatens to leave or calls in the management.
    """

    category: Category
    due: str | None = None
    cannot_wait: bool = False
    incident: bool = False
    solved: bool = False
    threat: bool = False


@dataclass(frozen=True)
class Acquaintances:
    """What is known of people before a mail comes: the user's own domain, private contacts, people written to."""

    own_domain: str
    private: frozenset[str] = frozenset()
    written_to: frozenset[str] = frozenset()
    by_label: dict[str, Category] = field(default_factory=dict)


def classify(mail: dict[str, Any], known: Acquaintances, now: datetime) -> Verdict:
    """Judge one mail (an ``Email`` of the UES contract); ``now`` is the simulated time."""
    sender = mail["from_address"].lower()
    text = f"{mail['subject']}\n{mail['body_text']}"
    due_today, due_later = _deadlines(text, now)
    solved = bool(_SOLVED.search(text))
    if is_noise(sender, text, known):
        return Verdict("noise")
    if is_private(sender, text, known):
        return Verdict("personal", due=due_today or due_later, cannot_wait=due_today is not None, solved=solved)
    incident = bool(_INCIDENT.search(mail["subject"]) or _INCIDENT.search(text[:400]))
    threat = _domain(sender) != known.own_domain and bool(_THREAT.search(text))
    calm = bool(_NO_HURRY.search(text))
    asks = bool(_REQUEST.search(text)) and not _NO_REQUEST.search(text)
    pressing = (asks and (due_today is not None or bool(_PRESSING.search(text))) and not calm) or threat
    broken = (incident or bool(_HURTING.search(text))) and not solved
    due = due_today or due_later
    category: Category = "urgent" if pressing or broken else "action" if asks or due_later else "fyi"
    return Verdict(category, due, category == "urgent", incident, solved, threat)


def is_noise(sender: str, text: str, known: Acquaintances) -> bool:
    """Whether a mail is advertising, automatic, cold or a fraud."""
    if known.by_label.get(sender) == "noise" or _is_lookalike(_domain(sender), known.own_domain):
        return True
    if _domain(sender) == known.own_domain:
        return bool(_BULK_SENDER.match(sender) and _ALL_IS_WELL.search(text))
    if sender in known.private or sender in known.written_to:
        return False
    if _FRAUD.search(text) or _COLD.search(text):
        return True
    is_bulk = bool(_BULK_SENDER.match(sender)) + bool(_BULK_TEXT.search(text))
    return (
        is_bulk == 2
        or bool(_BULK_TEXT.search(text) and not _REQUEST.search(text))
        or (is_bulk == 1 and bool(_ALL_IS_WELL.search(text)))
    )


def is_private(sender: str, text: str, known: Acquaintances) -> bool:
    """Whether a mail is about the user's life outside work."""
    if sender in known.private or known.by_label.get(sender) == "personal":
        return True
    return _domain(sender) != known.own_domain and bool(_FREE_MAIL.search(sender) or _PRIVATE.search(text))


def _domain(address: str) -> str:
    return address.rpartition("@")[2]


def _is_lookalike(domain: str, own: str) -> bool:
    """Whether a domain only pretends to be the user's own: one letter off, digits for letters, or a longer twin."""
    if domain == own or domain.endswith("." + own):
        return False
    plain = domain.translate(str.maketrans("0135", "oles")).replace("rn", "m").replace("vv", "w")
    name = own.partition(".")[0]
    is_twin = re.search(rf"(^|[-.]){re.escape(name)}([-.]|$)", plain) is not None
    return plain == own or is_twin or _differ_by_one(domain, own)


def _differ_by_one(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    shorter, longer = sorted((one, other), key=len)
    start = next((i for i, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    return longer[start + 1 :] == shorter[start + (len(one) == len(other)) :]


def _deadlines(text: str, now: datetime) -> tuple[str | None, str | None]:
    """The first deadline that falls on today, and the first that falls later, in the text's own words."""
    today, later = None, None
    weekday, tomorrow = _DAYS[now.weekday()], now + timedelta(days=1)
    other_days = "|".join(day for day in _DAYS if day != weekday)
    for found in _LATER.finditer(text):
        words = found[0].lower()
        is_today = weekday in words or f"{now.day} {now:%B}".lower() in words
        if f"{tomorrow.day} {tomorrow:%B}".lower() in words or not is_today:
            later = later or found[0]
        else:
            today = today or found[0]
    for found in _TODAY.finditer(text):
        around = text[max(found.start() - 14, 0) : found.end() + 14]
        if not re.search(rf"\b(tomorrow|{other_days})\b", around, re.I):
            today = today or found[0]
    return today, later
