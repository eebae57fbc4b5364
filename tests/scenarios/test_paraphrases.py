"""The shipped scenarios' patterns, held to how people say each fact: by the command, in the process that judges."""

import re
from pathlib import Path

import pytest

from tests.proctor.commands import Sandbox

_MOST_UNTOLD = 3.0


@pytest.mark.parametrize(("scenario_id", "facts"), [("email_triage_basic", 46), ("reschedule_day", 21)])
def test_patterns_tell_nearly_every_paraphrase(tmp_path: Path, scenario_id: str, facts: int) -> None:
    done = Sandbox(tmp_path).call("scenarios", "paraphrases", scenario_id)
    assert done.returncode == 0, done.stderr
    told = re.search(r"(\d+) facts, ([\d,]+) paraphrases; .* misread (\d+), ([\d.]+)% in all", done.stdout)
    assert told is not None, done.stdout
    assert int(told[1]) >= facts
    assert int(told[2].replace(",", "")) >= 25 * facts
    assert float(told[4]) <= _MOST_UNTOLD
