"""Attached files of a record, written as PDF, CSV, ICS or PNG, the same bytes on any machine.

PDF and PNG are written without libraries: compressors and drawing libraries change with versions. Both have a text
alternative (``Attachment.text``); of CSV and ICS the text is the content.
"""

import csv
import io
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256

Rows = Mapping[str, str]
"""A file's content: values by their headings. ASCII only."""


@dataclass(frozen=True)
class Attachment:
    """A file of a mail.

    Attributes:
        name: with its extension, as readers see it.
        mime_type: such as ``application/pdf``.
        content: its bytes.
        text: its content as text.
    """

    name: str
    mime_type: str
    content: bytes
    text: str

    @property
    def file(self) -> str:
        """The file's name in the scenario's folder, derived from the content."""
        return f"{sha256(self.content).hexdigest()[:32]}.{self.name.rpartition('.')[2]}"


def as_pdf(name: str, title: str, rows: Rows, day: date) -> Attachment:
    """A page with a title and a line for each row; ``day`` is not used."""
    lines = [title, *(f"{heading}: {value}" for heading, value in rows.items())]
    return Attachment(f"{name}.pdf", "application/pdf", _pdf(lines), "\n".join(lines))


def as_png(name: str, title: str, rows: Rows, day: date) -> Attachment:
    """A picture of what ``as_pdf`` writes, in capitals."""
    lines = [title, *(f"{heading}: {value}" for heading, value in rows.items())]
    return Attachment(f"{name}.png", "image/png", _png([line.upper() for line in lines]), "\n".join(lines))


def as_csv(name: str, title: str, rows: Rows, day: date) -> Attachment:
    """A table with a heading and one row."""
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([list(rows), list(rows.values())])
    return _text(f"{name}.csv", "text/csv", table.getvalue())


def as_ics(name: str, title: str, rows: Rows, day: date) -> Attachment:
    """A calendar with one entry of a day; the rows are its description."""
    lines = [
        *("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//example//calendar//EN", "BEGIN:VEVENT", f"UID:{name}@example"),
        *(f"DTSTAMP:{day:%Y%m%d}T000000Z", f"DTSTART;VALUE=DATE:{day:%Y%m%d}", f"SUMMARY:{title}"),
        "DESCRIPTION:" + "\\n".join(f"{heading}: {value}" for heading, value in rows.items()),
        *("END:VEVENT", "END:VCALENDAR"),
    ]
    return _text(f"{name}.ics", "text/calendar", "\r\n".join(lines) + "\r\n")


FORMS: Mapping[str, Callable[[str, str, Rows, date], Attachment]] = {
    "pdf": as_pdf,
    "png": as_png,
    "csv": as_csv,
    "ics": as_ics,
}
"""The writers of files, by extension: functions of name, title, rows and day."""


def _text(name: str, mime_type: str, text: str) -> Attachment:
    return Attachment(name, mime_type, text.encode(), text)


def _pdf(lines: Sequence[str]) -> bytes:
    shown = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines]
    stream = "BT /F1 12 Tf 16 TL 56 780 Td " + " ".join(f"({line}) Tj T*" for line in shown) + " ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
    ]
    content, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(content)}\n%%EOF\n"
    return f"{content}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode("ascii")


_SCALE, _MARGIN = 3, 4
_GLYPHS = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-/' ",
        (
            *("75557", "26227", "71747", "71717", "55711", "74717", "74757", "71122", "75757", "75717"),
            *("25755", "65656", "34443", "65556", "74647", "74644", "34553", "55755", "72227", "11152", "55655"),
            *("44447", "57755", "65555", "25552", "65644", "25573", "65655", "34216", "72222", "55557", "55552"),
            *("55775", "55255", "55222", "71247", "00002", "00024", "02020", "00700", "11244", "22000", "00000"),
        ),
        strict=True,
    )
)
"""Letters of three by five dots: an octal digit for each line, from the top."""


def _png(lines: Sequence[str]) -> bytes:
    """A black and white picture of lines in capitals; other characters are left blank."""
    columns = _MARGIN * 2 + 4 * max(map(len, lines))
    rows = [[0] * columns for _ in range(_MARGIN * 2 + 7 * len(lines))]
    for number, line in enumerate(lines):
        for place, char in enumerate(line):
            for down, dots in enumerate(_GLYPHS.get(char, "00000")):
                for across in range(3):
                    rows[_MARGIN + 7 * number + down][_MARGIN + 4 * place + across] = int(dots) >> (2 - across) & 1
    drawn = b"".join(_packed([dot for dot in row for _ in range(_SCALE)]) * _SCALE for row in rows)
    width, height = columns * _SCALE, len(rows) * _SCALE
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", _stored(drawn)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _packed(dots: Sequence[int]) -> bytes:
    """A line of a picture: its filter, and a bit for each dot, 0 for black."""
    padded = [*dots, *[1] * (-len(dots) % 8)]
    bits = "".join("0" if dot else "1" for dot in padded)
    return b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")


def _stored(data: bytes) -> bytes:
    """Data in zlib's format, not compressed: a compressor's output depends on its version."""
    pieces = [data[place : place + 65535] for place in range(0, len(data), 65535)]
    blocks = b"".join(
        struct.pack("<BHH", number == len(pieces) - 1, len(piece), len(piece) ^ 0xFFFF) + piece
        for number, piece in enumerate(pieces)
    )
    return b"\x78\x01" + blocks + struct.pack(">I", zlib.adler32(data))
