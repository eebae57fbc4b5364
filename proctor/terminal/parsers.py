"""Parsers of the tests' output, by name (add another one in ``PARSERS``), and of reward files."""

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

TestStatus = Literal["passed", "failed"]


class UnparsableError(ValueError):
    """The output of the tests can't be read; the message is a sentence."""


_HEADING = re.compile(r"^=+ *short test summary info *=+ *$", re.MULTILINE | re.IGNORECASE)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LINE = re.compile(r"(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS):? +(?P<test>.*\S)")
_GOOD = {"PASSED", "XFAIL", "SKIPPED"}


def _pytest_summary(text: str) -> Mapping[str, TestStatus]:
    """Read each test and its result below the heading of pytest's first short test summary (``pytest -rA``).

    A test that failed once stays failed, even if a later line says otherwise. A summary without tests isn't a verdict,
    since it would count as a success. Raises UnparsableError (there is no summary, or no test in it).
    """
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    heading = _HEADING.search(text)
    if heading is None:
        raise UnparsableError(
            "The tests printed no short test summary of pytest: run it as pytest -rA; the log says why it didn't end"
        )
    results: dict[str, TestStatus] = {}
    for line in text[heading.end() :].splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        test = match["test"]
        if match[1] in ("FAILED", "ERROR", "XFAIL", "XPASS"):
            test = test.partition(" - ")[0]
        name = test.partition("::")[2] or test
        if match[1] not in _GOOD:
            results[name] = "failed"
        else:
            results.setdefault(name, "passed")
    if not results:
        raise UnparsableError("pytest's short test summary names no test: run it as pytest -rA, with a test to run")
    return results


def _swelancer(text: str) -> Mapping[str, TestStatus]:
    """Read ``SWE Lancer success`` or ``SWE Lancer failure``; if both are printed, the test failed.

    Raises UnparsableError (neither is printed).
    """
    lowered = text.lower()
    if "swe lancer failure" in lowered:
        return {"swelancer_task": "failed"}
    if "swe lancer success" in lowered or ("user_tool" in lowered and "completed" in lowered):
        return {"swelancer_task": "passed"}
    raise UnparsableError("The tests printed neither SWE Lancer success nor SWE Lancer failure: see in the log why")


def _between(text: str, what: str, good: str) -> Mapping[str, TestStatus]:
    """Whether ``good`` is printed between two lines, as in tasks made from other benchmarks; the last pair counts.

    Raises UnparsableError (the lines are missing).
    """
    begin, end = f"{what} starts here", f"{what} ends here"
    _, begun, block = text.rpartition(begin)
    block, ended, _ = block.partition(end)
    if not begun or not ended:
        raise UnparsableError(f'The tests printed no verdict between "{begin}" and "{end}": see in the log why')
    return {"tests": "passed" if block.strip() == good else "failed"}


Parser = Callable[[str], Mapping[str, TestStatus]]
"""Reads the tests' output; raises ``UnparsableError`` with a sentence if the output is malformed."""

PARSERS: dict[str, Parser] = {
    "pytest": _pytest_summary,
    "swebench": partial(_between, what="SWEBench results", good="PASSED"),
    "sweperf": partial(_between, what="SWE-Perf results", good="PASSED"),
    "mlebench": partial(_between, what="MLEBench results", good="ALL TESTS PASSED"),
    "swelancer": _swelancer,
}
"""Parsers by their ``parser_name`` in tasks of the first format."""

# Reward files, written by a verifier of the second format

REWARD = "reward"
"""The parser's name in tasks of the second format, whose verdict comes from a reward file."""

REWARD_JSON, REWARD_TEXT = "reward.json", "reward.txt"


def read_rewards(files: Mapping[str, bytes]) -> dict[str, float]:
    """Return the numbers of a reward file by name; a single number is called ``reward``.

    ``reward.json`` takes precedence over ``reward.txt``.

    Raises UnparsableError (the file is missing, or its content isn't a finite number).
    """
    if REWARD_JSON in files:
        try:
            value = json.loads(files[REWARD_JSON])
        except ValueError as error:
            raise UnparsableError(f"{REWARD_JSON} isn't JSON ({error}): write numbers by name there") from None
        named = value if isinstance(value, dict) else {"reward": value}
        for name, reward in named.items():
            if isinstance(reward, bool) or not isinstance(reward, int | float) or not math.isfinite(reward):
                raise UnparsableError(f"{REWARD_JSON}: {name} is {json.dumps(reward)[:80]}: write a finite number")
        if not named:
            raise UnparsableError(f"{REWARD_JSON} has no numbers: write them by name there")
        return {str(name): float(reward) for name, reward in named.items()}
    if REWARD_TEXT in files:
        text = files[REWARD_TEXT].decode(errors="replace").strip()
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise UnparsableError(f'{REWARD_TEXT} is "{text[:80]}": write a finite number there')
        return {"reward": number}
    raise UnparsableError("The tests wrote neither /logs/verifier/reward.txt nor reward.json: see in the log why")


def compute_reward(rewards: Mapping[str, float]) -> float:
    """Return the reward of a trial, from 0 to 1: the one named ``reward`` if there is one, else the mean of all.

    Raises UnparsableError (it is not between 0 and 1).
    """
    reward = rewards["reward"] if "reward" in rewards else sum(rewards.values()) / len(rewards)
    if not 0 <= reward <= 1:
        raise UnparsableError(f"The reward is {reward:g}: write a number between 0 and 1")
    return reward
