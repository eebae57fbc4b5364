"""The documents' code blocks, commands and tables, read as their readers do.

A comment of a line before a block says how it is tested: ``<!-- replayed -->`` (its commands are run, and what they
print compared), ``<!-- run -->`` (Python that is run), ``<!-- typed -->`` (Python for mypy), ``<!-- model NAME -->``
(JSON of a model), ``<!-- fields of NAME -->`` (the table after it lists a model's fields).
"""

import re
import shlex
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tests.programs import ROOT

DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md")),
)

_BLOCK = re.compile(
    r"^(?:<!-- (?P<note>[^\n]*) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_SPAN = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """One code block: ``note`` is the comment before it."""

    document: str
    line: int
    language: str
    note: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def document(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@lru_cache
def blocks() -> tuple[Block, ...]:
    """All code blocks of all documents."""
    found = []
    for name in DOCUMENTS:
        text = document(name)
        for match in _BLOCK.finditer(text):
            line = text.count("\n", 0, match.start("text"))
            found.append(Block(name, line, match["language"], match["note"] or "", match["text"]))
    return tuple(found)


def of_language(*languages: str) -> list[Block]:
    return [block for block in blocks() if block.language in languages]


@dataclass(frozen=True)
class Command:
    """What stands after a prompt, and what is printed then."""

    block: Block
    text: str
    output: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.block.document}: {self.text.splitlines()[0][:60]}"

    @property
    def words(self) -> list[str]:
        """The command's words, without remarks, variables before it, and what a shell does with it."""
        words = shlex.split(self.text.replace("\\\n", " "), comments=True)
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            words.pop(0)
        for at, word in enumerate(words):
            if word in ("|", "<", ">", "<<", "&", "&&", ";") or word.startswith(("<", ">")):
                return words[:at]
        return words


def commands_in(block: Block) -> list[Command]:
    """The commands of a console block; one goes on after a backslash, in an open quote, in a here-document."""
    found: list[Command] = []
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        assert lines[at].startswith("$ "), f"{block}: a console block begins with a command after `$ `"
        text = lines[at][2:]
        at += 1
        while at < len(lines) and not _is_whole(text):
            text += f"\n{lines[at]}"
            at += 1
        output = []
        while at < len(lines) and not lines[at].startswith("$ "):
            output.append(lines[at])
            at += 1
        found.append(Command(block, text, tuple(output)))
    return found


def _is_whole(text: str) -> bool:
    if here := re.search(r"<<\s*'?(\w+)'?", text):
        return text.splitlines()[-1] == here[1]
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return not text.endswith("\\")


def commands() -> list[Command]:
    """All commands of all console blocks."""
    return [command for block in of_language("console", "sh") for command in commands_in(block)]


def spans(name: str) -> list[str]:
    """What a document has in backticks outside of its blocks."""
    return _SPAN.findall(_BLOCK.sub("", document(name)))


@dataclass(frozen=True)
class Table:
    """A table after a ``<!-- … -->`` line: its first two columns, without backticks."""

    document: str
    note: str
    columns: list[str]
    rows: list[list[str]]

    def __str__(self) -> str:
        return f"{self.document}: {self.note}"


def tables() -> list[Table]:
    """All tables that a comment says something of."""
    found = []
    for name in DOCUMENTS:
        for match in re.finditer(r"^<!-- ([^\n]*) -->\n((?:\|[^\n]*\n)+)", document(name), re.MULTILINE):
            head, _, *rows = match[2].splitlines()
            found.append(Table(name, match[1], _cells(head), [_cells(row) for row in rows]))
    return found


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def headings(path: Path) -> set[str]:
    """The anchors that a document's headings make, as code hosts do."""
    without_code = _BLOCK.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.*?) *$", without_code, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
