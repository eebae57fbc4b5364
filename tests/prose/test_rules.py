"""The prose linter finds what it is for, and leaves plain sentences alone."""

import tomllib
from pathlib import Path

import pytest

from tests.prose.__main__ import check, files, findings, passages
from tests.prose.quotes import quotes
from tests.work import only_nightly

_LINES = tomllib.loads(Path(__file__).with_name("lines.toml").read_text())


@pytest.mark.parametrize("line", [line for part in _LINES.values() for line in part["bad"]])
def test_an_odd_sentence_is_found(line: str) -> None:
    assert list(findings(line))


@pytest.mark.parametrize("line", [line for part in _LINES.values() for line in part["good"]])
def test_a_plain_sentence_is_left_alone(line: str) -> None:
    assert [str(finding) for finding in findings(line)] == []


_MODULE = '''"""A module.

It is
read anew."""

QUERY = "anew"

def fail(name: str) -> None:
    raise ValueError(f"{name} has been read anew: ``anew`` is code")
'''


def test_strings_of_a_module_are_read_with_their_lines_and_without_code() -> None:
    found = [finding for line, text in passages(Path("m.py"), _MODULE) for finding in findings(text, "m.py", line)]
    assert [(finding.line, finding.phrase, finding.say) for finding in found] == [
        (4, "anew", "again"),
        (9, "anew", "again"),
    ]


def test_markdown_and_templates_are_read_without_code_and_tags() -> None:
    page = "# Title\n\nRead `anew`\n\n```\nanew\n```\n\n- read anew\n"
    assert [f.line for line, text in passages(Path("p.md"), page) for f in findings(text, "p", line)] == [9]
    html = "<p title='anew'>{{ anew }}\nread <b>anew</b></p>"
    assert [f.line for line, text in passages(Path("p.html"), html) for f in findings(text, "p", line)] == [2]


def test_comments_and_templates_of_files_are_read_without_code() -> None:
    rules = '# Alerts, read anew\nexpr: anew\n    summary: "read anew"\n#     anew is a command\n'
    assert [f.line for line, text in passages(Path("r.yml"), rules) for f in findings(text, "r", line)] == [1, 3]
    code = '"""$title is read anew."""\n\nclass $name:\n    pass\n'
    assert [f.line for line, text in passages(Path("a.py.tmpl"), code) for f in findings(text, "a", line)] == [1]


_TEST = """
from tests.sentences import says
@pytest.mark.parametrize("sentence", ["it has to be one of the protocol's names for it"])
def test_it(sentence):
    with pytest.raises(ValueError, match=r"The scenario .* is a pipe, device or socket: a scenario has plain files"):
        fail()
    assert error == f"{name} is a link: a scenario has plain files only", "a scenario has plain files only"
    assert mail == "Shall we have lunch on Thursday at noon?"
    assert error == says("evaluators.py")
"""


def test_a_quotation_of_the_products_prose_in_a_test_is_found(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(_TEST)
    assert sorted(line for line, _ in quotes(file, ("a2a_gateway", "activities"))) == [3, 5, 7]


@only_nightly  # `make prose`, in `make check`, reads the same
def test_the_tree_has_no_findings() -> None:
    assert [str(finding) for path in files() for finding in check(path)] == []
