"""The shipped scenarios' patterns, held to how people say each fact: by the command, in the process that judges."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Sandbox
from tests.scenarios.playing import Rehearsal
from tests.scenarios.reschedule_day_held_out import DayAuditor
from tests.scenarios.reschedule_day_held_out import messages as about_the_day
from tests.scenarios.reschedule_day_scripts import IDEAL as IDEAL_DAY
from tests.scenarios.reschedule_day_scripts import script
from tests.scenarios.triage_held_out import Auditor, held_out
from tests.scenarios.triage_participant import IDEAL
from tests.stack import SCENARIOS, Script
from tests.work import only_nightly, some_of

_MOST_UNTOLD = 3.0

HELD_OUT: dict[str, tuple[Script, type[Auditor], Callable[[], list[dict[str, Any]]]]] = {
    "email_triage_basic": (IDEAL, Auditor, held_out),
    "reschedule_day": (script(IDEAL_DAY), DayAuditor, about_the_day),
}
"""Scenario to its ideal day, what scores held-out messages in it, and these messages."""


@pytest.mark.parametrize(("scenario_id", "facts"), some_of([("reschedule_day", 18), ("email_triage_basic", 46)], 1))
def test_patterns_tell_nearly_every_paraphrase(tmp_path: Path, scenario_id: str, facts: int) -> None:
    done = Sandbox(tmp_path).call("scenarios", "paraphrases", scenario_id)
    assert done.returncode == 0, done.stderr
    told = re.search(r"(\d+) facts, ([\d,]+) paraphrases; .* misread (\d+), ([\d.]+)% in all", done.stdout)
    assert told is not None, done.stdout
    assert int(told[1]) >= facts
    assert int(told[2].replace(",", "")) >= 25 * facts
    assert float(told[4]) <= _MOST_UNTOLD


@only_nightly
@pytest.mark.parametrize("scenario_id", sorted(HELD_OUT, reverse=True))
async def test_the_readme_states_the_error_on_held_out_messages(rehearsal: Rehearsal, scenario_id: str) -> None:
    readme = (SCENARIOS / scenario_id / "README.md").read_text()
    stated = readme.partition("<!-- held-out -->")[2].partition("<!-- end of held-out -->")[0]
    ideal, auditor, messages = HELD_OUT[scenario_id]
    _, seen = await rehearsal.play_and_keep(scenario_id, ideal)
    errors = await auditor(seen).errors(messages())
    total = sum(errors.values(), Counter[str]())
    scored = total["right"] + total["wrong"]
    assert f"has {len(messages())} messages" in stated
    assert f"{(total['missed'] + total['passed']) / scored:.1%} of the {scored} that".replace("%", " %") in stated
    rows = re.findall(r"\| `(\w+)`[^|]* \| (\d+) of (\d+) \| (\d+) of (\d+) \|", stated)
    measured = {name: (row["missed"], row["right"], row["passed"], row["wrong"]) for name, row in errors.items()}
    assert {name: tuple(map(int, row)) for name, *row in rows} == {
        name: row for name, row in measured.items() if row[1] + row[3]
    }


async def test_the_readme_says_how_many_held_out_leaks_are_found(rehearsal: Rehearsal) -> None:
    _, seen = await rehearsal.play_and_keep("reschedule_day", script(IDEAL_DAY))
    found = await DayAuditor(seen).leaks_found()
    readme = (SCENARIOS / "reschedule_day" / "README.md").read_text()
    assert f"{found['found']} of {found['all']} messages that give the secret away" in readme.replace("\n", " ")
