"""Exact values in texts, in the notations of both languages; the lines were written before the readers."""

from datetime import date

import pytest

from proctor.scenarios.kit.checks import read_report
from proctor.scenarios.kit.values import Kind, Value, Words

TUESDAY = date(2026, 5, 12)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("It comes to €1,234.50 in all", "amount", "123450"),
        ("Das macht 1.234,50 EUR.", "amount", "123450"),
        ("48 euros, please", "amount", "4800"),
        ("CHF 1'234.50", "amount", "123450"),
        ("Tue 12 May at 14:00.", "moment", "2026-05-12T14:00"),
        ("on Thursday at 2 pm", "moment", "2026-05-14T14:00"),
        ("am 14.05. um 14 Uhr", "moment", "2026-05-14T14:00"),
        ("Guten Morgen, es beginnt um 15.10 Uhr.", "moment", "2026-05-12T15:10"),
        ("Nicht länger 14.00, sondern 15.10.", "moment", "2026-05-12T15:10"),
        ("2026-05-14T09:30", "moment", "2026-05-14T09:30"),
        ("May 14, 9am", "moment", "2026-05-14T09:00"),
        ("tomorrow at noon", "moment", "2026-05-13T12:00"),
        ("at 14.30 Uhr", "time", "14:30"),
        ("from 9:00-10:30", "time", "10:30"),
        ("by the 3rd of June", "day", "2026-06-03"),
        ("3. Juni", "day", "2026-06-03"),
        ("until Thursday 4 June", "day", "2026-06-04"),
        ("am Donnerstag, dem 4.6.", "day", "2026-06-04"),
        ("Thursday, the 4th of June", "day", "2026-06-04"),
        ("the reference is ab-12 34", "code", "AB1234"),
        ("call +44 7700 900142", "address", "+447700900142"),
        ("write to Ann <ann.lee@x.example>", "address", "ann.lee@x.example"),
    ],
)
def test_what_is_named(text: str, kind: Kind, value: str) -> None:
    assert Words(text, TUESDAY).names(Value(kind=kind, value=value))


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("It comes to €1,234.50 in all", "amount", "1234500"),
        ("on Thursday at 3 pm", "moment", "2026-05-14T14:00"),
        ("on Friday at 2 pm", "moment", "2026-05-14T14:00"),
        ("version 1.14.30", "time", "14:30"),
        ("> the reference is AB1234", "code", "AB1235"),
        ("Thanks!\n\nOn Monday Ann wrote:\n> It is AB1234", "code", "AB1234"),
        ("Bergmann will come", "words", "Berg"),
        ("until Thursday 4 June", "day", "2026-05-14"),
        ("am Donnerstag, dem 4.6.", "day", "2026-05-14"),
    ],
)
def test_what_is_not(text: str, kind: Kind, value: str) -> None:
    assert not Words(text, TUESDAY).names(Value(kind=kind, value=value))


PRICE = Value(kind="amount", value="383300")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The price is 3,833.00 euros.", True),
        ("It was 3,700.00 plus 133.00, which makes 3,833.00 euros.", True),
        ("The price isn't 4,910.00 euros any more, it is 3,833.00.", True),
        ("Never pay 3,833.00 euros.", False),
        ("The price is 3,833.00 dollars.", False),
        ("3,833.00 euros. No, wait, that is wrong.", False),
        ("The price is 3,833.00 euros, give or take.", None),
        ("The price is 3,833.00 euros per month.", None),
        ("The price is 3,833.00 euros per ticket.", None),
        ("The price is 3,833.00 euros per the latest word.", True),
        ("The parts add up to 3,833.00 euros.", True),
        ("It is up to 3,833.00 euros.", None),
        ("It has gone up by 3,833.00 euros.", None),
        ("The price is 3,833.00 euros a head.", None),
        ("Ann wrote:\n> the price is 3,833.00 euros\nI don't agree.", False),
        ("See below.\n---------- Forwarded message ----------\nFrom: ann\n\nthe price is 3,833.00 euros", True),
    ],
)
def test_what_is_asserted(text: str, answer: bool | None) -> None:
    assert Words(text, TUESDAY).asserts(PRICE) is answer


@pytest.mark.parametrize(
    ("text", "is_contradicted"),
    [
        ("It is 3,832.00, 3,833.00 or 3,834.00 euros.", True),
        ("The price is 3,833.00 euros. The price is 4,910.00 euros.", True),
        ("3,700.00 + 133.00 = 3,833.00 euros", False),
        ("The deposit is 340.00 euros, and the price 3,833.00 euros.", False),
    ],
)
def test_several_values_for_one_thing_are_none(text: str, is_contradicted: bool) -> None:
    assert Words(text, TUESDAY).is_contradicted(PRICE, []) is is_contradicted


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Is Ann or Bob meant?", True),
        ("There are Ann and Bob. Whom do you mean?", True),
        ("There are Ann and Bob. They quarrel. Shall I wait?", None),
        ("There are Ann and Bob. Do you need anything else?", False),
        ("There are Ann and Bob. Did you sleep well?", False),
    ],
)
def test_a_question_is_about_what_it_names_or_asks_to_decide(text: str, answer: bool | None) -> None:
    sought = [Value("words", "Ann"), Value("words", "Bob"), Value("question", "?")]
    assert Words(text, TUESDAY).asks(sought) is answer


def test_who_wrote_a_quoted_line_is_not_said() -> None:
    text = "Ann wrote on 12 May 2026, 10:15:\n> fine\nIt is at 14:00."
    words = Words(text, TUESDAY, had=lambda line: False)
    assert not words.names(Value("time", "10:15"))
    assert words.names(Value("time", "14:00"))


def test_what_may_be_something_else_is_not_said_for_sure() -> None:
    words = Words("It has 1,200.00 euros, for 80.", TUESDAY)
    assert words.asserts(Value("amount", "120000"), is_sure=True)
    assert words.asserts(Value("amount", "8000"))
    assert not words.asserts(Value("amount", "8000"), is_sure=True)


@pytest.mark.parametrize("option", ["Insolvenz-", "insolvency|Insolvenz-"])
def test_the_beginning_of_a_word_is_found_in_compounds(option: str) -> None:
    assert Words("Er ist beim Insolvenzamt.", TUESDAY).names(Value("words", option))
    assert not Words("Die Kleininsolvenz ist vorbei.", TUESDAY).names(Value("words", option))


def test_a_quote_shows_its_reader_only_news() -> None:
    text = "Yes.\nOn Monday Ann wrote:\n> the code is AB1234"
    code = Value(kind="code", value="AB1234")
    assert not Words(text, TUESDAY).shows(code)
    assert Words(text, TUESDAY, had=lambda line: False).shows(code)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1: done", {1: "done"}),
        ("| 2 | **Done** | told Ann |", {2: "done"}),
        ("Item 3 - impossible, there is none", {3: "impossible"}),
        ("4) not done yet", {4: "open"}),
        ("5: done or open", {5: ""}),
        ("1, 2 and 4: done", {1: "done", 2: "done", 4: "done"}),
        ("6: erledigt", {6: "done"}),
        ("7: done - open day: all were told", {7: "done"}),
        ("8: done is what you want to read, but it is open", {8: ""}),
        ("I have done 7 things", {}),
    ],
)
def test_a_line_of_a_report(line: str, said: dict[int, str]) -> None:
    assert read_report(line) == said


@pytest.mark.parametrize("piece", ["#", "* ", "x ", "1,", "1 - ", "1 : "])
def test_an_endless_line_of_a_report_is_read_in_one_pass(piece: str) -> None:
    assert read_report(piece * 300_000) == {}
