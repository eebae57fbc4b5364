"""Attached files of a day: the same bytes everywhere, as readers of their formats expect, and counted as readable."""

import hashlib
import re
import struct
import zlib
from datetime import date
from pathlib import Path

from proctor.activities.scenario_code import attached_files
from proctor.local.audit.shown import is_shown
from proctor.scenarios.kit.making.attachments import FORMS
from proctor.scenarios.kit.making.days import make_day

ROWS = {"Receipt": "QX12345", "Total": "48.20 EUR"}
FAMILY = Path(__file__).parents[3] / "scenarios" / "families" / "expense_report"


def test_files_are_the_same_on_every_machine() -> None:
    written = {name: form("note", "A (small) note", ROWS, date(2026, 4, 3)) for name, form in FORMS.items()}
    assert {name: hashlib.sha256(file.content).hexdigest()[:8] for name, file in written.items()} == {
        "pdf": "0f65c772",
        "png": "11cd3ebc",
        "csv": "98a66093",
        "ics": "dab13f97",
    }
    assert all("QX12345" in file.text and "48.20" in file.text for file in written.values())


def test_a_pdf_has_its_objects_where_its_table_says() -> None:
    content = FORMS["pdf"]("note", "A (small) note", ROWS, date(2026, 4, 3)).content
    places = [int(place) for place in re.findall(rb"(\d{10}) 00000 n", content)]
    assert [content[place : place + 7] for place in places] == [b"%d 0 obj" % number for number in range(1, 5)]
    start = int(content.split(b"startxref\n")[1].split()[0])
    assert content[start : start + 4] == b"xref"


def test_a_png_has_rows_of_the_width_that_it_says() -> None:
    content = FORMS["png"]("note", "A note", ROWS, date(2026, 4, 3)).content
    width, height, depth = struct.unpack(">IIB", content[16:25])
    length = struct.unpack(">I", content[33:37])[0]
    drawn = zlib.decompress(content[41 : 41 + length])
    assert depth == 1
    assert len(drawn) == height * (1 + -(-width // 8))


def test_facts_on_a_file_count_as_shown_and_the_day_has_the_file() -> None:
    day = make_day(FAMILY, 3, 201)
    mails = [record for record in day.records if record.attachments]
    assert len(mails) >= 2
    for mail in mails:
        [fact] = mail.facts
        assert is_shown(fact, mail)
        assert fact.about not in f"{mail.title} {mail.body}"
    state = day.initial_state()
    attached_files.insert_contents(state, day.attached_files().get)
    files = state["environment"]["modality_states"]["email"]["files"]
    assert set(files) == {
        hashlib.sha256(attachment.content).hexdigest() for mail in mails for attachment in mail.attachments
    }
    assert not make_day(FAMILY, 2, 201).attached_files()
