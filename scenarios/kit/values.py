"""Exact values in messages: those that a message asserts, shows its recipients, or takes back.

The reader (``proctor.language.reader``) finds the values. This module has the rules on who said them, and how.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import cached_property
from typing import Literal

from pydantic.dataclasses import dataclass

from proctor.language.patterns import compiled
from proctor.language.reader.identifiers import squeeze
from proctor.language.reader.mentions import Mention
from proctor.language.reader.parts import Part, is_attribution, split_parts
from proctor.language.reader.stance import sentences_of, stances_of
from proctor.language.reader.text import readable
from proctor.language.reader.values import Values, values_of
from proctor.language.reader.words import MONTHS, WEEKDAYS

Kind = Literal["amount", "moment", "day", "time", "span", "code", "words", "name", "number", "address", "question"]
Answer = bool | None
"""None if the rules can't decide."""

CURRENCY = "EUR"
"""The currency of all amounts of days; a sign of another currency makes another amount."""

MOST_VALUES = 12
"""The most values of one kind in a normal message; a message with more is a dump."""

_REPLY = ("re:", "aw:", "fwd:", "fw:", "wg:")
_DATE_LINES = ("date:", "sent:", "datum:", "gesendet:")
_NUMERIC = frozenset(("amount", "moment", "day", "time", "span", "code", "number", "address"))
_LIST_WORDS = frozenset(
    "or oder and und either alternatively maybe perhaps possibly even else respectively bzw to bis "
    "vielleicht also".split()
)
_OPTIONS = ("option a", "option 1", "option one", "one of these", "one of them", "could be any")
_DAY_WORDS = frozenset([*WEEKDAYS, *MONTHS, "at", "um", "on", "the", "th", "st", "nd", "rd"])
_PHRASE_END, _LETTERS = re.compile(r"[.:;!?\n]\s"), re.compile(r"[^\W\d_]+")
_BOUND = (
    r"\b(?:by|anything from|at least"
    r"|at most|more than|less than|fewer than|not more than|up to|roughly|approximately|around"
    r"|about|some|over|under"
    r"|below|above|nearly|almost|mindestens|höchstens|ungefähr|etwa|circa|ca\.|rund|knapp|fast)\s*(?:eur|€|£)?\s*\z"
)
_SUM = r"\b(?:add|adds|adding|added|sum|sums|come|comes|coming|came|total|totals)\s+up\s+to\s*(?:eur|€|£)?\s*\z"
_RATE = (
    r"\A\s*(?:(?:eur|euros?|€|people|guests|[a-z]+)\s+)?(?:per|an hour|a day|a month|each|apiece|a piece"
    r"|for each|pro|je"
    r"|a head|fewer|less|too (?:much|many|high|low)|zu (?:hoch|viel|niedrig)"
    r"|more than|less than|or so|or more|or less|upwards|give or take)\b"
)
_SOURCE = r"\A\s*(?:(?:eur|euros?|€)\s+)?per the\b"
"""Names a figure's source, not a rate: ``3,833 euros per the latest word``."""
_CORRECTED = r"\b(?:correction|(?:no|oh),? sorry|sorry,? no|i mean|i meant|make that|korrektur|nein|ich meine)\b"
_CORRECTED_WITHIN = 60
"""The most characters between a value and its correction."""
_DECIDE = (
    r"\b(?:who|whom|whose|which|what|whether|shall|should|may|can|could|want|prefer|decide|approve|mean|meant|go ahead"
    r"|buy|order|either|wer|wen|wem|welche[rnms]?|was|soll|sollen|darf|dürfen|möchten|möchtest|meinen|meinst|entscheiden)\b"
)
_ELSE = r"\b(?:anything|something|anybody|anyone|else|sonst|noch etwas)\b"
_RESTATED = ("in words", "in figures", "that is", "i.e.", "in worten", "das heißt")
_SMALL = frozenset(
    "the a an is are was be it its it's this that of for to in on at by and or with as now still will has "
    "have been i you "
    "we he she they my your our their his her me us so just also please der die das ein eine ist sind und "
    "oder für von zu "
    "im in am um mit auf bei es ich sie wir bitte noch jetzt dann dass".split()
)


@dataclass(frozen=True)
class Value:
    """One exact value.

    Attributes:
        kind: ``amount`` (money, in cents), ``moment`` (ISO date and time, without zone), ``day`` (ISO date),
            ``time`` (``HH:MM``), ``span`` (``HH:MM-HH:MM``), ``code`` (letters and digits; spaces and hyphens don't
            count), ``number`` (a whole number), ``words`` (any of several texts, parted by ``|``; one ending in ``-``
            is the beginning of a word), ``name`` (a person's full name), ``address`` (mail address or telephone),
            ``question`` (a question mark).
        value: the value, as the kind says.
    """

    kind: Kind
    value: str

    @property
    def read(self) -> str:
        """The value as a reader finds it (``Mention.values``)."""
        return squeeze(self.value).upper() if self.kind == "code" else self.value

    def __str__(self) -> str:
        if self.kind == "amount":
            return f"{int(self.value) / 100:.2f}"
        first = self.value.split("|")[0]
        return first.replace("T", " ") if self.kind == "moment" else first


class Words:
    """A message's words, with the values in them.

    Args:
        text: the visible text; for a mail, subject, line break, body.
        today: the day on which it was written.
        with_quotes: treat quotes as the author's own words.
        had: whether its recipients had a line before; a quote of such a line says and shows nothing to them.
        is_known: whether any person's earlier message has a line.
    """

    def __init__(
        self,
        text: str,
        today: date,
        *,
        with_quotes: bool = False,
        had: Callable[[str], bool] = lambda line: True,
        is_known: Callable[[str], bool] = lambda line: True,
    ) -> None:
        self.text = readable(text)
        self._today = today
        self._had = had
        self._parts = [Part("own", self.text)] if with_quotes else split_parts(self.text, is_known)

    @cached_property
    def said(self) -> Values:
        """The values that its author says in their own words, or by forwarding them."""
        lines: list[str] = []
        for part in self._parts:
            if part.origin == "own":
                own = part.text
                if not lines and own.lower().startswith(_REPLY):
                    own = own.partition("\n")[2]
                lines.append(own)
                continue
            lines += [
                line
                for line in part.text.split("\n")
                if not line.lower().startswith(_DATE_LINES)
                and not is_attribution(line)
                and (part.origin == "forwarded" or not self._had(line))
            ]
        return values_of("\n".join(lines), self._today)

    @cached_property
    def shown(self) -> Values:
        """The values that its recipients can read in it, and did not have before."""
        lines = [
            line
            for part in self._parts
            for line in part.text.split("\n")
            if part.origin == "own" or not self._had(line)
        ]
        return values_of("\n".join(lines), self._today)

    @property
    def retracts(self) -> bool:
        """Whether it takes back an earlier statement."""
        return stances_of(self.said.text).retracts

    @property
    def denies(self) -> bool:
        """Whether it denies anything: that it is so, or that it was done."""
        return stances_of(self.said.text).denies

    def asks(self, values: Iterable[Value]) -> Answer:
        """Whether one of its questions is about one of the values; None if it only has words that ask for a decision.

        Such a question names a value, or asks who, which or whether right after a sentence that names one.
        """
        text, sought = self.said.text, [value for value in values if value.kind != "question"]
        sentences = [text[start:end] for start, end in sentences_of(text)]
        found: Answer = False
        for before, sentence in zip(["", *sentences], sentences, strict=False):
            if not sentence.rstrip(" .\"')*_\n").endswith("?"):
                continue
            is_bare = not any(map(str.isalpha, sentence))
            if is_bare or any(values_of(sentence, self._today).names(value) for value in sought):
                return True
            if compiled(_DECIDE).search(sentence.lower()) and not compiled(_ELSE).search(sentence.lower()):
                is_next = any(values_of(before, self._today).names(value) for value in sought)
                found = True if is_next else None if found is False else found
        return found

    def names(self, value: Value) -> bool:
        """Whether its author names the value, asserted or not."""
        return bool(self.said.find(value))

    def shows(self, value: Value) -> bool:
        """Whether its recipients can read the value in it, asserted or not."""
        ends = _ends(self.shown) if value.kind == "moment" else frozenset()
        return any(place not in ends for place in self.shown.find(value))

    def asserts(self, value: Value, *, any_stance: bool = False, is_sure: bool = False) -> Answer:
        """Whether its author says that the value holds, or proposes it; None if it is said and taken back.

        Args:
            value: the value.
            any_stance: accept a question or a doubt as well, as for a message that asks.
            is_sure: leave out ambiguous mentions, such as a bare number that may be a time.
        """
        places = self._in_currency(value)
        if is_sure and value.kind in _NUMERIC:
            weak = {(mention.start, mention.end) for mention in self.said.of_kind(value.kind) if mention.is_weak}
            places = [place for place in places if place not in weak]
        if not places:
            return False
        if value.kind == "question":
            return True
        stances = stances_of(self.said.text)
        found = {stances.of(start, end) for start, end in places}
        if any_stance or value.kind == "address":
            return found != {"retracted"}
        if not found & {"asserted", "proposed"}:
            return False
        near = _NEAR_VALUES if value.kind in _COUNTED else _NEAR_WORDS
        if all(stances.is_unsure(start, end, near) for start, end in places) or self._is_misdated(value):
            return None
        if value.kind in ("amount", "number") and all(self._is_bounded(*place) for place in places):
            return None
        return None if "retracted" in found and value.kind in _NUMERIC else True

    def _is_bounded(self, start: int, end: int) -> bool:
        """Whether a figure is only a bound, or a rate: ``at least 79``, ``3,833 euros per month``."""
        text = self.said.text.lower()
        before, after = text[max(0, start - 24) : start], text[end : end + 24]
        is_sum = compiled(_SUM).search(before) is not None
        is_rate = compiled(_RATE).search(after) is not None and compiled(_SOURCE).search(after) is None
        return (compiled(_BOUND).search(before) is not None and not is_sum) or is_rate

    def _is_misdated(self, value: Value) -> bool:
        """Whether the value is named only with a weekday that its date doesn't have."""
        if value.kind not in ("day", "moment"):
            return False
        days = [day for day in self.said.days if value.value[:10] in day.values]
        return bool(days) and all(day.role == "doubtful" for day in days)

    def _in_currency(self, value: Value) -> list[tuple[int, int]]:
        """The places of the value, without ends of spans and amounts in another currency."""
        ends = _ends(self.said) if value.kind in ("moment", "time") else frozenset()
        places = [place for place in self.said.find(value) if place not in ends]
        if value.kind == "amount" and places:
            units = {(amount.start, amount.end): amount.unit for amount in self.said.amounts}
            places = [place for place in places if units.get(place, "") in ("", CURRENCY)]
        return places

    def mentions(self, kind: Kind) -> list[Mention]:
        """The values of a kind that its author says or proposes, without ambiguous ones."""
        stances = stances_of(self.said.text)
        return [
            mention
            for mention in self.said.of_kind(kind)
            if not mention.is_weak and stances.of(mention.start, mention.end) in ("asserted", "proposed")
        ]

    def carries(self, kind: Kind) -> bool:
        """Whether it has a value of the kind, and is not a dump of many."""
        if kind == "question":
            return "?" in self.said.text
        if kind in ("words", "name"):
            return (
                bool(self.said.text.strip()) and len(self.said.numbers) <= MOST_VALUES and len(self.said.text) < _LONG
            )
        if kind == "code":
            tokens = self.said.tokens
            codes = {code.value for code in self.said.codes}
            inside = [(code.start, code.end) for code in self.said.codes]
            codes |= {
                tokens.lows[place]
                for place in tokens.numbers
                if len(tokens.lows[place]) >= _SHORTEST_CODE
                and not any(start <= tokens.starts[place] < end for start, end in inside)
            }
            return 0 < len(codes) <= MOST_VALUES
        found = [mention for mention in self.said.of_kind(kind) if mention.role != "end"]
        strong = [mention for mention in found if not mention.is_weak]
        return bool(found) and len({mention.value for mention in strong or found}) <= MOST_VALUES

    def looks_unread(self, kind: Kind) -> bool:
        """Whether it has figures or words that look like a value of the kind, but were not read."""
        if kind not in _NUMERIC or self.said.of_kind(kind):
            return False
        tokens = self.said.tokens
        digits = len(tokens.numbers)
        match kind:
            case "amount":
                return any(sign in self.said.text for sign in "€£$") or "eur" in self.said.text.lower()
            case "time" | "moment" | "span":
                return bool(digits) or not _CLOCK_WORDS.isdisjoint(tokens.lows)
            case _:
                return bool(digits)

    def is_contradicted(self, value: Value, fine: Iterable[Value]) -> bool:
        """Whether the message offers other values of the kind for the same thing.

        Examples are a list of alternatives ("79, 80 or 81"), another value with the same words around it ("the price
        is 79. The price is 81."), or options. A sum beside its parts does not count.

        Args:
            value: the value.
            fine: other values that this person should get, such as those of other duties.
        """
        if value.kind not in _NUMERIC or value.kind == "address":
            return False
        accepted = {other.read for other in fine if other.kind == value.kind} | {value.read}
        mentions = [mention for mention in self.mentions(value.kind) if mention.role != "end"]
        own = [mention for mention in mentions if value.read in mention.values]
        others = [mention for mention in mentions if accepted.isdisjoint(mention.values)]
        if not own or not others:
            return False
        if value.kind in ("amount", "number") and _adds_up(own[0], mentions):
            return False
        return any(self._is_alternative(one, other, mentions) for one in own for other in others)

    def _is_alternative(self, one: Mention, other: Mention, mentions: Sequence[Mention]) -> bool:
        first, second = sorted((one, other), key=lambda each: each.start)
        between = [mention for mention in mentions if first.start <= mention.start <= second.start]
        if all(self._is_list(a, b) for a, b in itertools.pairwise(between)):
            return True
        if any(word in self.said.text.lower() for word in _OPTIONS) and second.start - first.start < 300:
            return True
        if one.kind in ("moment", "time", "day", "span"):
            return self._is_corrected(one, other) or self._is_said_alike(one, other)
        labels = self._label(one), self._label(other)
        if not labels[0] and not labels[1]:
            return second.start - first.end < 40
        return labels[0] == labels[1]

    def _is_corrected(self, one: Mention, other: Mention) -> bool:
        """Whether the other value follows right after this one, with words of correction between them."""
        between = self.said.text[one.end : other.start].lower()
        return (
            one.end <= other.start and len(between) < _CORRECTED_WITHIN and bool(compiled(_CORRECTED).search(between))
        )

    def _is_said_alike(self, one: Mention, other: Mention) -> bool:
        """Whether the same words come before two values: ``It is Friday 14:00. It is Monday 14:00.``"""
        between = self.said.text[min(one.end, other.end) : max(one.start, other.start)].lower()
        if compiled(_CORRECTED).search(between):
            return False
        first, second = (_PHRASE_END.split(self.said.text[: mention.start].lower())[-1] for mention in (one, other))
        words, others = (
            [word for word in _LETTERS.findall(text) if word not in _DAY_WORDS] for text in (first, second)
        )
        return bool(words) and words == others

    def _is_list(self, first: Mention, second: Mention) -> bool:
        between = self.said.text[first.end : second.start].lower()
        if any(sign in between for sign in "+=*×"):
            return False
        if len(between) < 40 and any(between.strip(" ,(").startswith(word) for word in _RESTATED):
            return True
        words = "".join(char if char.isalpha() else " " for char in between).split()
        is_list = len(between) < 40 and all(word in _LIST_WORDS or word in _DAY_WORDS for word in words)
        return is_list and (first.kind != "moment" or bool(words) or "/" in between)

    def _label(self, mention: Mention) -> frozenset[str]:
        """The topic words before a value in its clause."""
        stances = stances_of(self.said.text)
        number = stances.clause_at(mention.start)
        clause = stances.clause(number).lower()
        words = "".join(char if char.isalpha() else " " for char in clause).split()
        return frozenset(word for word in words if word not in _SMALL)

    def is_step(self, part: Value, total: Value) -> bool:
        """Whether an amount or number is a step to a total: an item, or a running total."""
        if part.kind != total.kind or part.kind not in ("amount", "number") or int(part.value) >= int(total.value):
            return False
        mentions = [mention for mention in self.said.of_kind(part.kind) if not mention.is_weak]
        own = [mention for mention in mentions if mention.value == total.value]
        return bool(own) and _adds_up(own[0], mentions)

    def is_about(self, topic: Iterable[str], *, least: int = 1) -> bool:
        """Whether it has at least this number of a topic's words (``topic_words``)."""
        return len(set(topic) & topic_words(self.text)) >= least

    def is_bare(self, names: frozenset[str]) -> bool:
        """Whether it has hardly a word besides values and names; then it answers the question that was asked."""
        return len(topic_words(self.said.text) - names) <= _BARE


_COUNTED = frozenset(("amount", "number", "code"))
_NEAR_VALUES, _NEAR_WORDS = 240, 30
"""Reach, in characters, of words such as "I don't have it": to an amount or code, and to any other value."""
_CLOCK_WORDS = frozenset(("am", "pm", "uhr", "clock", "noon", "o'clock"))
_SHORTEST_CODE = 3
_BARE = 1
_LONG = 4000
"""The most characters of a message about one thing."""


def _ends(values: Values) -> frozenset[tuple[int, int]]:
    """The places of the ends of spans."""
    return frozenset((time.start, time.end) for time in values.times if time.role == "end")


def _adds_up(total: Mention, mentions: Sequence[Mention]) -> bool:
    """Whether a value is the sum of others beside it, directly or step by step."""
    parts = [int(mention.value) for mention in mentions if mention.value != total.value]
    if not parts or len(parts) > 3 * MOST_VALUES:
        return False
    wanted = int(total.value)
    sums = {0}
    for part in parts:
        sums |= {amount + part for amount in sums if amount + part <= wanted}
        if len(sums) > 20_000:
            return False
    return wanted in sums


def topic_words(text: str) -> frozenset[str]:
    """The topic words of a text: four letters or more, without common ones; plural and singular are the same."""
    words = "".join(char if char.isalpha() else " " for char in readable(text).lower()).split()
    return frozenset(word.rstrip("s") for word in words if len(word) > 3 and word not in _COMMON)


_COMMON = _SMALL | frozenset(
    "dear hello best regards kind many thanks thank with from have that this they there here your yours mine "
    "will would "
    "could should about what when where which please know just also still only hallo liebe lieber sehr "
    "geehrte geehrter "
    "viele grüße gruß freundlichen danke vielen eine einen einem ihre ihren mein meine sincerely cheers hope well good "
    "morning afternoon evening today tomorrow monday tuesday wednesday thursday friday".split()
)
