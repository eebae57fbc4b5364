"""The kind of a mail, by rules: words, senders, signs of bulk mail. They know no scenario."""

import re
import tomllib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

Category = Literal["urgent", "action", "fyi", "personal", "noise"]

_WORDS = {
    name: re.compile(text.replace("\n", ""), re.I)
    for name, text in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
"""The meanings of a mail's words."""
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
    """The rules' verdict on a mail.

    Attributes:
        due: the deadline in the mail's own words, if it names one.
        cannot_wait: whether a person needs something today (also of private mail).
        solved: whether it says that a matter is settled.
    """

    category: Category
    due: str | None = None
    cannot_wait: bool = False
    incident: bool = False
    solved: bool = False


@dataclass(frozen=True)
class Acquaintances:
    """Facts about people, known before a mail.

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
        """The last part of the user's address before the @, if it has the form ``first.last``."""
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
    solved = _fits("solved", text) and not _fits("not_solved", text)
    if is_fraud(sender, text, known) or _is_advertising(sender, text, known):
        return Verdict("noise")
    if is_private(sender, text, known):
        return Verdict("personal", due, cannot_wait=due_today is not None and not solved, solved=solved)
    duty = _fits("duty", text)
    if _is_automatic(sender, text, known) and not duty:
        return Verdict("noise")
    incident = _fits("incident", text[:400]) and not _fits("no_incident", mail["subject"])
    threat = not known.is_colleague(sender) and _fits("threat", text) and not _fits("no_threat", text)
    asks = duty or (_fits("request", text) and not _fits("no_request", text))
    hurry = due_today is not None or (_fits("pressing", text) and due_later is None)
    broken = (incident or _fits("hurting", text)) and not solved and known.is_colleague(sender)
    if threat or broken or (asks and hurry and not _fits("no_hurry", text)):
        return Verdict("urgent", due, True, incident, solved)
    return Verdict("action" if asks and not solved else "fyi", due, False, incident, solved)


def is_fraud(sender: str, text: str, known: Acquaintances) -> bool:
    """Whether the sender pretends, promises or threatens, to get money or secrets."""
    if known.is_colleague(sender) or sender in known.private | known.familiar:
        return False
    return _is_lookalike(_domain(sender), known.own_domain) or _fits("fraud", text)


def is_private(sender: str, text: str, known: Acquaintances) -> bool:
    """Whether a mail is about the user's life outside work."""
    if sender in known.private:
        return True
    if known.is_colleague(sender):
        return False
    local = sender.partition("@")[0]
    is_namesake = bool(known.family_name) and re.split(r"[._-]", local)[-1] == known.family_name
    return is_namesake or _fits("free_mail", sender) or _fits("private", text)


def _fits(rule: str, text: str) -> bool:
    return bool(_WORDS[rule].search(text))


def _is_advertising(sender: str, text: str, known: Acquaintances) -> bool:
    if known.is_colleague(sender) or sender in known.private:
        return False
    return _fits("bulk_text", text) or (sender not in known.familiar and _fits("cold", text))


def _is_automatic(sender: str, text: str, known: Acquaintances) -> bool:
    """Whether a machine reports that all is well, or sends unsolicited news."""
    is_machine = _fits("bulk_sender", sender) or "automatic message" in text.lower()
    if known.is_colleague(sender):
        return is_machine and _fits("all_is_well", text)
    return is_machine and sender not in known.familiar


def _domain(address: str) -> str:
    return address.rpartition("@")[2]


def _is_lookalike(domain: str, own: str) -> bool:
    """Whether a domain imitates the user's own: one letter off, digits for letters, or a longer twin."""
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
    """Find a deadline today and a later one, in the text's words; "by" counts for more than "at"."""
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
