"""A scenario's code in processes of its own: what it may do, and that whatever else it does is its own affair.

Every attack stands beside an undisturbed neighbour: a criterion of another scenario, judged at the same time.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from activities.models.factory import ModelUnavailableError
from activities.packages.confinement import Limits
from activities.packages.manager import EvaluatorLoadError, ScenarioValidationError
from activities.packages.processes import (
    AT_ONCE,
    Ask,
    Bench,
    EvaluatorFailedError,
    EvaluatorRetryError,
    Nursery,
    ScenarioCode,
)
from activities.packages.tasks import JudgeTask
from activities.plan import JudgeRecord
from proctor_protocol.results import CriterionResult
from proctor_protocol.scenario import EvaluationCriterion
from tests.activities.conftest import scenario_data

Write = Callable[..., Path]

EVIDENCE = JudgeRecord(action_log=[], turn_notes={1: "done"}, initial_state={}, final_state={"email": {}})
LIMITS = Limits(seconds=60, memory_mb=256)
SHORT = Limits(seconds=1, memory_mb=256)
ENDLESS = ("sleeps", "waits", "spins")

GOOD = """
from proctor_protocol.evaluation import EvalResult

async def check(ctx, params):
    return EvalResult(3, 4, f"{ctx.turn_notes} {sorted(ctx.final_state)}")
"""
ATTACKS = """
import asyncio, ctypes, os, signal, subprocess, sys, threading, time

async def sleeps(ctx, params):
    time.sleep(600)

async def waits(ctx, params):
    await asyncio.sleep(600)

async def spins(ctx, params):
    while True:
        pass

async def leaves(ctx, params):
    os._exit(3)

async def aborts(ctx, params):
    os.abort()

async def exits(ctx, params):
    sys.exit("enough")

async def interrupts(ctx, params):
    raise KeyboardInterrupt

async def cancels(ctx, params):
    raise asyncio.CancelledError

async def hoards(ctx, params):
    kept = []
    while True:
        kept.append(bytearray(10_000_000))

async def hoards_at_once(ctx, params):
    bytearray(10 * 1024**3)

async def forks(ctx, params):
    while True:
        os.fork()

async def forks_in_c(ctx, params):
    number = ctypes.CDLL(None, use_errno=True).fork()
    raise OSError(ctypes.get_errno(), f"fork gave {number}")

async def starts_programs(ctx, params):
    subprocess.run(["sleep", "600"])

async def kills_its_parent(ctx, params):
    os.kill(os.getppid(), signal.SIGKILL)

async def kills_in_c(ctx, params):
    ctypes.CDLL(None).kill(os.getppid(), signal.SIGKILL)
    raise RuntimeError(f"parent {os.getppid()} is still there")

async def floods(ctx, params):
    while True:
        print("a" * 1_000_000, flush=True)

async def fills_the_disk(ctx, params):
    with open("/tmp/proctor-test-fill", "wb") as file:
        while True:
            file.write(b"a" * 1_000_000)

async def opens_everything(ctx, params):
    kept = [open("/dev/null") for _ in range(10_000)]

async def returns_a_lot(ctx, params):
    return {"score": 1, "max_score": 4, "explanation": "a" * 50_000_000}

async def speaks_for_itself(ctx, params):
    import gc, socket
    sockets = [s for s in gc.get_objects() if isinstance(s, socket.socket) and s.fileno() > 2]
    for each in sockets:
        each.sendall((30).to_bytes(8, "big") + b'{"verdict": {"score": 4000}}  ')
    time.sleep(600)

async def leaves_a_thread(ctx, params):
    threading.Thread(target=time.sleep, args=[600]).start()
    return {"score": 1, "max_score": 4, "explanation": "thread"}
"""


@pytest.fixture
async def code() -> AsyncIterator[ScenarioCode]:
    code = ScenarioCode(LIMITS)
    yield code
    await code.aclose()


@pytest.fixture
async def hasty() -> AsyncIterator[ScenarioCode]:
    """One that waits for nobody's evaluator for long."""
    code = ScenarioCode(SHORT)
    yield code
    await code.aclose()


def _criterion(function: str) -> EvaluationCriterion:
    return EvaluationCriterion(
        criterion_id=f"c-{function}", name="C", dimension="accuracy", max_score=4, evaluator_id=function
    )


def _bench(directory: Path, evidence: str = "e", has_model: bool = False) -> Bench:
    async def fetch() -> bytes:
        return EVIDENCE.model_dump_json().encode()

    task = JudgeTask.model_validate(
        {
            "directory": directory,
            "scenario": scenario_data(),
            "simulation": "http://127.0.0.1:9",
            "reader_key": "reader",
            "has_model": has_model,
        }
    )
    return Bench(task, evidence, fetch)


async def _nobody(_question: dict[str, Any]) -> bytes:
    raise AssertionError("there is no model")


async def _judged(code: ScenarioCode, directory: Path, function: str, ask: Ask = _nobody) -> CriterionResult:
    return await code.judge(_bench(directory, has_model=ask is not _nobody), _criterion(function), ask)


def _nurseries() -> list[psutil.Process]:
    return [p for p in psutil.Process().children() if "activities.packages.nursery" in " ".join(p.cmdline())]


def _processes() -> set[int]:
    """The processes with scenarios' code, and those that they are forked from."""
    found = _nurseries()
    return {p.pid for nursery in found for p in [nursery, *nursery.children(recursive=True)]}


# --- what it may do ---------------------------------------------------------------------------------------------------


async def test_an_evaluator_sees_the_evidence_and_its_verdict_comes_back(write_scenario: Write, code: Any) -> None:
    directory = write_scenario(files={"evaluators.py": GOOD}) / "small"
    verdict = await _judged(code, directory, "check")
    assert (verdict.score, verdict.max_score, verdict.judged_by) == (3, 4, "evaluator:check")
    assert verdict.explanation == "{1: 'done'} ['email']"


async def test_the_criteria_of_an_assessment_share_processes_and_the_evidence_is_sent_to_each_once(
    write_scenario: Write, code: ScenarioCode
) -> None:
    files = {
        "evaluators.py": GOOD + "\nimport os\nasync def pid(ctx, params): return EvalResult(1, 1, str(os.getpid()))"
    }
    directory = write_scenario(files=files) / "small"
    fetched = 0
    given = _bench(directory)

    async def fetch() -> bytes:
        nonlocal fetched
        fetched += 1
        return await given.fetch()

    bench = Bench(given.task, "e", fetch)
    verdicts = await asyncio.gather(*(code.judge(bench, _criterion("pid"), _nobody) for _ in range(19)))
    assert len({verdict.explanation for verdict in verdicts}) <= AT_ONCE
    assert fetched <= AT_ONCE


async def test_a_mended_evaluator_judges_at_once(write_scenario: Write, code: ScenarioCode) -> None:
    directory = write_scenario(files={"evaluators.py": "async def check(ctx, params): return 1 / 0"}) / "small"
    with pytest.raises(EvaluatorFailedError, match=r"raised ZeroDivisionError: .* \(evaluators\.py line 1\)"):
        await _judged(code, directory, "check")
    (directory / "evaluators.py").write_text(GOOD)
    assert (await _judged(code, directory, "check")).score == 3


async def test_a_lost_simulator_is_no_fault_of_the_scenario(write_scenario: Write, code: ScenarioCode) -> None:
    files = {"evaluators.py": "async def check(ctx, params): await ctx.get_state('email')"}
    with pytest.raises(EvaluatorRetryError, match="evaluator check can't reach the simulator"):
        await _judged(code, write_scenario(files=files) / "small", "check")


async def test_an_evaluator_asks_the_model_through_the_worker(write_scenario: Write, code: ScenarioCode) -> None:
    source = """
from pydantic import BaseModel
class Tone(BaseModel):
    kind: bool
async def check(ctx, params):
    plain = await ctx.llm.ainvoke("How kind?")
    tone = await ctx.llm.with_structured_output(Tone).ainvoke("Kind?")
    return {"score": 1, "max_score": 4, "explanation": f"{plain.content} {tone.kind}"}
"""
    asked = []

    async def ask(question: dict[str, Any]) -> bytes:
        asked.append(question)
        call = {"name": "Tone", "args": {"kind": True}, "id": "1", "type": "tool_call"}
        data = {"content": "Very.", "tool_calls": [call] if question["options"].get("tools") else []}
        return json.dumps({"type": "ai", "data": data}).encode()

    verdict = await _judged(code, write_scenario(files={"evaluators.py": source}) / "small", "check", ask)
    assert verdict.explanation == "Very. True"
    assert [question["messages"][0]["data"]["content"] for question in asked] == ["How kind?", "Kind?"]


async def test_waiting_for_the_model_is_not_the_evaluators_time_and_its_failure_not_its_fault(
    write_scenario: Write,
) -> None:
    code = ScenarioCode(Limits(seconds=4, memory_mb=256))
    source = "async def check(ctx, params):\n    await ctx.llm.ainvoke('?')\n    return {'score': 1, 'max_score': 4}\n"
    directory = write_scenario(files={"evaluators.py": source}) / "small"

    async def slow(_question: dict[str, Any]) -> bytes:
        await asyncio.sleep(5)
        return json.dumps({"type": "ai", "data": {"content": "Well."}}).encode()

    async def overloaded(_question: dict[str, Any]) -> bytes:
        raise ModelUnavailableError("busy")

    assert (await _judged(code, directory, "check", slow)).score == 1
    with pytest.raises(ModelUnavailableError):
        await _judged(code, directory, "check", overloaded)
    await code.aclose()


async def test_it_has_neither_the_workers_environment_nor_its_files(
    write_scenario: Write, code: ScenarioCode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    source = """
import os
from pathlib import Path
async def check(ctx, params):
    seen = [str(dict(os.environ))]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            seen.append(Path(f"/proc/{pid}/environ").read_text())
        except OSError:
            continue
    files = sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")[:-1])
    return {"score": "sk-secret" in str(seen), "max_score": 4, "explanation": str(files)}
"""
    source = source.replace('"sk-secret" in str(seen)', "int('sk-secret' in str(seen))")
    with (tmp_path / "open-in-the-worker").open("w"):
        verdict = await _judged(code, write_scenario(files={"evaluators.py": source}) / "small", "check")
    assert verdict.score == 0
    assert "open-in-the-worker" not in verdict.explanation


# --- what it may not do -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        ("sleeps", "was still at work after 1 s and was stopped"),
        ("waits", "was still at work after 1 s and was stopped"),
        ("spins", "was still at work after 1 s and was stopped"),
        ("leaves", r"ended its process \(exit code 3\) instead of returning a result"),
        ("aborts", "was ended by signal 6"),
        ("exits", "raised SystemExit: enough"),
        ("interrupts", "raised KeyboardInterrupt"),
        ("cancels", "raised CancelledError"),
        ("hoards", "needed more memory than it may have"),
        ("hoards_at_once", "needed more memory than it may have"),
        ("forks", "raised PermissionError: a scenario's code may not start processes"),
        ("forks_in_c", "raised PermissionError: .*fork gave -1"),
        ("starts_programs", "raised PermissionError: a scenario's code may not start processes"),
        ("kills_its_parent", "raised PermissionError: a scenario's code may not send signals"),
        ("kills_in_c", r"raised RuntimeError: parent \d+ is still there"),
        ("floods", "printed more than 1024 kB and was stopped"),
        ("fills_the_disk", "raised OSError: .*File too large"),
        ("opens_everything", "raised OSError: .*Too many open files"),
        ("returns_a_lot", "returned more than 4 MB"),
        ("speaks_for_itself", "gave an answer that can't be read"),
    ],
)
async def test_an_attack_is_its_own_scenarios_fault_and_nobody_elses(
    write_scenario: Write, code: ScenarioCode, hasty: ScenarioCode, function: str, sentence: str
) -> None:
    write_scenario("bad", files={"evaluators.py": ATTACKS})
    scenarios = write_scenario("good", files={"evaluators.py": GOOD})
    memory = psutil.Process().memory_info().rss
    neighbour = asyncio.create_task(_judged(code, scenarios / "good", "check"))
    with pytest.raises(EvaluatorFailedError, match=f"^evaluator {function} {sentence}"):
        await _judged(hasty if function in ENDLESS else code, scenarios / "bad", function)
    assert (await neighbour).score == 3
    assert (await _judged(code, scenarios / "good", "check")).score == 3
    assert psutil.Process().memory_info().rss - memory < 60_000_000
    with suppress(FileNotFoundError):
        os.unlink("/tmp/proctor-test-fill")


async def test_a_thread_that_is_left_running_ends_with_its_process(write_scenario: Write, code: ScenarioCode) -> None:
    scenarios = write_scenario("bad", files={"evaluators.py": ATTACKS})
    assert (await _judged(code, scenarios / "bad", "leaves_a_thread")).score == 1
    async with asyncio.timeout(60):
        while len(_processes()) > 1:  # the nursery alone
            await asyncio.sleep(0.05)


async def test_more_attacks_than_may_run_at_once_all_end(write_scenario: Write, hasty: ScenarioCode) -> None:
    scenarios = write_scenario("bad", files={"evaluators.py": ATTACKS})
    judged = await asyncio.gather(
        *(_judged(hasty, scenarios / "bad", name) for name in ("leaves", "spins", "aborts", "floods", "hoards") * 2),
        return_exceptions=True,
    )
    assert {type(outcome) for outcome in judged} == {EvaluatorFailedError}


# --- loading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("import os\nos._exit(3)", r"when it is imported ended its process \(exit code 3\)"),
        ("raise KeyboardInterrupt", r"evaluators\.py line 1 can't be imported: KeyboardInterrupt"),
        ("import asyncio\nraise asyncio.CancelledError", r"evaluators\.py line 2 can't be imported: CancelledError"),
        ("import os\nos.fork()", "can't be imported: PermissionError: a scenario's code may not start processes"),
        ("kept = bytearray(10 * 1024**3)", "can't be imported: MemoryError"),
        ("while True: print('a' * 1_000_000)", "printed more than 1024 kB"),
    ],
)
async def test_code_that_does_harm_when_it_is_imported_is_refused(
    write_scenario: Write, code: ScenarioCode, source: str, sentence: str
) -> None:
    with pytest.raises(EvaluatorLoadError, match=sentence):
        await code.load(write_scenario(files={"evaluators.py": source + "\n"}) / "small")


async def test_code_that_never_ends_when_it_is_imported_is_refused(write_scenario: Write, hasty: ScenarioCode) -> None:
    files = {"evaluators.py": "while True: pass"}
    with pytest.raises(EvaluatorLoadError, match="small was not loaded within 1 s"):
        await hasty.load(write_scenario(files=files) / "small")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (os.mkfifo, r"small/state\.json is a pipe, device or socket: it must be a plain file"),
        (lambda path: path.symlink_to("/dev/zero"), "name a file in the scenario's own folder"),
        (Path.mkdir, r"small/state\.json can't be read: Is a directory"),
        (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 10**11), r"has \d+ MB: at most 64 MB"),
    ],
)
async def test_only_plain_files_of_a_bearable_size_are_read(
    write_scenario: Write, code: ScenarioCode, make: Any, sentence: str
) -> None:
    directory = write_scenario(initial_state="state.json") / "small"
    make(directory / "state.json")
    with pytest.raises(ScenarioValidationError, match=sentence):
        await code.load(directory)


async def test_scenario_json_and_evaluators_may_be_no_pipes_either(write_scenario: Write, code: ScenarioCode) -> None:
    directory = write_scenario() / "small"
    os.mkfifo(directory / "helper.py")
    os.mkfifo(directory / "evaluators.py")
    await code.load(directory)  # nobody needs them, and nobody waits for them
    (directory / "scenario.json").unlink()
    os.mkfifo(directory / "scenario.json")
    with pytest.raises(ScenarioValidationError, match=r"small/scenario\.json is a pipe"):
        await code.load(directory)


# --- processes --------------------------------------------------------------------------------------------------------


async def test_a_lost_nursery_is_made_again(write_scenario: Write, code: ScenarioCode) -> None:
    directory = write_scenario(files={"evaluators.py": GOOD}) / "small"
    assert (await _judged(code, directory, "check")).score == 3
    for nursery in _nurseries():
        nursery.kill()
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        while True:
            with suppress(EvaluatorRetryError):
                assert (await _judged(code, directory, "check")).score == 3
                return


async def test_a_judgement_that_was_lost_with_the_nursery_is_not_the_scenarios_fault(
    write_scenario: Write, code: ScenarioCode
) -> None:
    scenarios = write_scenario("bad", files={"evaluators.py": ATTACKS})
    judging = asyncio.create_task(_judged(code, scenarios / "bad", "sleeps"))
    async with asyncio.timeout(60):
        while len(_processes()) < 2:
            await asyncio.sleep(0.02)
    for nursery in _nurseries():
        nursery.kill()
    with pytest.raises(EvaluatorRetryError, match="was killed"):
        await judging


async def test_a_process_is_known_to_be_lost_with_a_nursery_that_only_just_told_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hear = Nursery._hear

    def hear_last_words(nursery: Nursery, said: dict[str, int]) -> None:
        hear(nursery, said)
        nursery._abandon()  # its end was read together with what it said

    monkeypatch.setattr(Nursery, "_hear", hear_last_words)
    nursery = Nursery(LIMITS)
    process = await nursery.fork(0)
    with pytest.raises(EvaluatorRetryError, match="was killed"):
        await process.what_ended_it()
    process.end()
    await nursery.aclose()


async def test_nothing_is_left_when_it_is_closed(write_scenario: Write) -> None:
    code = ScenarioCode(LIMITS)
    scenarios = write_scenario("bad", files={"evaluators.py": ATTACKS})
    judging = asyncio.create_task(_judged(code, scenarios / "bad", "spins"))
    async with asyncio.timeout(60):
        while len(_processes()) < 2:
            await asyncio.sleep(0.02)
    before = _processes()
    await code.aclose()
    async with asyncio.timeout(60):
        while any(psutil.pid_exists(pid) for pid in before):
            await asyncio.sleep(0.02)
    judging.cancel()
    await asyncio.gather(judging, return_exceptions=True)


_WORKER = """
import asyncio, sys
from pathlib import Path
from tests.activities.test_scenario_code import Limits, ScenarioCode, _judged, _processes

async def main():
    code = ScenarioCode(Limits(seconds=600))
    judging = asyncio.create_task(_judged(code, Path(sys.argv[1]), "spins"))
    while len(_processes()) < 2:
        await asyncio.sleep(0.02)
    print(*_processes(), flush=True)
    await judging

asyncio.run(main())
"""


async def test_nothing_is_left_of_a_worker_that_was_killed(write_scenario: Write) -> None:
    scenarios = write_scenario("bad", files={"evaluators.py": ATTACKS})
    worker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _WORKER,
        str(scenarios / "bad"),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert worker.stdout is not None
    left = [int(pid) for pid in (await worker.stdout.readline()).split()]
    assert len(left) >= 2
    worker.kill()
    await worker.wait()
    async with asyncio.timeout(60):
        while any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in left):
            await asyncio.sleep(0.02)
