"""The reader of values: notations that others wrote from a value alone, typography, stance, and the parts of a message.

``notations-1.jsonl`` to ``notations-12.jsonl`` have 320 to 748 lines each. Their writers knew only values and kinds.
Unseen, and mended by the earlier files, the reader named of each: 95.7, 99.2, 91.7 (dictated addresses, spelled codes),
94.4, 93.9 (misspelled words), 97.7 (Swiss German), 98.4, 98.4, 97.7, 98.4 and 99.4 %. It read another value beside the
right one in 0.5 % of the last. Of the fifth and sixth, the paraphrases of phrases are left out.
"""

import json
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.language.reader.mentions import Kind
from proctor.language.reader.parts import split_parts
from proctor.language.reader.stance import Stance, Stances, stances_of
from proctor.language.reader.text import READ_AT_MOST, readable
from proctor.language.reader.tokens import split_tokens
from proctor.language.reader.values import Values

TODAY = date(2027, 3, 10)
FILES = sorted(Path(__file__).parent.glob("notations-*.jsonl"))
KINDS: tuple[Kind, ...] = ("day", "time", "moment", "span", "amount", "number", "code", "address")


@dataclass(frozen=True)
class Sought:
    kind: Kind
    value: str


def sought(kind: str, value: str) -> Sought:
    match kind:
        case "amount":
            return Sought("amount", str(round(float(value) * 100)))
        case "count":
            return Sought("number", value)
        case "day" | "time" | "moment" | "span" | "code" | "name" | "address" | "words":
            return Sought(kind, value)
        case _:
            raise AssertionError(kind)


@cache
def lines() -> list[dict[str, str]]:
    return [json.loads(line) for path in FILES for line in path.read_text(encoding="utf-8").splitlines()]


def test_notations_that_others_wrote_are_read() -> None:
    written, named, others = Counter[str](), Counter[str](), list[str]()
    for line in lines():
        today = date.fromisoformat(line.get("today", str(TODAY)))
        values, wanted = Values(line["text"], today), sought(line["kind"], line["value"])
        written[line["kind"]] += 1
        named[line["kind"]] += values.names(wanted)
        others += [
            f"{line['text']}: {mention.value}"
            for mention in values.of_kind(wanted.kind)
            if not mention.is_weak and mention.role != "end" and wanted.value not in mention.values
            if wanted.kind in ("day", "time", "moment", "span", "amount", "number")
        ]
    assert min(written.values()) >= 60, written
    assert all(named[kind] >= 0.98 * written[kind] for kind in written), {k: written[k] - named[k] for k in written}
    assert sum(named.values()) >= 0.99 * sum(written.values())
    assert not others


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("3:20pm", "time", "15:20"),
        ("9:00am", "time", "09:00"),
        ("12:45pm", "time", "12:45"),
        ("15:20:00", "time", "15:20"),
        ("quarter to one", "time", "12:45"),
        ("halb vier", "time", "15:30"),
        ("the 31st of August", "day", "2027-08-31"),
        ("August the 31st", "day", "2027-08-31"),
        ("31-08-2027", "day", "2027-08-31"),
        ("31. 8. 2027", "day", "2027-08-31"),
        ("12:30\u201113:15", "span", "12:30-13:15"),
        ("at 3:20&nbsp;pm", "time", "15:20"),
        ("Ms Cooper", "name", "Laura Cooper"),
        ("a name-tag", "words", "name tag"),
        ("kay, four seven double one", "code", "K4711"),
        ("Kilo, four seven one one", "code", "K4711"),
        ("K wie Kaufmann, vier sieben eins eins", "code", "K4711"),
        ("a week tomorrow", "day", "2027-03-18"),
        ("two weeks from this Friday", "day", "2027-03-26"),
        ("the last Thursday in September", "day", "2027-09-30"),
        ("on 12 March (that's a Friday)", "day", "2027-03-12"),
        ("five hundred and ninety-one thousand, three hundred euros", "amount", "59130000"),
        ("fri 12 mar, 1600", "moment", "2027-03-12T16:00"),
        ("due novmber 30th", "day", "2027-11-30"),
        ("am 30. XI. 2027", "day", "2027-11-30"),
        ("KW 14, Dienstag", "day", "2027-04-06"),
        ("heute in zehn Tagen", "day", "2027-03-20"),
        ("übernächste Woche Montag", "day", "2027-03-22"),
        ("6 50 am", "time", "06:50"),
        ("5 Min. nach 11", "time", "11:05"),
        ("15 Uhr 45.", "time", "15:45"),
        ("1/2 12 am Vormittag", "time", "11:30"),
        ("DTSTART:20270311T094500", "moment", "2027-03-11T09:45"),
        ("7am → 9:30am", "span", "07:00-09:30"),
        ("starts at seven a.m. and runs for two and a half hours", "span", "07:00-09:30"),
        ("half an hour from 10:45 a.m.", "span", "10:45-11:15"),
        ("8 to 12 in the morning", "span", "08:00-12:00"),
        ("Beginn: 15:00 Uhr, Ende: 16:45 Uhr", "span", "15:00-16:45"),
        ("| From | To |\n|---|---|\n| 06:30 | 08:00 |", "span", "06:30-08:00"),
        ("between 0845 and 1015", "span", "08:45-10:15"),
        ("nineteen hundred ninety-nine and 90/100 dollars", "amount", "199990"),
        ("Budget: TEUR 37,5", "amount", "3750000"),
        ("hundred twenty eggs", "number", "120"),
        ("ein halbes Dutzend Eier", "number", "6"),
        ("x26 badges", "number", "26"),
        ("call 212-555-0187", "address", "+12125550187"),
        ("service, at sign, kranz dash technik dot example", "address", "service@kranz-technik.example"),
        ("null null vier vier, dann 117 946 05 51", "address", "+441179460551"),
    ],
)
def test_what_was_not_read(text: str, kind: Kind, value: str) -> None:
    assert Values(text, TODAY).names(Sought(kind, value))


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("3:20pm", "time", "20:00"),
        ("9:00am", "time", "00:00"),
        ("the code is K4711-2", "code", "K4711"),
        ("the code is 99K4711", "code", "K4711"),
        ("38,330.00 euros", "amount", "383300"),
        ("version 1.14.30", "time", "14:30"),
        ("Platform 2 – 12:20 – Cork", "span", "02:00-12:20"),
        ("He may come", "day", "2027-05-01"),
        ("It falls on a Thursday", "day", "2027-03-11"),
        ("on 12 March (that's a Friday)", "day", "2027-03-19"),
        ("Can we move it from 12:45 to 13:30?", "span", "12:45-13:30"),
        ("mail laura.cooper@kell.example.org", "address", "laura.cooper@kell.example"),
    ],
)
def test_what_is_not_said(text: str, kind: Kind, value: str) -> None:
    assert not Values(text, TODAY).names(Sought(kind, value))


TYPOGRAPHY = {
    "-": "\u2010\u2011\u2012\u2013\u2014\u2212",
    "'": "\u2018\u2019\u02bc\u2032`",
    '"': "\u201c\u201d\u201e\u00ab\u00bb",
    " ": "\u00a0\u202f\u2009\u2007",
}


BOUNDED = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@BOUNDED
@given(st.data())
def test_typography_changes_nothing(data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(lines()))["text"]
    varied = "".join(
        data.draw(st.sampled_from([char, *TYPOGRAPHY[char]])) if char in TYPOGRAPHY else char for char in line
    )
    place = data.draw(st.integers(0, len(varied)))
    varied = varied[:place] + data.draw(st.sampled_from(["", "\u200b", "\u00ad", "\ufeff"])) + varied[place:]
    plain, other = Values(line, TODAY), Values(varied, TODAY)
    assert other.text == plain.text
    assert [plain.of_kind(kind) for kind in KINDS] == [other.of_kind(kind) for kind in KINDS]


@BOUNDED
@given(st.text(max_size=200))
def test_a_readable_text_stays_as_it_is(text: str) -> None:
    once = readable(text)
    assert readable(once).count("&") <= once.count("&")
    assert "\u00a0" not in once


@pytest.mark.parametrize(
    "text",
    [
        *(
            "the first Monday in July 0000",
            "the last Monday in July 9999",
            "leap day 0000",
            "Schalttag 2100",
            "leap day 9999",
        ),
        *("Di., KW 00512", "Montag KW 99", "60 weeks from now", "eight weeks from 9999"),
    ],
)
def test_a_year_or_week_that_there_is_not_is_passed_over(text: str) -> None:
    days = [date.fromisoformat(day) for mention in Values(text, TODAY).days for day in mention.values]
    assert all(2026 < day.year < 2029 for day in days)


@pytest.mark.parametrize(
    "piece",
    [
        *("1,", "a", "123,", "12:30 Mon ", "a-1-", "1.1.", "@a", "half past ", "twenty ", "(", "+1 ", "é€ ½", "1"),
        *("a hundred ", "a thousand and ", "from 9 to ", "79, ", "not 5, ", "5, is wrong that ", "if 5, ", "5? "),
    ],
)
def test_an_endless_text_is_read_to_a_bound(piece: str) -> None:
    values = Values(piece * 200_000, TODAY)
    assert len(values.text) <= READ_AT_MOST
    mentions = [mention for kind in KINDS for mention in values.of_kind(kind)]
    assert all(mention.end <= READ_AT_MOST for mention in mentions)
    assert all(stances_of(values.text).of(mention.start, mention.end) for mention in mentions)


def steps_of(text: str) -> int:
    """How many functions are called to read a text's values and stances, and left again."""
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    sys.setprofile(count)
    try:
        values = Values(text, TODAY)
        stances = Stances(values.text)
        for kind in KINDS:
            for mention in values.of_kind(kind):
                stances.of(mention.start, mention.end)
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize("piece", ["12:30, ", "79, ", "not 5, "])
def test_steps_grow_with_the_text(piece: str) -> None:
    def steps(size: int) -> int:
        return steps_of("on " + (piece * READ_AT_MOST)[: size - 13] + " Friday on")

    steps(1000)  # compiles patterns
    assert steps(8000) < 4.5 * steps(2000)


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_mail_with_a_value_in_each_line_takes_few_steps(language: str) -> None:
    rich = ("day", "time", "moment", "span", "amount", "count")
    dense = [line["text"] for line in lines() if line["kind"] in rich and line["lang"] == language][::19]
    text = "\n".join(dense)[:5000]
    steps_of(text)  # compiles patterns
    split_tokens.cache_clear()
    assert steps_of(text) < 32_000  # 28,300 in Python 3.11; 38,000 when each number was read three times


@pytest.mark.parametrize(
    ("text", "stance"),
    [
        ("The code is K4711.", "asserted"),
        ("Never pay to K4711.", "denied"),
        ("Do not, under any circumstances, pay to K4711.", "denied"),
        ("It is not true that the code is K4711.", "denied"),
        ("K4711 is wrong.", "denied"),
        ("K4711 no longer holds.", "denied"),
        ("Please use L3922 instead of K4711.", "denied"),
        ("The code is K4711. No, wait, that is wrong.", "retracted"),
        ("K4711. Forget what I said.", "retracted"),
        ("Instead of him, K4711 comes.", "asserted"),
        ("Forget my last message. The code is K4711.", "asserted"),
        ("The code is K4711. If you have noted another one, please strike it out.", "asserted"),
        ("Confirmation K4711: the quantity in it is not correct.", "asserted"),
        ("It runs under K4711. That's not quite what you wanted?", "asserted"),
        ("K4711 used to be the number.", "denied"),
        ("Es findet statt, unter K4711.", "asserted"),
        ("Don't count these: K4711.", "denied"),
        ("K4711 clashes with another one.", "denied"),
        ("Maybe it is K4711.", "doubted"),
        ("If it were K4711, we would pay.", "doubted"),
        ("Is it K4711?", "asked"),
        ("Could you pay to K4711?", "proposed"),
        ("The code is K4711, does that help?", "asserted"),
        ("It isn't L3922 any more, it's K4711.", "asserted"),
        ("Der Code ist nicht L3922, sondern K4711.", "asserted"),
        ("Moved from L3922 to K4711.", "asserted"),
        ("Please don't forget: K4711.", "asserted"),
        ("Send it no later than Friday to K4711.", "asserted"),
        ("I can't share the price, but the file number is K4711.", "asserted"),
        ("Nothing else has changed, K4711 holds.", "asserted"),
    ],
)
def test_how_a_statement_is_meant(text: str, stance: Stance) -> None:
    values = Values(text, TODAY)
    [(start, end), *_] = values.find(Sought("code", "K4711"))
    assert stances_of(values.text).of(start, end) == stance


@pytest.mark.parametrize(
    ("text", "retracts"),
    [
        ("What I wrote to you about the quote was a mistake, sorry.", True),
        ("I have to take back what I just wrote about the alarm.", True),
        ("Meine letzte Nachricht zu dem Angebot war falsch.", True),
        ("Ich nehme zurück, was ich schrieb: meine letzte Nachricht war ein Irrtum.", True),
        ("My last message was about lunch; the price is 5 euros.", False),
        ("Take back what you lent me.", False),
        ("Ich nehme das Buch morgen zurück.", False),
    ],
)
def test_what_takes_earlier_messages_back(text: str, *, retracts: bool) -> None:
    assert stances_of(text).retracts == retracts


def test_a_day_is_no_code() -> None:
    assert not Values("14-Jul-2027", TODAY).codes


def test_a_message_has_parts() -> None:
    answered = "Hi,\nsee below\nOn Mon, 3 May 2027, Bob <b@x.example> wrote:\n> it is 5\n\nMine is 6\n"
    text = f"{answered}---------- Forwarded message ----------\nFrom: a\nSubject: b\n\nold"
    assert [part.origin for part in split_parts(text)] == ["own", "quoted", "own", "forwarded"]
    outlook = "Yes.\n-----Original Message-----\nFrom: a\nSent: b\nSubject: c\nold text\nmy answer below"
    parts = split_parts(outlook, is_known=lambda line: line == "old text")
    assert [part.origin for part in parts] == ["own", "quoted", "own"]
