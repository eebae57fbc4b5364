"""docs/troubleshooting.md quotes messages that the code has, and lists every type of failure."""

import ast
from functools import lru_cache

import pytest

from proctor.activities.attempts import failures
from tests.docs.blocks import tables
from tests.programs import ROOT

PAGE = "docs/troubleshooting.md"
ROOMS = (
    "a2a_gateway",
    "activities",
    "proctor",
    "purple_sdk/processes",
    "purple_sdk/settings",
    "workflows",
)


def first_cells(note: str) -> list[str]:
    """The first column of the page's tables after that comment, without backticks."""
    return [
        row[0].strip("`") for table in tables() if (table.document, table.note) == (PAGE, note) for row in table.rows
    ]


@lru_cache
def strings() -> str:
    """All strings of the code, one a line; a placeholder of an f-string is a null character."""
    found = []
    for room in ROOMS:
        for path in ROOT.joinpath(room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append(node.value)
                elif isinstance(node, ast.JoinedStr):
                    found.append("".join(str(p.value) if isinstance(p, ast.Constant) else "\0" for p in node.values))
    return "\n".join(found)


@pytest.mark.parametrize("message", first_cells("messages"))
def test_a_message_on_the_page_is_one_of_the_code(message: str) -> None:
    for part in message.split("…"):
        assert part.strip() in strings(), f"{PAGE}: no string of the code has {part!r}: quote the message as it is now"


def test_the_page_lists_every_type_of_failure() -> None:
    kinds = [
        value
        for name, value in vars(failures).items()
        if name.isupper() and isinstance(value, str) and value.replace("_", "").isalnum()
    ]
    assert first_cells("failure types") == kinds
