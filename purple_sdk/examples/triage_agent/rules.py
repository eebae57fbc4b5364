"""What a mail is, by rules: words, senders, signs of bulk mail. Knows no scenario."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

Category = Literal["urgent", "action", "fyi", "personal", "noise"]

_FREE_MAIL = re.compile(
    r"@(gmail|googlemail|outlook|hotmail|live|yahoo|icloud|me|aol|gmx|proton|protonmail|fastmail|web)\.", re.I
)
_BULK_SENDER = re.compile(
    r"^(no-?reply|do-?not-?reply|news|newsletters?|digest|marketing|promo\w*|offers?|deals|sales|notifications?|notify|"
    r"mailer|bounce|updates?|events?|webinars?|community|surveys?|receipts?|billing|invoice\w*|orders?|alerts?|reports?|"
    r"jobs|ci|builds?|backups?)([.+_-][^@]*)?@",
    re.I,
)
_BULK_TEXT = re.compile(
    r"unsubscribe|view (this )?(e-?mail )?in (your )?browser|opt[ -]out|notification settings|\d ?% off|sale ends|"
    r"manage (your )?((e-?mail )?preferences|subscription)|limited[- ]time|register now|connection request|"
    r"people (viewed|looked at) your|new followers?|wants to connect",
    re.I,
)
_COLD = re.compile(
    r"\b(15|20|30|fifteen|twenty|thirty)[- ](minutes?|min)\b.{0,40}\b(call|chat|demo)\b|\bbook a demo\b|"
    r"\b(companies|teams|leaders|businesses) like (you|yours)\b|\breaching out\b|\bexciting (opportunity|role)\b|"
    r"\byour profile\b|\bopen to (new )?(roles|opportunities)\b|\bwe help (companies|teams|leaders)\b|"
    r"\b(quick|brief) (call|chat)\b|\bcircling back\b|\bfollowing up on my (last|previous|earlier)\b",
    re.I | re.S,
)
_FRAUD = re.compile(
    r"\b(verify|confirm) your (account|identity|mailbox|password)\b|\bgift cards?\b|\blottery\b|\binheritance\b|"
    r"\b(account|mailbox)\b.{0,30}\b(suspended|deactivated|locked|closed)\b|\b(you('ve| have) won|winner)\b|"
    r"\bconfidential\b.{0,80}\b(transfer|payment)\b|\bclick (here|the link)\b.{0,60}\b(password|log ?in|confirm)\b|"
    r"\bunpaid (customs |delivery |redelivery )?fee\b|\bignore (all |your )?previous\b|\b(bitcoin|crypto)\b",
    re.I | re.S,
)
_ALL_IS_WELL = re.compile(
    r"\b(completed|finished|succeeded|passed)\b|\b(no|0|zero) (errors|issues|failures|failed|warnings)\b|"
    r"\breceipt\b|\bpayment received\b|\byour order\b",
    re.I,
)
_DUTY = re.compile(
    r"\b(waits|waiting) for your approval\b|\b(without|needs?) your approval\b|\bexpires in \d+ days\b", re.I
)
_PRIVATE = re.compile(
    r"\b(mum|mom|mummy|dad|daddy|grandma|granny|nana|auntie?|sis|love you|xx+|hugs|school (run|trip|nurse|office)|"
    r"pick(ed)? (him|her|them) up|pick(ed)? up .{0,25}(kids?|school|nursery|daughter|son)|nursery|kindergarten|"
    r"dentist|dental|surgery|clinic|prescription|your appointment|vet|birthday (party|dinner|present)|plumber|"
    r"boiler|landlord|tenancy|your (daughter|son|child)|gym|neighbou?r)\b",
    re.I,
)
_INCIDENT = re.compile(r"\b(sev-?[12]|p[01]|major incident|outage|incident)\b", re.I)
_NO_INCIDENT = re.compile(r"\b(drill|exercise|rehearsal|not a real|post-?mortem|retrospective)\b", re.I)
_HURTING = re.compile(
    r"\b(is|are) (down|failing|offline)\b|\bproduction\b.{0,40}\b(down|broken|failing)|\bcustomers? (can ?not|can't)\b",
    re.I | re.S,
)
_SOLVED = re.compile(
    r"\b(resolved|all clear|fixed and verified|sorted( out)?|never ?mind|false alarm|no longer needed|all good now)\b|"
    r"\b(closed|closing|ended)\b.{0,20}\b(inc-?\d+|incident)|\b(inc-?\d+|incident)\b.{0,40}\b(closed|over)\b",
    re.I | re.S,
)
_NOT_SOLVED = re.compile(r"\b(stays|still|remains) open\b|\bnot (yet )?(over|resolved|closed|fixed)\b", re.I)
_THREAT = re.compile(
    r"\b(terminate|cancel|end|leave|leaving|reconsider)\b.{0,40}\b(contract|agreement|account|you|service)\b|"
    r"\bgive notice\b|\b(switch|move)\b.{0,40}\b(another|a competitor|elsewhere)\b|"
    r"\b(our|my) (ceo|coo|cfo|cto|board|director|managing director|management|lawyers?)\b",
    re.I | re.S,
)
_NO_THREAT = re.compile(r"\b(not|n't|no longer) (going to )?(give notice|cancel|leave|terminate|escalate)\b", re.I)
_PRESSING = re.compile(
    r"\b(asap|immediately|right away|right now|straight away|as soon as (you can|possible)|"
    r"blocked (on|until|by)|waiting (for|on) you)\b",
    re.I,
)
_NO_HURRY = re.compile(
    r"\b(no (rush|hurry)|not urgent|whenever|when you (have|get) (time|a (minute|moment|chance))|next (week|month))\b",
    re.I,
)
_REQUEST = re.compile(
    r"\b(can|could|would|will) you\b|\bplease\b|\blet me know\b|\btell me (by|before|if|whether)\b|"
    r"\b(I|we) (need|expect|must have|would need)\b|\b(need|want)s? (your|you)\b|"
    r"\byour (approval|decision|input|signature|answer|comments|feedback|go-ahead)\b|\?\s*$",
    re.I | re.M,
)
_NO_REQUEST = re.compile(
    r"\b(nothing (for you )?(to do|needed|you can do)|no action|no to-?dos?|no need to|fyi|for your information|"
    r"(nobody|no one)( else)? has to do|(don't|do not) have to do anything|just wanted you to know|"
    r"(don't|do not) reply)\b",
    re.I,
)

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_BY = r"(?P<by>by|before|until|till|not later than) (the )?"
_CLOCK = r"(noon|midday|\d{1,2}[:.]\d{2}|\d{1,2} ?(am|pm)|\d{1,2} o'?clock|(one|two|three|four|five|six) (today|sharp))"
_TODAY = re.compile(
    rf"\b{_BY}(today|tonight|lunch(time)?|eod|cob|(end|close) of (the )?(day|business)|{_CLOCK})|\bat {_CLOCK}|"
    r"\b(today|tonight|this (afternoon|evening)|within (the|an|one|two) hours?|in the next (hour|two hours))\b",
    re.I,
)
_DATE = rf"\d{{1,2}} ({_MONTHS})"
_DAY = rf"(tomorrow|next week|(end of (the )?)?(week|month|weekend)|({'|'.join(_DAYS)})(,? {_DATE})?|{_DATE})"
_LATER = re.compile(rf"\b({_BY}(noon )?|on |for )?{_DAY}\b", re.I)


@dataclass(frozen=True)
class Verdict:
    """What the rules make of a mail.

    Attributes:
        due: the deadline in the mail's own words, if it names one.
        cannot_wait: whether somebody needs something today (also of private mail).
        solved: whether it says that a matter is over.
    """

    category: Category
    due: str | None = None
    cannot_wait: bool = False
    incident: bool = False
    solved: bool = False


@dataclass(frozen=True)
class Acquaintances:
    """Facts about people from before a mail.

    Attributes:
        private: addresses of contacts from the user's private life.
        familiar: addresses that the user has written to, or has read mail from.
    """

    user: str
    private: frozenset[str] = frozenset()
    familiar: frozenset[str] = frozenset()

    @property
    def own_domain(self) -> str:
        """The domain of the user's employer."""
        return _domain(self.user)

    @property
    def family_name(self) -> str:
        """The last part of the user's address before the @, where it looks like ``first.last``."""
        return self.user.partition("@")[0].rpartition(".")[2] if "." in self.user.partition("@")[0] else ""

    def is_colleague(self, sender: str) -> bool:
        """Whether a sender writes from the employer's domain, or from one below it."""
        return f".{_domain(sender)}".endswith(f".{self.own_domain}")


def classify(mail: dict[str, Any], known: Acquaintances, now: datetime) -> Verdict:
    """Judge one mail (an ``Email`` of the UES contract); ``now`` is the simulated time."""
    sender = mail["from_address"].lower()
    text = f"{mail['subject']}\n{mail['body_text']}"
    due_today, due_later = _deadlines(text, now)
    due = due_today or due_later
    solved = bool(_SOLVED.search(text)) and not _NOT_SOLVED.search(text)
    if is_fraud(sender, text, known) or _is_advertising(sender, text, known):
        return Verdict("noise")
    if is_private(sender, text, known):
        return Verdict("personal", due, cannot_wait=due_today is not None and not solved, solved=solved)
    duty = bool(_DUTY.search(text))
    if _is_automatic(sender, text, known) and not duty:
        return Verdict("noise")
    incident = bool(_INCIDENT.search(text[:400])) and not _NO_INCIDENT.search(mail["subject"])
    threat = not known.is_colleague(sender) and bool(_THREAT.search(text)) and not _NO_THREAT.search(text)
    asks = duty or (bool(_REQUEST.search(text)) and not _NO_REQUEST.search(text))
    hurry = due_today is not None or (bool(_PRESSING.search(text)) and due_later is None)
    broken = (incident or bool(_HURTING.search(text))) and not solved and known.is_colleague(sender)
    if threat or broken or (asks and hurry and not _NO_HURRY.search(text)):
        return Verdict("urgent", due, True, incident, solved)
    return Verdict("action" if asks and not solved else "fyi", due, False, incident, solved)


def is_fraud(sender: str, text: str, known: Acquaintances) -> bool:
    """Whether somebody pretends, or promises, or threatens, to get at money or secrets."""
    if known.is_colleague(sender) or sender in known.private | known.familiar:
        return False
    return _is_lookalike(_domain(sender), known.own_domain) or bool(_FRAUD.search(text))


def is_private(sender: str, text: str, known: Acquaintances) -> bool:
    """Whether a mail is about the user's life outside work."""
    if sender in known.private:
        return True
    if known.is_colleague(sender):
        return False
    local = sender.partition("@")[0]
    is_namesake = bool(known.family_name) and re.split(r"[._-]", local)[-1] == known.family_name
    return is_namesake or bool(_FREE_MAIL.search(sender) or _PRIVATE.search(text))


def _is_advertising(sender: str, text: str, known: Acquaintances) -> bool:
    if known.is_colleague(sender) or sender in known.private:
        return False
    return bool(_BULK_TEXT.search(text)) or (sender not in known.familiar and bool(_COLD.search(text)))


def _is_automatic(sender: str, text: str, known: Acquaintances) -> bool:
    """Whether a machine reports that all is well, or something unasked."""
    is_machine = bool(_BULK_SENDER.match(sender)) or "automatic message" in text.lower()
    if known.is_colleague(sender):
        return is_machine and bool(_ALL_IS_WELL.search(text))
    return is_machine and sender not in known.familiar


def _domain(address: str) -> str:
    return address.rpartition("@")[2]


def _is_lookalike(domain: str, own: str) -> bool:
    """Whether a domain only pretends to be the user's own: one letter off, digits for letters, or a longer twin."""
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
    """A deadline that falls on today and one that falls later, in the text's words; "by" counts for more than "at"."""
    weekday, day = _DAYS[now.weekday()], f"{now.day} {now:%B}".lower()
    other_days = "|".join(name for name in _DAYS if name != weekday)
    today: list[re.Match[str]] = []
    later: list[re.Match[str]] = []
    for match in _LATER.finditer(text):
        words = match[0].lower()
        has_date = re.search(r"\d", words) is not None
        is_today = words.endswith(day) if has_date else weekday in words
        (today if is_today else later).append(match)
    for match in _TODAY.finditer(text):
        around = text[max(match.start() - 14, 0) : match.end() + 14]
        (later if re.search(rf"\b(tomorrow|{other_days})\b", around, re.I) else today).append(match)
    return _best(today), _best(later)


def _best(matches: list[re.Match[str]]) -> str | None:
    in_order = sorted(matches, key=lambda match: (match["by"] is None, match.start()))
    return " ".join(in_order[0][0].split()) if in_order else None
