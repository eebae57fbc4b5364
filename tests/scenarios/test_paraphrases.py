"""The shipped scenarios' patterns, held to how people say each fact: by the command, in the process that judges."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.proctor.commands import Sandbox
from tests.scenarios.playing import Rehearsal
from tests.scenarios.triage_held_out import Auditor, held_out
from tests.scenarios.triage_participant import IDEAL
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


async def test_the_readme_states_the_error_on_held_out_messages(rehearsal: Rehearsal) -> None:
    readme = (SCENARIOS / "email_triage_basic" / "README.md").read_text()
    stated = readme.partition("<!-- held-out -->")[2].partition("<!-- end of held-out -->")[0]
    _, seen = await rehearsal.play_and_keep("email_triage_basic", IDEAL)
    messages = held_out()
    errors = await Auditor(seen).errors(messages)
    total = sum(errors.values(), Counter[str]())
    scored = total["right"] + total["wrong"]
    assert f"has {len(messages)} messages" in stated
    assert f"{(total['missed'] + total['passed']) / scored:.1%} of the {scored} that".replace("%", " %") in stated
    rows = re.findall(r"\| `(\w+)`[^|]* \| (\d+) of (\d+) \| (\d+) of (\d+) \|", stated)
    measured = {name: (each["missed"], each["right"], each["passed"], each["wrong"]) for name, each in errors.items()}
    assert {name: tuple(map(int, row)) for name, *row in rows} == {
        name: row for name, row in measured.items() if row[1] + row[3]
    }
