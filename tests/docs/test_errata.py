"""Each change of truth in the changelog has a row in docs/errata.md, and each row is in the changelog."""

import re

from tests.docs.blocks import document


def test_changes_of_truth_have_errata() -> None:
    rows = re.findall(r"^\| (T\d+) \| \d{4}-\d\d-\d\d \| .+ \| .+ \| .+ \|$", document("docs/errata.md"), re.MULTILINE)
    marks = [
        mark
        for marked in re.findall(r"\(truth ([^)]*)\)", document("CHANGELOG.md"))
        for mark in re.findall(r"T\d+", marked)
    ]
    assert sorted(rows) == sorted(marks)
    assert len(set(rows)) == len(rows)
