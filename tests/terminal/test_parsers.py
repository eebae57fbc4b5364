"""What tests say is read by the parser that the task names; what says nothing is no verdict."""

import pytest

from proctor.terminal.parsers import PARSERS, UnparsableError, read_rewards, reward_of
from tests.sentences import says

HEADING = "=========================== short test summary info ============================"


def test_pytests_summary() -> None:
    text = f"""
============================= test session starts ==============================
FAILED is also a word that tests print
{HEADING}
PASSED ../tests/test_outputs.py::test_one
PASSED ../tests/test_outputs.py::test_many[a b-1]
SKIPPED [1] ../tests/test_outputs.py:3: needs a network
XFAIL ../tests/test_outputs.py::test_known - hopeless
FAILED ../tests/test_outputs.py::TestAll::test_two - assert 1 == 2
ERROR ../tests/test_outputs.py::test_three - fixture not found
XPASS ../tests/test_outputs.py::test_four
==================== 3 failed, 2 passed, 1 skipped in 0.05s ====================
"""
    assert PARSERS["pytest"](text) == {
        "test_one": "passed",
        "test_many[a b-1]": "passed",
        "[1] ../tests/test_outputs.py:3: needs a network": "passed",
        "test_known": "passed",
        "TestAll::test_two": "failed",
        "test_three": "failed",
        "test_four": "failed",
    }


def test_a_terminals_colours_and_line_ends_make_no_difference() -> None:
    text = f"\x1b[36m\x1b[1m{HEADING}\x1b[0m\r\n\x1b[32mPASSED\x1b[0m tests/test_a.py::\x1b[1mtest_one\x1b[0m\r\n"
    assert PARSERS["pytest"](text) == {"test_one": "passed"}


def test_a_test_that_failed_once_stays_failed() -> None:
    text = f"{HEADING}\nFAILED a.py::test_one - no\n{HEADING}\nPASSED a.py::test_one\n"
    assert PARSERS["pytest"](text) == {"test_one": "failed"}


def test_a_summary_that_the_agents_program_prints_does_not_hide_the_true_one() -> None:
    text = f"{HEADING}\nPASSED a.py::test_one\n\n{HEADING}\nFAILED a.py::test_one - no\n"
    assert PARSERS["pytest"](text) == {"test_one": "failed"}


@pytest.mark.parametrize("text", ["", "bash: pytest: command not found", f"{HEADING}\n=== no tests ran in 0.01s ==="])
def test_no_test_is_no_verdict(text: str) -> None:
    with pytest.raises(UnparsableError, match="pytest -rA"):
        PARSERS["pytest"](text)


@pytest.mark.parametrize(
    ("parser", "what", "good"),
    [
        ("swebench", "SWEBench", "PASSED"),
        ("sweperf", "SWE-Perf", "PASSED"),
        ("mlebench", "MLEBench", "ALL TESTS PASSED"),
    ],
)
def test_verdicts_between_two_lines(parser: str, what: str, good: str) -> None:
    parse = PARSERS[parser]
    assert parse(f"x\n{what} results starts here\n{good}\n{what} results ends here\n") == {"tests": "passed"}
    assert parse(f"{what} results starts here\nFAILED\n{what} results ends here\n") == {"tests": "failed"}
    with pytest.raises(UnparsableError, check=says()):
        parse(f"{what} results starts here\n{good}\n")


def test_swe_lancer() -> None:
    assert PARSERS["swelancer"]("SWE Lancer Success") == {"swelancer_task": "passed"}
    assert PARSERS["swelancer"]("swe lancer success\nswe lancer failure") == {"swelancer_task": "failed"}
    with pytest.raises(UnparsableError):
        PARSERS["swelancer"]("killed")


@pytest.mark.parametrize(
    ("files", "rewards", "reward"),
    [
        ({"reward.txt": b"1\n"}, {"reward": 1.0}, 1.0),
        ({"reward.txt": b" 0.25"}, {"reward": 0.25}, 0.25),
        ({"reward.json": b'{"reward": 0.5, "speed": 0.1}'}, {"reward": 0.5, "speed": 0.1}, 0.5),
        ({"reward.json": b'{"a": 1, "b": 0}', "reward.txt": b"1"}, {"a": 1.0, "b": 0.0}, 0.5),
        ({"reward.json": b"1"}, {"reward": 1.0}, 1.0),
    ],
)
def test_reward_files(files: dict[str, bytes], rewards: dict[str, float], reward: float) -> None:
    assert read_rewards(files) == rewards
    assert reward_of(rewards) == reward


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"reward.txt": b""},
        {"reward.txt": b"good"},
        {"reward.txt": b"nan"},
        {"reward.json": b"{"},
        {"reward.json": b"{}"},
        {"reward.json": b'{"reward": true}'},
        {"reward.json": b'{"reward": 1e999}'},
        {"reward.json": b'{"reward": "1"}'},
        {"reward.txt": b"2"},
    ],
)
def test_what_is_no_reward(files: dict[str, bytes]) -> None:
    with pytest.raises(UnparsableError, check=says()):
        reward_of(read_rewards(files))
