"""Check the prose of the project (`make prose`): ``PATH:LINE: phrase (rule: suggestion)`` for each finding.

Documents, templates and the strings of Python are read as passages. proselint's engine applies its own checks and the
rules of ``rules.toml`` to them. Tests are read for quotations of the product's prose (``quotes.py``). Exits with 1
where something was found. Paths as arguments limit the check.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from proselint.registry.checks import Check, engine, types

from tests.programs import LINKED, ROOT
from tests.prose import quotes

RULES = tomllib.loads(Path(__file__).with_name("rules.toml").read_text())
_NAME = re.compile(r"``[^`]*``|`[^`\n]*`")
_FENCED = re.compile(r"^ *(```|~~~).*?^ *\1", re.M | re.S)
_GENERATED = re.compile(r"<!-- mails: .*?<!-- end of mails -->|<!-- layers -->.*?<!-- end of layers -->", re.S)
_HEADING = re.compile(r"^#+ .*$", re.M)
_MARKUP = re.compile(r"<!--.*?-->|\]\([^)]*\)|https?://\S+|<[^>\n]+>|\[|(?<=\S)\*|\*(?=\S)", re.S)
_TEMPLATE = re.compile(
    r"<(script|style)\b.*?</\1>|{#.*?#}|{%.*?%}|</?(?:p|li|t[dhr]|div|h\d|dt|dd|section)\b[^>]*>", re.S
)
_FILLED = re.compile(r"{{.*?}}", re.S)
_TAG = re.compile(r"<[^>]+>")
_COMMENT = re.compile(r"^.*?(?:(?<!\S)#+ (?! )|(?:summary|remedy): |$)")  # what comes before it in a line
_ITEM = re.compile(r"^ *(?:\S+ {2,}|[-*>|]|\d+\.|#+|\w+:|:\w+:|<li>) ?|\|", re.M)
_SENTENCE = re.compile(r"[A-Za-z',-]+\s+[a-z',-]+\s+[a-z',-]+")
_CODE = re.compile(r"\s*(?:CREATE|SELECT|INSERT|UPDATE|DELETE|WITH|FROM|WHERE|JOIN) |.*(?:\\b|\\s|\(\?:)")
_REPEATED = frozenset(
    ["a", "an", "and", "as", "by", "for", "in", "is", "it", "of", "on", "or", "that", "the", "to", "with"]
)  # others are names, or code
_END = re.compile(r"[.!?;:](?=[\s\"')]|$)|\n\s*\n")


class Finding(NamedTuple):
    """A phrase that breaks a rule, with the place and the suggestion."""

    path: str
    line: int
    phrase: str
    rule: str
    say: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: “{' '.join(self.phrase.split())}” ({self.rule}: {self.say})"


def _checks() -> list[Check]:
    ours = [
        Check(types.ExistenceSimple(f"(?:{pattern})"), engine.Fancy(), rule["name"], rule["say"])
        for rule in RULES["rule"]
        for pattern in rule["patterns"]
    ]
    theirs = [
        c for name in RULES["proselint"]["checks"] for c in import_module(f"proselint.checks.{name}").__register__
    ]
    return [*ours, *theirs]


_CHECKS = _checks()


def findings(text: str, path: str = "", line: int = 1) -> Iterator[Finding]:
    """The findings in a passage.

    Args:
        text: Plain text; an empty line ends a sentence.
        path: The file it is from.
        line: The line of the file at which it begins.
    """
    padded = f"\n\n{text}\n\n"
    for check in _CHECKS:
        for hit in check.check_with_flags(padded):
            start, end = hit.span
            if check.path.startswith("lexical_illusions") and not set(padded[start:end].split()[:1]) & _REPEATED:
                continue
            yield Finding(path, line + padded[:start].count("\n") - 2, padded[start:end], hit.check_path, hit.message)
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        words = text[start:end].split()
        if len(words) > RULES["sentences"]["most_words"]:
            begin = len(text[:end]) - len(text[start:end].lstrip())
            phrase = " ".join(words[:6]) + " …"
            yield Finding(
                path, line + text[:begin].count("\n"), phrase, "long", f"{len(words)} words: split the sentence"
            )
        start = end


def passages(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """The passages of a file that people read, each with its first line (from 1)."""
    kind = Path(path.stem).suffix if path.suffix == ".tmpl" else path.suffix
    if kind == ".py":
        yield from _of_python(ast.parse(text.replace("$", "")))
    elif kind == ".html":
        yield 1, _blanked(_TAG, _blanked(_FILLED, _blanked(_TEMPLATE, text, ". "), "x"), "")
    elif kind != ".md":
        yield 1, _prose("\n".join(_COMMENT.sub("", line) for line in text.splitlines()))
    else:
        text = _blanked(_GENERATED, _blanked(_FENCED, text, ""), "")
        text = _HEADING.sub(lambda match: f"{match[0]}.", text)
        yield 1, _prose(_blanked(_MARKUP, _blanked(_NAME, text, "x"), ""))


def _prose(text: str) -> str:
    """The text without code; items of lists, rows and fields end a sentence (their line gets an empty beginning)."""
    return _ITEM.sub(lambda match: ". " if match.start() else "", _blanked(_NAME, text, "x"))


def _of_python(tree: ast.Module) -> Iterator[tuple[int, str]]:
    inner: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in inner:
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
            inner.add(id(node.func.value))  # a list of words
            continue
        if isinstance(node, ast.JoinedStr):
            inner.update(id(part) for part in ast.walk(node))
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if _SENTENCE.search(text) and not _CODE.match(text):
            yield node.lineno, _prose(_blanked(_TAG, text, "; ") if text.startswith("<!doctype") else text)


def _blanked(pattern: re.Pattern[str], text: str, word: str) -> str:
    """The text with each match replaced by ``word``; its line breaks are kept."""
    return pattern.sub(lambda match: word + "\n" * match[0].count("\n"), text)


def files() -> Iterator[Path]:
    """The files of the scope, without the excluded ones."""
    scope = RULES["scope"]
    found = [
        path for kind in ("markdown", "templates", "comments") for pattern in scope[kind] for path in ROOT.glob(pattern)
    ]
    found += [path for folder in scope["python"] for path in (ROOT / folder).rglob("*.py")]
    excluded = [path for pattern in scope["exclude"] for path in ROOT.glob(pattern)]
    excluded += [ROOT / "proctor" / name for name in LINKED]  # they are looked at in their own place
    return (path for path in sorted(found) if not any(path.is_relative_to(other) for other in excluded))


def check(path: Path) -> Iterator[Finding]:
    """The findings in a file, by line."""
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text()
    if name in RULES["scope"]["newest_section_only"]:
        text = "\n## ".join(text.split("\n## ")[:2])
    found = {finding for line, passage in passages(path, text) for finding in findings(passage, name, line)}
    return iter(sorted(found))


def quotations(limits: list[Path]) -> Iterator[Finding]:
    """The quotations of the product's prose in the tests under these paths."""
    rooms, of_people = tuple(RULES["scope"]["python"]), RULES["quotes"]["parameters_of_people"]
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if any(path.is_relative_to(limit) for limit in limits):
            name = path.relative_to(ROOT).as_posix()
            for line, text in quotes.quotes(path, rooms, in_parameters=name not in of_people):
                yield Finding(name, line, text, "quoted in a test", quotes.SAY)


def main(arguments: list[str]) -> int:
    """Print the findings in the files of the scope, or in those of them that are under the given paths."""
    limits = [Path(argument).resolve() for argument in arguments] or [ROOT]
    chosen = [path for path in files() if any(path.is_relative_to(limit) for limit in limits)]
    found = [finding for path in chosen for finding in check(path)]
    found += quotations(limits)
    print(*found, f"{len(found)} findings in {len(chosen)} files", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
