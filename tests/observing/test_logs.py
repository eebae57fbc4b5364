"""Log lines, for people and for machines."""

import json
import logging
import signal
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from proctor.observing.logs import JsonLines, TextLines, about
from proctor.processes.names import OWN_PACKAGES
from proctor.service import worker_process
from purple_sdk.processes.announcing import announce_as_json
from tests.observing.conftest import Observed
from tests.programs import LINKED, ROOT


def record(message: str, *args: object, **more: Any) -> logging.LogRecord:
    return logging.LogRecord(
        "proctor.activities.simulation.turns", logging.WARNING, "turns.py", 1, message, args, more.get("exc_info")
    )


def test_a_line_for_machines_says_what_it_is_about() -> None:
    with about(task="t-1", turn=2, step="apply", attempt=3):
        line = json.loads(JsonLines().format(record('the store said "%s"\nand no more', "é")))
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "WARNING",
        "logger": "proctor.activities.simulation.turns",
        "message": 'the store said "é"\nand no more',
        "task": "t-1",
        "turn": 2,
        "step": "apply",
        "attempt": 3,
    }


def test_a_failure_that_temporals_sdk_logs_says_which_task_it_is_of() -> None:
    failure = record("Completing activity as failed")
    failure.temporal_activity = {"workflow_id": "t-1", "activity_type": "purple_turn", "attempt": 2, "namespace": "n"}
    line = json.loads(JsonLines().format(failure))
    assert (line["task"], line["step"], line["attempt"]) == ("t-1", "purple_turn", 2)
    assert TextLines().format(failure).endswith("as failed [task=t-1 step=purple_turn attempt=2]")


def test_a_line_for_people_says_it_at_its_end() -> None:
    with about(task="t-1", turn=None):
        assert (
            TextLines().format(record("slow")).endswith("WARNING proctor.activities.simulation.turns: slow [task=t-1]")
        )
    assert TextLines().format(record("slow")).endswith("WARNING proctor.activities.simulation.turns: slow")


def test_a_line_is_neither_endless_nor_a_command_to_the_terminal() -> None:
    long = record("begins \x1b[31m%s ends", "x" * 4_000_000)
    assert len(JsonLines().format(long)) < 21_000
    line = TextLines().format(long)
    assert "\x1b" not in line
    assert "begins [31mxxx" in line
    assert "more characters)" in line
    assert line.endswith("xxx ends")


def test_a_defect_has_its_traceback_on_the_same_line() -> None:
    try:
        raise ValueError("odd")
    except ValueError:
        line = JsonLines().format(record("failed", exc_info=sys.exc_info()))
    assert "\n" not in line
    assert "ValueError: odd" in json.loads(line)["exception"]


@pytest.mark.parametrize("service", ["gateway", "ues", "worker"])
def test_services_log_json_where_they_are_told_to(observed: Observed, service: str) -> None:
    lines = [line for line in observed.log_of(service).splitlines() if line.startswith("{")]
    for line in lines:
        assert {"time", "level", "logger", "message"} <= json.loads(line).keys()
    assert len(lines) == len(observed.log_of(service).splitlines()), observed.log_of(service)


def test_a_wrong_setting_of_a_workers_process_is_a_line_of_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("agentbeats_green_log_format", "json")
    monkeypatch.setenv("AGENTBEATS_GREEN_EVALUATOR_TIMEOUT", "soon")
    monkeypatch.setattr(sys, "argv", ["worker_process", '{"number": 0, "parent": 1, "attempts": 1, "flags": {}}'])
    monkeypatch.setattr(worker_process, "die_with_parent", lambda parent: None)
    monkeypatch.setattr(worker_process, "leave", sys.exit)
    monkeypatch.setattr(worker_process, "import_less", lambda: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    try:
        with pytest.raises(SystemExit):
            worker_process.main()
    finally:
        announce_as_json(is_on=False)
    line = json.loads(capsys.readouterr().err)
    assert line["level"] == "ERROR"
    assert "AGENTBEATS_GREEN_EVALUATOR_TIMEOUT" in line["message"]


def test_each_package_of_ours_logs_at_the_chosen_level() -> None:
    """The package lists of pyproject.toml are compared too: a new package is in all of them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = set(settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    assert packages == set(OWN_PACKAGES)
    folders = subprocess.check_output(["git", "ls-files", "*/__init__.py"], cwd=ROOT, text=True).split()
    assert packages | LINKED == {name.partition("/")[0] for name in folders} - {"tests", "benchmarks"}
    assert packages == set(settings["tool"]["importlinter"]["root_packages"])
    assert packages == set(settings["tool"]["mypy"]["packages"])
    code = (
        "import logging, sys; from proctor.observing.logs import set_up_logs; set_up_logs('json', 'DEBUG'); "
        "[logging.getLogger(f'{name}.some_module').debug('here') for name in sys.argv[1:]]"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *packages, "somebody_elses"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    written = [json.loads(line)["logger"].removesuffix(".some_module") for line in ran.stderr.splitlines()]
    assert sorted(written) == sorted(packages)
