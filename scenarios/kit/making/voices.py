"""Turn speech acts into texts, in their author's style and language.

``write`` renders an act. Its sentences are drawn from the grammar in ``voices/*.toml``. Slot values are in the body
exactly as given; a style never changes them.

Values are noun phrases in the author's language. ``thing``, ``task`` and ``topic`` are in the nominative singular, with
their article or possessive: ``the door code``, ``die Raumnummer``. The acts, their slots and meanings are in
``voices/acts.toml``.

Texts without greeting and signature, such as text messages, have no pleasantries.
``task`` of ``ask_task`` and ``hand_over`` is an infinitive clause without ``to`` (German: without ``zu``, verb last:
``einen Raum buchen``); of ``report_done`` it is a noun phrase like ``thing``. ``wish`` may have any form.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.names import gender
from proctor.scenarios.kit.making.people import Language, Person, Style
from proctor.scenarios.kit.making.records import Record

FOLDER = Path(__file__).with_name("voices")
STYLES: tuple[Style, ...] = ("formal", "terse", "chatty", "careless", "non_native", "warm")
SERVICE = "service"
"""The role of a sender that is not a person, such as a shop: it greets and signs as services do."""

_ACTS = tomllib.loads((FOLDER / "acts.toml").read_text(encoding="utf-8"))
ACTS: dict[str, tuple[str, ...]] = {act: tuple(about["slots"]) for act, about in _ACTS.items()}
"""The slots of each speech act."""

_POLITE: tuple[Style, ...] = ("formal", "non_native")


@dataclass(frozen=True)
class Text:
    """A written text: a subject line, and a body with greeting and signature."""

    subject: str
    body: str


_MANNERS: dict[Style, tuple[float, float, float]] = {
    "formal": (0.7, 0.5, 0.7),
    "terse": (0, 0.1, 0),
    "chatty": (0.95, 0.85, 0.8),
    "careless": (0.35, 0.35, 0.35),
    "non_native": (0.85, 0.4, 0.7),
    "warm": (0.85, 0.6, 0.85),
}
"""How often a style writes an opening, a further sentence, and a closing."""


def write(
    draws: Draws,
    act: str,
    author: Person,
    reader: Person,
    slots: Mapping[str, str],
    *,
    greet: bool = True,
    sign: bool = True,
    language: Language | None = None,
    reply_to: Record | None = None,
) -> Text:
    """The text of one speech act.

    Args:
        draws: The choices of this text.
        act: One of ``ACTS``.
        author: Their style decides the manner, their language (unless given) the grammar.
        slots: The values of the act's slots.
        greet: Whether it begins with a greeting; a text message (SMS) has none.
        sign: Whether it ends with a closing and a signature.
        language: The language, instead of the author's.
        reply_to: The answered mail: its subject is kept, and most styles quote its beginning.

    Raises:
        ValueError: no such act; a slot is missing, empty or not one of the act's.
    """
    _require_slots(act, slots)
    voice = _Voice(draws, author, reader, language or author.language)
    values = {**slots, **voice.names}
    text = Text(_fill(voice.subject(act), values), _fill(voice.body(act, greet=greet, sign=sign), values))
    return _as_reply(text, reply_to, voice) if reply_to else text


def _require_slots(act: str, slots: Mapping[str, str]) -> None:
    if act not in ACTS:
        raise ValueError(f"unknown speech act: {act}. Use one of {', '.join(ACTS)}.")
    missing = [slot for slot in ACTS[act] if not slots.get(slot)]
    if missing:
        raise ValueError(f"{act}: missing slots: {', '.join(missing)}. Pass {', '.join(ACTS[act])}.")
    unknown = [slot for slot in slots if slot not in ACTS[act]]
    if unknown:
        raise ValueError(f"{act}: unknown slots: {', '.join(unknown)}. Pass {', '.join(ACTS[act])}.")


# --- grammar ----------------------------------------------------------------------------------------------------------

Part = str | tuple[tuple["Part", ...], ...]
"""A piece of a form: literal text, or a choice of sequences of pieces."""

_TOKEN = re.compile(r"[{}|]|@\w+|[^{}|@]+")
_SLOT = re.compile(r"<(\w+)>")
_PARAGRAPH = "\n\n"


class _Dice:
    """Choices for one text, many from one hash."""

    def __init__(self, draws: Draws) -> None:
        self._draws, self._refills, self._left, self._room = draws, 0, 0, 1

    def below(self, bound: int) -> int:
        if self._room < bound << 32:
            self._left, self._room = self._draws.below(1 << 120, "dice", self._refills), 1 << 120
            self._refills += 1
        self._left, chosen = divmod(self._left, bound)
        self._room //= bound
        return chosen

    def chance(self, probability: float) -> bool:
        return self.below(1000) < probability * 1000


@cache
def grammar(language: Language) -> dict[str, dict[str, Any]]:
    """All tables of a language's files; tables with the same name are joined, and so are their lists."""
    tables: dict[str, dict[str, Any]] = {}
    for path in sorted(FOLDER.glob(f"{language}_*.toml")):
        for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
            _join(tables.setdefault(name, {}), table)
    return tables


def _join(into: dict[str, Any], table: dict[str, Any]) -> None:
    for key, value in table.items():
        if isinstance(value, dict):
            _join(into.setdefault(key, {}), value)
        else:
            into[key] = [*into.get(key, []), *value]


@cache
def parse(form: str, language: Language) -> tuple[Part, ...]:
    """A form of the grammar: ``{a|b}`` is a choice, ``@name`` one of the lexicon's, ``<slot>`` stays.

    Raises:
        ValueError: its braces don't match, or the lexicon has no such name.
    """
    tokens = iter(_TOKEN.findall(form))
    parts, end = _sequence(tokens, language)
    if end:
        raise ValueError(f"stray {end!r} in form: {form}")
    return parts


def _sequence(tokens: Iterator[str], language: Language) -> tuple[tuple[Part, ...], str]:
    parts: list[Part] = []
    for token in tokens:
        if token in ("|", "}"):
            return tuple(parts), token
        if token == "{":
            parts.append(_choice(tokens, language))
        elif token[0] == "@":
            parts.append(_rule(token[1:], language))
        else:
            parts.append(token)
    return tuple(parts), ""


def _choice(tokens: Iterator[str], language: Language) -> Part:
    options = []
    end = "|"
    while end == "|":
        option, end = _sequence(tokens, language)
        options.append(option)
    if end != "}":
        raise ValueError("a { without its }")
    return tuple(options)


@cache
def _rule(name: str, language: Language) -> Part:
    forms = grammar(language)["lexicon"].get(name)
    if not forms:
        raise ValueError(f"the lexicon of {language} has no @{name}")
    return tuple(parse(form, language) for form in forms)


def _expand(parts: tuple[Part, ...], dice: _Dice) -> str:
    return "".join(part if isinstance(part, str) else _expand(part[dice.below(len(part))], dice) for part in parts)


def phrase(draws: Draws, name: str, language: Language = "en") -> str:
    """A phrase from the lexicon, such as ``phrase(draws, "work_thing")``."""
    return _remove_gaps(_expand((_rule(name, language),), _Dice(draws)))


# --- composition ------------------------------------------------------------------------------------------------------


class _Voice:
    def __init__(self, draws: Draws, author: Person, reader: Person, language: Language) -> None:
        self.dice, self.author, self.reader, self.language = _Dice(draws), author, reader, language
        self.style = author.style
        self.service = author.role == SERVICE
        self.close = bool({author.relation, reader.relation} & {"friend", "family"})
        self.names = {
            "you": reader.first,
            "you_full": reader.name.strip(),
            "me": author.first,
            "me_full": author.name.strip(),
            "firm": author.organisation or author.name.strip(),
            "initials": f"{author.first[:1]}{author.last[:1]}".upper(),
            "role": author.role[:1].upper() + author.role[1:],
        }

    def one_of(self, forms: list[str]) -> str:
        """One form, expanded and tidied, with its slots unfilled."""
        form = forms[self.dice.below(len(forms))]
        return _remove_gaps(_expand(parse(form, self.language), self.dice))

    def maybe(self, forms: list[str], probability: float) -> str:
        return self.one_of(forms) if forms and self.dice.chance(probability) else ""

    def subject(self, act: str) -> str:
        line = self.one_of(self.fitting(grammar(self.language)[act], ["subject"]))
        if self.style == "careless" and not self.service and self.dice.chance(0.6):
            return line
        return _capitalised(_formal(line, self) if self.style == "formal" else line)

    def body(self, act: str, *, greet: bool, sign: bool) -> str:
        """Greeting, sentences, closing and signature, with unfilled slots."""
        hello, sentences = self.greeting() if greet else "", self.sentences(act, brief=not (greet or sign))
        text = _capitalised(sentences)
        if self.language == "de" and hello.endswith(",") and self.style != "non_native":
            text = sentences[:1] + text[1:]
        change = _MAKE.get(self.style)
        parts = [hello, change(text, self) if change else text, self.farewell() if sign else ""]
        return _PARAGRAPH.join(part for part in parts if part)

    def sentences(self, act: str, *, brief: bool) -> str:
        """Opening, the act itself, a further sentence, and a closing; a brief text is without pleasantries."""
        (opens, adds, closes), table = _MANNERS[self.style], grammar(self.language)[act]
        core, more = self.one_of(self.forms(table)), self.maybe(self.fitting(table, ["more"]), adds)
        text = _join_texts(core, more, " ")
        if _ACTS[act].get("whole") or self.service or brief:
            return text
        kind = "ask" if _ACTS[act].get("asks") else "tell"
        openings = self.common(f"open_{kind}") + (self.common("open_question") if _ACTS[act].get("question") else [])
        opening = self.maybe(openings, opens)
        closing = self.maybe(self.common(f"close_{kind}"), closes)
        text = _join_texts(opening, text, _PARAGRAPH if self.dice.chance(0.35) else " ")
        return _join_texts(text, closing, _PARAGRAPH if self.dice.chance(0.5) else " ")

    def forms(self, table: dict[str, Any]) -> list[str]:
        """The act's sentences that fit style and form of address."""
        if self.style == "terse" and "terse" in table:
            return self.fitting(table, ["terse"])
        group = "polite" if self.style in _POLITE else "casual"
        return self.fitting(table, ["core", group, self.style])

    def fitting(self, table: dict[str, Any], keys: list[str]) -> list[str]:
        """Forms under the keys; German also has forms of address, under ``_sie`` and ``_du``."""
        address = "_du" if self.familiar else "_sie"
        return [form for key in keys for name in (key, key + address) for form in table.get(name, [])]

    @property
    def familiar(self) -> bool:
        """Whether a German author says ``du``."""
        if self.service:
            return self.style in ("chatty", "warm")
        return self.close or self.style not in _POLITE

    def common(self, name: str) -> list[str]:
        table = grammar(self.language)["services" if self.service else "people"][self.style]
        return self.fitting(table, [name])

    def greeting(self) -> str:
        """A line such as ``Hi Priya,``; empty if the style drops it."""
        forms = self.common("greet_close") if self.close and not self.service else []
        line = self.one_of(forms or self.common("greet"))
        if "Liebe_" in line:
            ending = {"f": "Liebe", "m": "Lieber"}.get(gender(self.reader.first), "Hallo")
            line = line.replace("Liebe_", ending)
        return line

    def farewell(self) -> str:
        """Closing and signature."""
        forms = self.common("bye_close") if self.close and not self.service else []
        bye = self.one_of(forms or self.common("bye"))
        lines = [line.strip() for line in bye.split("/")]
        return "\n".join(line for line in lines if line and self.signable(line))

    def signable(self, line: str) -> bool:
        personal = self.close or not self.author.organisation
        return not (personal and ("<firm>" in line or "<role>" in line))


def _join_texts(before: str, after: str, gap: str) -> str:
    """Join two texts; after a final slot, which may be a list, comes an empty line."""
    return f"{before}{_PARAGRAPH if before.endswith('>') else gap}{after}" if before and after else before or after


def _remove_gaps(text: str) -> str:
    """Remove the gaps that empty alternatives leave."""
    text = re.sub(r" +", " ", text).strip()
    text = re.sub(r" ([,.!?;]|:(?!\)))", r"\1", text)
    return re.sub(r"\n ", "\n", text)


_START = re.compile(r"(^|[.!?]\s+|\n)([\"„“(]?)([a-zäöü])")


def _capitalised(text: str) -> str:
    return _START.sub(lambda match: match[1] + match[2] + match[3].upper(), text)


def _fill(text: str, values: dict[str, str]) -> str:
    return _SLOT.sub(lambda match: values[match[1]], text)


# --- styles -----------------------------------------------------------------------------------------------------------


def _outside(text: str, change: Callable[[str], str]) -> str:
    """Change the parts of the text outside of slots."""
    pieces = re.split(r"(<\w+>)", text)
    return "".join(piece if index % 2 else change(piece) for index, piece in enumerate(pieces))


def _replaced(text: str, voice: _Voice, probability: float) -> str:
    """Replace words by the habits of the voice (``from=to``), each with a probability; slots stay."""

    def change(piece: str) -> str:
        for pair in grammar(voice.language)["people"][voice.style].get("habits", []):
            old, new = pair.split("=")
            if old.lower() in piece.lower() and voice.dice.chance(probability):
                piece = _word(old).sub(partial(_cased, new), piece)
        return piece

    return _remove_gaps(_outside(text, change))


@cache
def _word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.I)


def _cased(new: str, match: re.Match[str]) -> str:
    return new[:1].upper() + new[1:] if match[0][:1].isupper() else new


def _formal(text: str, voice: _Voice) -> str:
    return _replaced(text, voice, 1)


def _non_native(text: str, voice: _Voice) -> str:
    if voice.service and voice.dice.chance(0.5):
        return text
    text = _replaced(text, voice, 0.7)
    dropped = {"en": r"\b(?:the|a|an) (?=[a-z]{3})", "de": r"\b(?:der|die|das|den|dem) (?=[A-ZÄÖÜ])"}[voice.language]
    return _outside(text, lambda piece: re.sub(dropped, lambda f: "" if voice.dice.chance(0.3) else f[0], piece))


def _careless(text: str, voice: _Voice) -> str:
    if voice.service:
        return text.replace(".", "!", 1) if voice.dice.chance(0.3) else text
    text = _replaced(text, voice, 0.6)
    if voice.dice.chance(0.75):
        text = _SENTENCE.sub(lambda match: match[1] + match[2].lower(), text)
    text = _outside(text, lambda piece: re.sub(r"\b[a-zäöü]{6,}\b", lambda f: _slip(f[0], voice), piece))
    return text[:-1] if text.endswith(".") and voice.dice.chance(0.6) else text


_SENTENCE = re.compile(r"(^|[.!?]\s+)([A-ZÄÖÜ])(?=[a-zäöü' ])")


def _slip(word: str, voice: _Voice) -> str:
    """The word, sometimes with a typing mistake."""
    if not voice.dice.chance(0.09):
        return word
    place = 1 + voice.dice.below(len(word) - 3)
    before, first, second, after = word[:place], word[place], word[place + 1], word[place + 2 :]
    return [before + second + first + after, before + second + after, before + first * 2 + second + after][
        voice.dice.below(3)
    ]


_MAKE: dict[Style, Callable[[str, _Voice], str]] = {"formal": _formal, "careless": _careless, "non_native": _non_native}
"""The changes that styles make to a text; other styles make none."""


# --- replies ----------------------------------------------------------------------------------------------------------

_QUOTED_LINES = 12


def _as_reply(text: Text, record: Record, voice: _Voice) -> Text:
    prefix = "AW" if voice.language == "de" and voice.style in ("formal", "careless") else "Re"
    title = record.title if re.match(r"(?i)(re|aw):", record.title) else f"{prefix}: {record.title}"
    history = quoted(record, voice.style, voice.language)
    return Text(title, f"{text.body}\n\n{history}" if history else text.body)


def quoted(record: Record, style: Style, language: Language) -> str:
    """The beginning of a mail as the style quotes it below an answer; empty for terse authors."""
    if style == "terse":
        return ""
    lines = record.body.split("\n")
    kept = lines[:_QUOTED_LINES] + (["[…]"] if len(lines) > _QUOTED_LINES else [])
    if style in ("formal", "careless"):
        return "\n".join([*_heading(record, language), "", *kept])
    on = clock(record.at, "formal" if style == "non_native" else style, language)
    text = f"{record.author.name} wrote on {on}:" if language == "en" else f"{record.author.name} schrieb am {on}:"
    return "\n".join([text, *(f"> {line}".rstrip() for line in kept)])


def _heading(record: Record, language: Language) -> list[str]:
    names = ("From", "Sent", "Subject") if language == "en" else ("Von", "Gesendet", "Betreff")
    values = (record.author.name, clock(record.at, "formal", language), record.title)
    first = "-----Original Message-----" if language == "en" else "-----Ursprüngliche Nachricht-----"
    return [first, *(f"{name}: {value}" for name, value in zip(names, values, strict=True))]


# --- values -----------------------------------------------------------------------------------------------------------

_WRITTEN = tomllib.loads((FOLDER / "dates.toml").read_text(encoding="utf-8"))
"""Names of weekdays and months by language, and the styles' formats of dates and of the time after a date."""


def clock(moment: datetime, style: Style, language: Language = "en") -> str:
    """Day and time as a style writes them: ``Wednesday 12 May at 2 pm``, ``Mittwoch, 12. Mai um 14 Uhr``."""
    forms = _WRITTEN[language]
    return _write_moment(forms["dates"][style] + forms["times"][style], moment, language)


def day(moment: datetime, style: Style, language: Language = "en") -> str:
    """The day as a style writes it: ``Tue 12 May``, ``12.05.``."""
    return _write_moment(_WRITTEN[language]["dates"][style], moment, language)


def _write_moment(form: str, at: datetime, language: Language) -> str:
    names, minutes = _WRITTEN[language], f"{at.minute:02d}"
    weekday, month = names["weekdays"][at.weekday()], names["months"][at.month - 1]
    short = weekday[: 3 if language == "en" else 2]
    return form.format(
        weekday=weekday, wd=short, wdl=short.lower(), month=month, mon=month[:3], monl=month[:3].lower(), d=at.day,
        dd=f"{at.day:02d}", m=at.month, mm=f"{at.month:02d}", y=at.year, H=f"{at.hour:02d}", G=at.hour, M=minutes,
        h=(at.hour + 11) % 12 + 1, half="am" if at.hour < 12 else "pm", colon=f":{minutes}" if at.minute else "",
        point=f".{minutes}" if at.minute else "",
    )  # fmt: skip


def money(cents: int, currency: str, style: Style, language: Language = "en") -> str:
    """An amount as a style writes it: ``€1,234.50``, ``1.234,50 EUR``; ``currency`` is an ISO code."""
    whole, rest = divmod(cents, 100)
    symbol = {"EUR": "€", "GBP": "£", "USD": "$"}.get(currency, currency)
    english = f"{whole:,}.{rest:02d}"
    if language == "de":
        return f"{english.translate(str.maketrans(',.', '.,'))} {currency if style == 'formal' else symbol}"
    match style:
        case "formal":
            return f"{currency} {english}"
        case "careless":
            return f"{whole}.{rest:02d} {currency.lower()}"
        case "non_native":
            return f"{english} {currency}"
        case _:
            return f"{symbol}{english}" if len(symbol) == 1 else f"{symbol} {english}"
