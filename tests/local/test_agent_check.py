"""``proctor check-agent``: each planted fault is named, and nothing else."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait

import pytest

from proctor.common.errors import ExitCode, UnreachableError, UsageError
from proctor.local.agent_check.checks import Finding
from proctor.local.agent_check.command import check_agent, look_at
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.ports import free_ports
from tests.local.faulty_agents import FAULTS, GOOD, served
from tests.sentences import says

PATIENT = 60.0
SHOWS_LATER = ("deaf-to-cancel", "goes-on")
"""These have to be given the time in which they do what they shouldn't, on a busy machine too."""


@pytest.fixture(scope="module")
def agents() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.mark.parametrize("name", GOOD)
def test_nothing_is_wrong_with_a_good_agent(name: str, agents: str) -> None:
    findings = look_at(f"{agents}/{name}", GreenAgentConfig(), PATIENT)
    unseen = {finding.check for finding in findings if finding.judgement == "not seen"}
    assert [finding for finding in findings if finding.judgement == "wrong"] == []
    assert unseen == (set() if name == "sdk" else {"protocol-0.3"})


@pytest.fixture(scope="module")
def looks(agents: str) -> Iterator[dict[str, Future[list[Finding]]]]:
    """A look at each faulty agent, several at once: most of it is waiting for what they don't do."""

    config = GreenAgentConfig()

    def look(fault: str) -> list[Finding]:
        timeout = 5.0 if fault == "never-answers" else PATIENT
        settle = 10.0 if fault in SHOWS_LATER else 0.2
        return look_at(f"{agents}/{fault}", config, timeout, settle=settle)

    with ThreadPoolExecutor(4) as at_once:
        found = {fault: at_once.submit(look, fault) for fault in FAULTS}
        wait(found.values())  # they read the environment, which pytest changes between a fixture and its test
        yield found


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_named_and_no_other(fault: str, looks: dict[str, Future[list[Finding]]]) -> None:
    findings = looks[fault].result()
    wrong = {finding.check: finding for finding in findings if finding.judgement == "wrong"}
    assert list(wrong) == [FAULTS[fault]], wrong
    assert wrong[FAULTS[fault]].fix


def test_it_tells_as_json_and_by_its_exit_code(
    looks: dict[str, Future[list[Finding]]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("proctor.local.agent_check.command.look_at", lambda *_: looks["boasts"].result())
    assert check_agent("http://boasts", timeout=PATIENT, host=None, as_json=True) == ExitCode.FAILED
    told = json.loads(capsys.readouterr().out)
    assert told["passed"] is False
    [wrong] = [finding for finding in told["findings"] if finding["judgement"] == "wrong"]
    assert wrong["check"] == "made-up"
    assert wrong["seen"] == says("email.archive")


def test_it_tells_a_person_of_a_good_agent(agents: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_agent(f"{agents}/sdk/", timeout=PATIENT, host=None, as_json=False) == ExitCode.DONE
    assert says("17").within(capsys.readouterr().out)


def test_an_agent_that_is_not_there_is_told_in_a_sentence() -> None:
    [port] = free_ports(1)
    with pytest.raises(UnreachableError, check=says(port=port)):
        check_agent(f"http://127.0.0.1:{port}", timeout=PATIENT, host=None, as_json=False)


@pytest.mark.parametrize("url", ["", "localhost:8001", "ftp://localhost", "http://"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(UsageError, check=says("http://localhost:8001")):
        check_agent(url, timeout=PATIENT, host=None, as_json=False)
