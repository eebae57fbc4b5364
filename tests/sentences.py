"""The sentences that tests expect, kept in one file a room: ``tests/ROOM/sentences.txt``.

A test names the error's class and the facts of a sentence, and the file has the words::

    with pytest.raises(InvalidParamsError, check=says("pageToken")):  # the whole text of the error
    assert status == {"code": 404, "detail": says("nonesuch")}  # anywhere in a comparison
    assert says("--from-turn 1").within(output)  # one line or element of a longer text

The n-th ``says`` of a test is the n-th sentence under its name; parameters that share all sentences share the name.
After a change of words, run the tests that fail with ``--write-sentences`` (with ``-n``, too) and look at the
difference. A fact that is no longer in the text fails there, too; other values that were lost are printed.

Values that differ from run to run are given a name: ``says(url=server.url)`` has ``{url}`` in the file. Temporary
folders, free ports and ids have ``{tmp}``, ``{port}`` and ``{id}`` without being named. In a loop, call ``says`` once
before it. To wait for a text, look for a fact of it.
"""

import html
import json
import os
import re
import tempfile
from collections.abc import Generator, Iterable
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

TESTS = Path(__file__).parent
ROOT = TESTS.parent
BOOK = "sentences.txt"
_OPTION = "--write-sentences"
_HEAD = f"# Written by `python -m pytest {_OPTION} TESTS` (tests/sentences.py).\n"
_INLINE = re.compile(r"</?(?:a|abbr|b|bdi|code|em|i|small|span|strong|time)\b[^<>]*>")
_STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_TAG = re.compile(r"<[^<>]+>")
_VARIABLE = [
    (
        # What was assessed may follow the id of an assessment.
        re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b(?:-\w(?:[\w.-]*\w)?)?|(?<=-)[0-9a-f]{12}\b"),
        "{id}",
    ),
    (re.compile(r"(?<![0-9a-z])[0-9a-f]{32,64}(?![0-9a-z])"), "{id}"),
    (re.compile(re.escape(str(ROOT)) + r"(?=/|\b)"), "{root}"),
    (
        re.compile(rf"{re.escape(tempfile.gettempdir())}/(?:pytest-of-\w+(?:/[\w.-]*\d(?![\w.-]))*|tmp\w{{6,}})"),
        "{tmp}",
    ),
    (re.compile(r"(?<![\w/])/test_\w*\d\b"), "{tmp}"),  # an archive in memory or in a bucket
    (re.compile(r"(?<=\.py:)\d+"), "{line}"),
    (re.compile(r"\bpython[\d.]* \(pid \d+\)"), "{process}"),
    (re.compile(r"(?<=known scenarios: )[\w, -]+(?:; families: [\w, -]+)?"), "{scenarios}"),
    (re.compile(r"(?<=errors\.pydantic\.dev/)[\d.]+"), "{version}"),
    (re.compile(r"(?<=:)[1-6]\d{4}\b"), "{port}"),
    (re.compile(r"\btest-\d+\b"), "{model}"),  # tests/openai_endpoint.py counts them
    (re.compile(r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\b"), "{time}"),
]

_VALUE = re.compile(
    r"--[\w-]+|\{\w+\}|[\w./:@+-]*[\d_@](?:[\w./:@+-]*[\w%])?|\w+(?:[./:]\w+)+"
    r"|(?<!\w)'[^']+'|\"[^\"]+\"|`[^`]+`"
)
"""What is no prose in a sentence: a new wording has it, too, or it is named in the end."""


class _Run:
    """The test that runs in this process: the sentences that it asked for, and the texts they were compared with."""

    writing = False
    test = ""
    asked = 0
    heard: dict[int, str]


_run = _Run()


def says(*facts: str, **variable: object) -> "Says":
    """The next sentence of this test.

    Args:
        facts: Parts of the text that are values or names, not prose.
        variable: Parts that are other in each run, by the names that replace them; a part may be a compiled pattern.
    """
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" (")[0]
    if test != _run.test:
        _run.test, _run.asked, _run.heard = test, 0, {}
    _run.asked += 1
    return Says(_run.asked - 1, _stored(test), facts, variable)


class Says:
    """Compares itself with texts, and remembers them instead while sentences are written."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, place: int, stored: list[str], facts: tuple[str, ...], variable: dict[str, object]) -> None:
        self._place, self._all, self._facts = place, stored, facts
        self._stored = stored[place] if place < len(stored) else None
        self._variable = sorted(variable.items(), key=lambda item: -len(_source(item[1])))

    def __repr__(self) -> str:
        return repr(self._stored)

    def __eq__(self, text: object) -> bool:
        if not isinstance(text, str):
            return False
        found = self._named(text).strip()
        if not self._has_facts(found):
            return False
        _run.heard[self._place] = found
        return _run.writing or found == self._stored

    def __call__(self, error: BaseException) -> bool:
        """Whether it is the error's text, for ``pytest.raises(check=...)``."""
        assert _text(error) == self
        return True

    def within(self, text: str | Iterable[str]) -> bool:
        """Whether a line, or an element of HTML, has the sentence. It fails itself, so as to say what is wrong."""
        lines = _lines(self._named(text if isinstance(text, str) else "\n".join(text)))
        whole = "\n".join(lines)
        _run.heard[self._place] = self._chosen(lines) if _run.writing else whole
        if _run.writing:
            return True
        if self._stored is None or self._stored not in whole or not self._has_facts(whole):
            raise AssertionError("\n".join(self.explanation(whole, "doesn't have")))
        return True

    def explanation(self, text: str, how: str = "isn't") -> list[str]:
        """Why it isn't this text, and what to do; the longest comes last, since pytest cuts it off."""
        named = self._named(text)
        missing = [fact for fact in self._facts if self._named(fact) not in named]
        return [
            f"this {how} sentence {self._place + 1} of {_run.test} in {_book(_run.test).relative_to(ROOT)}",
            *([f"The text lacks {', '.join(map(repr, missing))}."] if missing else []),
            f"If the text is right, write it: .venv/bin/python -m pytest {_OPTION} {_run.test.partition('::')[0]}",
            f"stored: {'nothing' if self._stored is None else repr(self._stored)}",
            f"text:   {named!r}",
        ]

    def _named(self, text: str) -> str:
        text = text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair can't be written
        text = _STYLE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
        for name, part in self._variable:
            text = re.sub(_source(part), lambda _, name=name: f"{{{name}}}", text)  # type: ignore[misc]
        for pattern, name in _VARIABLE:
            text = pattern.sub(name, text)
        return text

    def _has_facts(self, text: str) -> bool:
        return all(self._named(fact) in text for fact in self._facts)

    def _chosen(self, lines: list[str]) -> str:
        """The line that is meant: it has all facts; of several, the one most like a sentence of before."""
        candidates = [line for line in dict.fromkeys(lines) if self._has_facts(line)]
        named = [line for line in candidates if all(f"{{{name}}}" in line for name, _ in self._variable)]
        candidates = named or candidates
        for stored in [self._stored, *self._all]:
            same = [line for line in candidates if stored is not None and stored in line]
            likest = max(((_likeness(line, stored or ""), line) for line in candidates), default=(0.0, ""))
            if same or len(candidates) == 1 or likest[0] > 0.4:
                return (same or [likest[1]])[0]
        raise AssertionError(
            f"{len(candidates)} lines have {self._facts}, and none is like {self._stored!r}: give facts that one line "
            f"has, or write some of its words into {_book(_run.test).relative_to(ROOT)}.\n" + "\n".join(lines)
        )


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.split(), other.split()).ratio()


def _text(error: BaseException) -> str:
    """The error's own words: those of pydantic have its version and the whole input beside them."""
    if not isinstance(error, ValidationError):
        return str(error)
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "\n".join(": ".join([*filter(None, [".".join(map(str, flaw["loc"]))]), flaw["msg"]]) for flaw in found)


def _source(part: object) -> str:
    if isinstance(part, re.Pattern):
        return str(part.pattern)
    return rf"(?<!\d){re.escape(str(part))}(?!\d)" if isinstance(part, int | float) else re.escape(str(part))


def _lines(text: str) -> list[str]:
    """The lines of a text, the elements of a page, or the strings in JSON."""
    if "</" in text:
        text = html.unescape(_TAG.sub("\n", _INLINE.sub("", text)))
    parts = [part for line in text.split("\n") for part in _strings(line)]
    return [line.strip() for part in parts for line in part.split("\n") if line.strip()]


def _strings(line: str) -> list[str]:
    found: list[str] = []
    try:
        value = json.loads(line) if line.startswith(("{", "[")) else line
    except ValueError:
        value = line

    def collect(value: Any) -> None:
        if isinstance(value, str):
            found.append(value)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            collect(inner)

    collect(value)
    return found


def _book(test: str) -> Path:
    """The file with the sentences of a test, which is named as by pytest."""
    room = test.partition("::")[0].split("/")[1:-1][:1]
    return TESTS.joinpath(*room, BOOK)


@cache
def _read(book: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    test, blank = "", 0
    for line in book.read_text("utf-8").split("\n") if book.exists() else []:
        if line.startswith("  "):
            found[test][-1] += "\n" * (blank + 1) + line[2:]
        elif line.startswith("- "):
            found[test].append(line[2:])
        elif line and not line.startswith("# "):
            test = f"{book.parent.relative_to(ROOT).as_posix()}/{line}"
            found[test] = []
        blank = 0 if line else blank + 1
    return found


def _write(book: Path, sentences: dict[str, list[str]]) -> None:
    """Tests in the order of their names, and an empty line between them: changes of two people rarely meet."""
    start = len(book.parent.relative_to(ROOT).as_posix()) + 1
    parts = [
        "\n".join([test[start:], *("- " + re.sub(r"\n(?!\n)", "\n  ", text) for text in texts)]) + "\n"
        for test, texts in sorted(sentences.items())
        if texts
    ]
    book.write_text("\n".join([_HEAD, *parts]), "utf-8")
    _read.cache_clear()


def _share(sentences: dict[str, list[str]], function: str) -> None:
    """Keep once what all parameters of a test have in common."""
    own = {test: texts for test, texts in sentences.items() if test.startswith(function + "[")}
    if len(own) > 1 and all(texts == next(iter(own.values())) for texts in own.values()):
        sentences[function] = next(iter(own.values()))
    shared = sentences.get(function)
    if shared is not None and shared not in own.values():
        del sentences[function]
    for test, texts in own.items():
        if texts == shared:
            del sentences[test]


def _stored(test: str) -> list[str]:
    """The sentences of a test; those under its name without parameters are all its parameters'."""
    sentences = _read(_book(test))
    return sentences.get(test) or sentences.get(test.partition("[")[0], [])


# ── hooks ──


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that writes."""
    parser.addoption(_OPTION, action="store_true", help="write the sentences that the tests of this run meet")


def pytest_configure(config: pytest.Config) -> None:
    """Workers of xdist get the option, too."""
    _run.writing = config.getoption(_OPTION)
    config.pluginmanager.register(_Keeper(config), "sentences of this run")


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Say where a sentence is stored."""
    if op == "==" and isinstance(right, Says):
        return right.explanation(left) if isinstance(left, str) else None
    return left.explanation(right) if op == "==" and isinstance(left, Says) and isinstance(right, str) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Send what was heard to the process that writes; a test that asked for fewer sentences than it has fails."""
    report = yield
    if call.when == "call" and report.passed:
        asked = _run.asked if _run.test == item.nodeid else 0
        heard = [_run.heard.get(place) for place in range(asked)]
        if None in heard:
            report.outcome = "failed"
            report.longrepr = f"Sentence {heard.index(None) + 1} of this test was compared with nothing."
        elif _run.writing:
            report.sentences = heard
        elif len(stored := _stored(item.nodeid)) > asked:
            report.outcome = "failed"
            report.longrepr = f"Unused sentences: {stored[asked:]}. Remove them with {_OPTION}."
    return report


class _Keeper:
    """In the process that gets all reports: writes, and finds sentences of tests that no longer exist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seen: set[str] = set()
        self._heard: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seen.add(report.nodeid)
        if hasattr(report, "sentences"):
            self._heard[report.nodeid] = report.sentences

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if "PYTEST_XDIST_WORKER" in os.environ or exitstatus > pytest.ExitCode.TESTS_FAILED:
            return
        unused = self._unused(session)
        if _run.writing:
            self._write(unused)
        elif unused:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            print(f"\nSentences of tests that don't exist: {', '.join(unused)}. Remove them with {_OPTION}.")

    def _unused(self, session: pytest.Session) -> list[str]:
        """Where whole files were run to the end: the stored tests of theirs that aren't there."""
        option = self._config.option
        if session.shouldstop or session.shouldfail or option.keyword or option.markexpr or option.collectonly:
            return []
        folders = [Path(self._config.invocation_params.dir, argument) for argument in self._config.args]
        bare = {test.partition("[")[0] for test in self._seen}
        return [
            test
            for book in TESTS.rglob(BOOK)
            for test in _read(book)
            if any((ROOT / test.partition("::")[0]).is_relative_to(folder) for folder in folders)
            and test not in self._seen | bare
        ]

    def _write(self, unused: list[str]) -> None:
        kept = {book: dict(_read(book)) for book in {_book(test) for test in [*self._heard, *unused]}}
        for test in unused:
            del kept[_book(test)][test]
        for test, texts in self._heard.items():
            for old, new in zip(_stored(test), texts, strict=False):
                if lost := [value for value in dict.fromkeys(_VALUE.findall(old)) if value not in new]:
                    print(f"\n{test} said {', '.join(lost)} before, and now: {new}")
            kept[_book(test)][test] = texts
        for test in {test.partition("[")[0] for test in self._heard if "[" in test}:
            _share(kept[_book(test)], test)
        for book, sentences in kept.items():
            if any(sentences.values()):
                _write(book, sentences)
            else:
                book.unlink(missing_ok=True)
