"""Exact values in texts, in the notations of both languages; the lines were written before the readers."""

from datetime import date

import pytest

from scenarios.kit.values import Kind, Value, Words

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
