r"""Paraphrases read like a list, and hold patterns to what people say."""

from pathlib import Path

import pytest

from proctor.activities.scenario_code.paraphrases import (
    AUDIT,
    Paraphrase,
    ParaphrasesError,
    audit,
    hold,
    read_paraphrases,
)
from proctor.language.facts import Answer
from proctor.language.patterns import has_match
from tests.sentences import says


def _closed(text: str) -> Answer:
    return True if has_match("closed", text) else None if has_match("stable", text) else False


def _read(folder: Path, text: str) -> list[Paraphrase]:
    (folder / "paraphrases").mkdir(exist_ok=True)
    (folder / "paraphrases" / "all.txt").write_text(text, encoding="utf-8")
    return read_paraphrases(folder)


def test_a_file_is_a_list(tmp_path: Path) -> None:
    lines = _read(tmp_path, "# what it is about\n\n[closed]\n+ It is closed.\n-  Is it?\n+? stable\n-! not\\nclosed\n")
    assert [(line.fact, line.is_right, line.mark, line.text) for line in lines] == [
        ("closed", True, "", "It is closed."),
        ("closed", False, "", "Is it?"),
        ("closed", True, "?", "stable"),
        ("closed", False, "!", "not\nclosed"),
    ]
    assert [line.expected for line in lines] == [True, False, None, True]


def test_facts_that_are_said_alike_share_a_list(tmp_path: Path) -> None:
    assert [line.fact for line in _read(tmp_path, "[thanks_ann, thanks_ben]\n+ Thanks!")] == [
        "thanks_ann",
        "thanks_ben",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[closed]\nIt is closed.",
        "[closed]\n+closed",
        "+ closed",
    ],
)
def test_a_line_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(ParaphrasesError, check=says()):
        _read(tmp_path, text)


def test_patterns_are_held_to_every_line(tmp_path: Path) -> None:
    right, wrong = "+ It is closed.\n" * 15, "- It is open.\n" * 10
    marked = "+? stable\n-! not closed\n"
    held = hold(_read(tmp_path, f"[closed]\n{right}{wrong}{marked}"), {"closed": _closed})
    assert (held.facts, held.lines, held.doubtful, held.misread, held.faults) == (1, 27, 1, 1, [])
    assert held.uncertain_share == pytest.approx(2 / 27)


@pytest.mark.parametrize(
    "line",
    [
        "+ over",
        "+ stable",
        "- not closed",
        "+? closed",
        "-? not closed",
        "+! closed",
        "[nothing]\n+ closed",
    ],
)
def test_what_isnt_as_it_is_marked_is_told(tmp_path: Path, line: str) -> None:
    right, wrong = "+ It is closed.\n" * 15, "- It is open.\n" * 10
    held = hold(_read(tmp_path, f"[closed]\n{right}{wrong}{line}"), {"closed": _closed})
    assert len(held.faults) == 1
    assert says().within(held.faults[0])


def test_a_fact_needs_enough_paraphrases(tmp_path: Path) -> None:
    held = hold(_read(tmp_path, "[closed]\n+ closed\n- open"), {"closed": _closed})
    assert held.faults == [says("15", "10")]


def test_a_fact_for_a_model_is_not_held(tmp_path: Path) -> None:
    right, wrong = "+ It is closed.\n" * 15, "- It is open.\n" * 10
    held = hold(_read(tmp_path, f"[closed]\n{right}{wrong}[tone]\n+ kind\n"), {"closed": _closed}, {"tone"})
    assert (held.facts, held.lines, held.faults) == (1, 25, [])


def test_the_audits_lines_are_counted_and_kept_apart(tmp_path: Path) -> None:
    for folder, text in (
        ("authors", "[closed]\n+ closed\n"),
        ("audit", "[closed]\n+ closed\n+ over\n- not closed\n+ stable\n"),
    ):
        (tmp_path / "paraphrases" / folder).mkdir(parents=True)
        (tmp_path / "paraphrases" / folder / "all.txt").write_text(text, encoding="utf-8")
    assert [line.text for line in read_paraphrases(tmp_path)] == ["closed"]
    (counts,) = audit(read_paraphrases(tmp_path, AUDIT), {"closed": _closed})
    assert (counts.right, counts.wrong, counts.missed, counts.invented, counts.doubtful) == (3, 1, 1, 1, 1)
