"""The shipped scenarios' patterns, held to how people say each fact: by the command, in the process that judges."""

import re
from pathlib import Path

import pytest

from tests.proctor.commands import Sandbox
from tests.stack import SCENARIOS

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


def test_the_readme_states_the_error_on_held_out_lines(tmp_path: Path) -> None:
    readme = (SCENARIOS / "email_triage_basic" / "README.md").read_text()
    stated = readme.partition("<!-- held-out -->")[2].partition("<!-- end of held-out -->")[0]
    done = Sandbox(tmp_path).call("scenarios", "paraphrases", "email_triage_basic", "--by-fact")
    measured = re.search(r"held-out lines: [\d,]+ .* misread \d+ \(([\d.]+)%\)", done.stdout)
    if measured is None:
        assert "held-out lines: none" in done.stdout
        assert "It has none yet" in stated
    else:
        assert f"{measured[1]} %" in stated
