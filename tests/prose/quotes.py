"""Asserts of tests that quote the product's prose: a new wording would break them all, instead of ``sentences.txt``.

A string of five words or more is a quotation if four of them, one after the other, are in a string of the product; in
parameters of a test, which are data as well, it takes five. Texts of protocols and of the tests' own are not, so they
need no list; those of people that the product happens to have, too, are in ``rules.toml``.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORDS = 5
"""Words that a string has at least."""
RUN = 4
"""Words in a row that it has from the product."""
SAY = "name the error's class and facts, and call says() of tests/sentences.py: the words are kept in sentences.txt"
_WORD = re.compile(r"[a-z]+(?:['’-][a-z]+)*")
_END = re.compile(r"[^A-Za-z'’ ,:;\n-]+")
_ESCAPED = re.compile(r"\\(\W)")
_DAYS = re.compile(r"scenarios/(?!kit/(?!making/duties/))|purple_sdk/examples/")  # what people say there


def quotes(path: Path, rooms: tuple[str, ...], *, in_parameters: bool = True) -> Iterator[tuple[int, str]]:
    """The lines of a test file that quote prose in an assert, in ``match=`` or in parameters, with the string."""
    for node, length in _checked(ast.parse(path.read_text()), in_parameters):
        for inner, text in _strings(node):
            words = _ESCAPED.sub(r"\1", text)
            if len(_WORD.findall(words.lower())) >= WORDS and not _spoken(rooms, length).isdisjoint(
                _runs(words, length)
            ):
                yield inner.lineno, text


def _checked(tree: ast.Module, in_parameters: bool) -> Iterator[tuple[ast.AST, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield node.test, RUN
        elif isinstance(node, ast.keyword) and node.arg == "match":
            yield node.value, RUN
        elif in_parameters and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ((decorator, WORDS) for decorator in node.decorator_list)


@cache
def _spoken(rooms: tuple[str, ...], length: int) -> frozenset[tuple[str, ...]]:
    """Each run of that many words that a string of the product has."""
    return frozenset(words for text in _product(rooms) for words in _runs(text, length))


@cache
def _product(rooms: tuple[str, ...]) -> list[str]:
    files = (path for room in rooms for path in (ROOT / room).rglob("*.py"))
    return [
        text
        for path in files
        if not _DAYS.match(path.relative_to(ROOT).as_posix())
        for _, text in _strings(ast.parse(path.read_text()))
    ]


def _strings(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """The strings in a tree without docstrings; what an f-string fills in ends a run of words."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, documented) and isinstance(node.body[0], ast.Expr):
            skipped.add(id(node.body[0].value))
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in ast.walk(node))
            yield node, "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value


def _runs(text: str, length: int) -> Iterator[tuple[str, ...]]:
    for part in _END.split(text):
        words = _WORD.findall(part.lower())
        for start in range(len(words) - length + 1):
            yield tuple(words[start : start + length])
