"""Count shapes of sentences and names, and compare their rates with limits (``rules.toml``, ``shapes``).

A shape is a habit of style, such as a line that begins with *What*. One is fine, hundreds are a private language. Each
limit is twice the rate that was measured in inspect_ai's source (22 August 2026, 766 files) by the same patterns.

``python -m tests.prose.shapes [PATH ...]`` lists each place, by file.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.programs import ROOT
from tests.prose.__main__ import RULES, files, passages

_WORD = re.compile(r"\b\w+\b")


class Place(NamedTuple):
    """A line that has a shape."""

    shape: str
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text.strip()} ({self.shape})"


class Count(NamedTuple):
    """How often a shape occurs in one kind of text.

    Attributes:
        places: The lines that have it.
        of: Words of the texts, or functions, handlers or loop variables.
        limit: The most places in 10,000 words, or in 1,000 names of a kind.
    """

    shape: str
    kind: str
    places: list[Place]
    of: int
    limit: float
    say: str

    @property
    def rate(self) -> float:
        """Places in 10,000 words, or in 1,000 names."""
        return len(self.places) * (1000 if self.kind == "names" else 10_000) / max(self.of, 1)

    @property
    def is_over(self) -> bool:
        """Whether the rate, rounded as the limit is written, is over the limit."""
        return round(self.rate, 1) > self.limit

    def __str__(self) -> str:
        many = f"{len(self.places)} of {self.of:,}"
        return f"{self.shape} in {self.kind}: {many}, rate {self.rate:.1f}, limit {self.limit}"


def remarks(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module, each with its first line."""
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def names(path: Path) -> Iterator[tuple[str, int, str]]:
    """The functions, named exception handlers and loop variables of a module: kind, line, name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "function", node.lineno, node.name
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield "handler", node.lineno, node.name
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            targets = (target for target in ast.walk(node.target) if isinstance(target, ast.Name))
            yield from (("loop", target.lineno, target.id) for target in targets)


def counts(paths: Iterable[Path]) -> list[Count]:
    """The counts of all shapes in code, in documents and in names."""
    paths = list(paths)
    modules = [path for path in paths if path.suffix == ".py"]
    texts = {
        "code": [(path, line, text) for path in modules for line, text in remarks(path)],
        "documents": [
            (path, line, text)
            for path in paths
            if path.suffix != ".py"
            for line, text in passages(path, path.read_text())
        ],
    }
    found = [_count_texts(shape, kind, of_kind) for shape in RULES["shape"] for kind, of_kind in texts.items()]
    all_names = [(path, *name) for path in modules for name in names(path)]
    return found + [_count_names(shape, all_names) for shape in RULES["name"]]


def _count_texts(shape: dict[str, str], kind: str, texts: list[tuple[Path, int, str]]) -> Count:
    pattern = re.compile(shape["pattern"], re.M)
    places = [
        _place(shape["name"], path, line + text[: match.start()].count("\n"), _line_around(text, match))
        for path, line, text in texts
        for match in pattern.finditer(text)
    ]
    words = sum(len(_WORD.findall(text)) for _, _, text in texts)
    return Count(shape["name"], kind, places, words, float(shape["limit"]), shape["say"])


def _count_names(shape: dict[str, str], all_names: list[tuple[Path, str, int, str]]) -> Count:
    pattern = re.compile(shape["pattern"])
    of_kind = [(path, line, name) for path, kind, line, name in all_names if kind == shape["kind"]]
    places = [_place(shape["name"], *entry) for entry in of_kind if pattern.search(entry[2])]
    return Count(shape["name"], "names", places, len(of_kind), float(shape["limit"]), shape["say"])


def _place(shape: str, path: Path, line: int, text: str) -> Place:
    return Place(shape, path.relative_to(ROOT).as_posix(), line, text)


def _line_around(text: str, match: re.Match[str]) -> str:
    begin = text.rfind("\n", 0, match.end()) + 1
    return text[begin:].partition("\n")[0]


def main(arguments: list[str]) -> int:
    """Print the counts and, under the given paths, each place; returns 1 if a rate is over its limit."""
    found = counts(files())
    limits = [Path(argument).resolve() for argument in arguments]
    for count in found:
        if count.is_over or limits:
            print(*(place for place in count.places if _is_under(place, limits)), sep="\n")
    for count in found:
        print(f"{count}{f' : {count.say}' if count.is_over else ''}")
    return 1 if any(count.is_over for count in found) else 0


def _is_under(place: Place, folders: list[Path]) -> bool:
    return not folders or any((ROOT / place.path).is_relative_to(folder) for folder in folders)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
