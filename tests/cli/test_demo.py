"""``proctor demo``: from nothing to a score; the archived assessment is all that is left of it."""

import json
import re
import signal
from pathlib import Path

import httpx
import psutil
import pytest

from purple_sdk.protocol.results import AssessmentResults
from tests.assessments.packages import write_package
from tests.cli.commands import DEAD_PROXIES, Sandbox
from tests.cli.installed import install
from tests.sentences import says
from tests.waiting import wait_until
from tests.work import only_nightly


def leftovers(sandbox: Sandbox) -> tuple[list[psutil.Process], list[Path]]:
    return sandbox.processes(), list(sandbox.temporary.iterdir())


TRAP = "raise SystemExit(f'{__name__} was imported from the working directory')"
OUR_NAMES = ("activities", "workflows", "protocol", "storage", "viewer", "proctor_protocol", "purple_sdk")


def full_of_traps(folder: Path) -> set[str]:
    """Give a folder what a user may have there under names that are ours, too; the names of it."""
    (folder / "scenarios").mkdir()
    for name in OUR_NAMES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(TRAP)
        (folder / f"{name}.py").write_text(TRAP)
    return {path.name for path in folder.iterdir()}


def cut_to_two_turns(proctor: Path) -> None:
    """Have the demo's scenario end after two turns of twelve in the environment of an installed ``proctor``."""
    (scenario,) = proctor.parents[1].glob(
        "lib/python*/site-packages/proctor/scenarios/email_triage_basic/scenario.json"
    )
    day = json.loads(scenario.read_text())
    scenario.write_text(json.dumps({**day, "end_time": "2026-03-10T09:00:00+00:00"}))


def test_a_demo_of_the_installed_wheel_ends_with_a_score_and_leaves_an_assessment_to_look_at(tmp_path: Path) -> None:
    """Also where the environment names a dead proxy: all of it is on this machine."""
    (tmp_path / "played").mkdir()
    traps = full_of_traps(tmp_path / "played")
    proctor = install(tmp_path)
    cut_to_two_turns(proctor)
    sandbox = Sandbox(tmp_path / "played", program=(str(proctor),))
    done = sandbox.run("demo", "--seed", "5", **DEAD_PROXIES)
    assert done.returncode == 0, done.stdout + done.stderr
    results = AssessmentResults.model_validate_json((sandbox.folder / "assessment_results.json").read_bytes())
    assert (results.status, results.scenario_id, results.seed) == ("completed", "email_triage_basic", 5)
    assert results.scores.overall.score > 0
    assert "turn  2/2" in done.stdout or "turn 2/2" in done.stdout
    assert says("assessment_results.json").within(done.stdout)
    assert leftovers(sandbox) == ([], [])
    left = {"assessment_results.json", "tmp", "user-state"}
    assert {path.name for path in sandbox.folder.iterdir()} == {*left, *traps}
    assert "http://127.0.0.1" not in done.stdout.partition("turn 1/2")[2], "a link into what has ended"
    (looks,) = re.findall(r"Look at the assessment: (\S+/proctor) view (\w+)$", done.stdout.strip())
    assert looks == (sandbox.program[0], results.assessment_id[:8])
    assert results.assessment_id[:8] in sandbox.call("list").stdout
    with sandbox.started("view", looks[1], "--port", "0") as viewing:
        viewing.wait_for("page: http")
        (address,) = re.findall(r"page: (\S+)", viewing.output)
        page = httpx.get(address, trust_env=False)
        assert page.status_code == 200
        assert "A working day" in page.text
        assert "in the Temporal UI" not in page.text, "a link into a Temporal that has ended"


def test_python_m_proctor_imports_nothing_from_where_it_is_typed(sandbox: Sandbox) -> None:
    full_of_traps(sandbox.folder)
    done = sandbox.run("list", "--json")
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stdout + done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=only_nightly)])
@only_nightly
def test_a_demo_that_is_ended_early_leaves_nothing(sandbox: Sandbox, number: int) -> None:
    with sandbox.started("demo") as running:
        running.wait_for("turn  1/12")
        assert len(sandbox.processes()) >= 6
        running.end(number)
        wait_until(lambda: leftovers(sandbox) == ([], []))
        assert leftovers(sandbox) == ([], [])
    if number != signal.SIGKILL:
        assert running.process.returncode == 4
        assert says().within(running.output)


def test_a_demo_that_is_ended_while_it_starts_leaves_nothing(sandbox: Sandbox) -> None:
    with sandbox.started("demo") as running:
        wait_until(lambda: len(sandbox.processes()) >= 3)
        assert running.end(signal.SIGTERM) == 4
    assert says().within(running.output)
    assert leftovers(sandbox) == ([], [])


@only_nightly
def test_a_demo_that_is_kept_tells_where_to_look(sandbox: Sandbox) -> None:
    write_package(sandbox.folder / "scenarios", "tiny")
    folder = str(sandbox.folder / "scenarios")
    with sandbox.started("demo", "--scenario", "tiny", "--keep", AGENTBEATS_GREEN_SCENARIOS_DIR=folder) as running:
        running.wait_for("Temporal UI")
        assert says().within(running.output)
        assert (sandbox.folder / "assessment_results.json").exists()
        assert sandbox.processes()
        assert running.end(signal.SIGINT) == 0
    assert leftovers(sandbox) == ([], [])


def test_a_demo_of_an_unknown_scenario_is_wrong_usage(sandbox: Sandbox) -> None:
    done = sandbox.call("demo", "--scenario", "no_such_scenario")
    assert done.returncode == 2
    assert "known scenarios: " in done.stderr
    assert leftovers(sandbox) == ([], [])
