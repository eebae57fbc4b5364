"""A scenario's code in processes of its own: what it may do, and what becomes of the processes."""

import asyncio
import json
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from proctor.activities.models.factory import ModelUnavailableError
from proctor.activities.scenario_code.manager import EvaluatorLoadError, ScenarioError
from proctor.activities.scenario_code.processes import (
    AT_ONCE,
    EvaluatorFailedError,
    EvaluatorRetryError,
    ForkServer,
    ScenarioCode,
)
from purple_sdk.protocol.instances import Instance
from purple_sdk.protocol.json_safe import LONGEST_SENTENCE
from tests.activities.families import write_family
from tests.activities.scenario_code import (
    ATTACKS,
    GOOD,
    LIMITS,
    SHORT,
    Write,
    bench_of,
    code_processes,
    criterion_by,
    fork_servers,
    judged_by,
    nobody,
)
from tests.programs import is_running, program, read_line, running
from tests.sentences import says
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def code(one_fork_server: None) -> ScenarioCode:
    return ScenarioCode(LIMITS)


@pytest.fixture
def hasty(one_fork_server: None) -> ScenarioCode:
    """One that waits for nobody's evaluator for long."""
    return ScenarioCode(SHORT)


# --- what it may do ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("one_fork_server")
@pytest.mark.parametrize(("alone_seconds", "made"), [(600.0, 1), (0.0, AT_ONCE)])
async def test_another_process_is_made_only_where_one_lets_others_wait(
    write_scenario: Write, alone_seconds: float, made: int
) -> None:
    slow = "\nimport asyncio, os\nasync def pid(ctx, params):\n    await asyncio.sleep(0.1)\n"
    files = {"evaluators.py": GOOD + slow + "    return EvalResult(1, 1, str(os.getpid()))"}
    bench = bench_of(write_scenario(files=files) / "small")
    code = ScenarioCode(LIMITS, alone_seconds)
    verdicts = await asyncio.gather(*(code.judge(bench, criterion_by("pid"), nobody) for _ in range(8)))
    assert len({verdict.explanation for verdict in verdicts}) == made


PID = GOOD + "\nimport os\nasync def pid(ctx, params): return EvalResult(1, 1, str(os.getpid()))\n"


async def test_a_process_whose_code_failed_judges_nothing_else(write_scenario: Write, code: ScenarioCode) -> None:
    files = {
        "evaluators.py": PID + "async def leaves(ctx, params): os._exit(3)\nasync def raises(ctx, params): 1 / 0\n"
    }
    bench = bench_of(write_scenario(files=files) / "small")
    first = await code.judge(bench, criterion_by("pid"), nobody)
    for failing in ("leaves", "raises"):
        with pytest.raises(EvaluatorFailedError):
            await code.judge(bench, criterion_by(failing), nobody)
        verdict = await code.judge(bench, criterion_by("pid"), nobody)
        assert verdict.explanation != first.explanation
        first = verdict


async def test_assessments_share_no_process(write_scenario: Write, code: ScenarioCode) -> None:
    """Not even where their evidence is the same: each has a simulation of its own."""
    directory = write_scenario(files={"evaluators.py": PID}) / "small"
    benches = [bench_of(directory, *of) for of in (("e",), ("other",), ("e", False, "http://127.0.0.1:10"))]
    verdicts = [await code.judge(bench, criterion_by("pid"), nobody) for bench in (*benches, *benches)]
    assert len({verdict.explanation for verdict in verdicts}) == len(benches)


async def test_waiting_for_the_model_is_not_the_evaluators_time_and_its_failure_not_its_fault(
    write_scenario: Write, hasty: ScenarioCode
) -> None:
    source = "async def check(ctx, params):\n    await ctx.llm.ainvoke('?')\n    return {'score': 1, 'max_score': 4}\n"
    directory = write_scenario(files={"evaluators.py": source}) / "small"

    async def slow(_question: dict[str, Any]) -> bytes:
        await asyncio.sleep(2)
        return json.dumps({"type": "ai", "data": {"content": "Well."}}).encode()

    async def overloaded(_question: dict[str, Any]) -> bytes:
        raise ModelUnavailableError("busy")

    assert (await judged_by(hasty, directory, "check", slow)).score == 1
    with pytest.raises(ModelUnavailableError):
        await judged_by(hasty, directory, "check", overloaded)


async def test_it_has_neither_the_workers_environment_nor_its_files(
    write_scenario: Write, code: ScenarioCode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    source = """
import os
from pathlib import Path
async def check(ctx, params):
    seen = [str(dict(os.environ))]
    try:
        pids = os.listdir("/proc")
    except PermissionError:
        pids = [str(pid) for pid in range(1, os.getpid() + 100)]
    for pid in filter(str.isdigit, pids):
        try:
            seen.append(Path(f"/proc/{pid}/environ").read_text())
        except OSError:
            continue
    files = sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")[:-1])
    return {"score": "sk-secret" in str(seen), "max_score": 4, "explanation": str(files)}
"""
    source = source.replace('"sk-secret" in str(seen)', "int('sk-secret' in str(seen))")
    with (tmp_path / "open-in-the-worker").open("w"):
        verdict = await judged_by(code, write_scenario(files={"evaluators.py": source}) / "small", "check")
    assert verdict.score == 0
    assert "open-in-the-worker" not in verdict.explanation


# --- what it may not do -----------------------------------------------------------------------------------------------


SPEAKS = """
import gc, json, os, socket

def speak(**said):
    piece = json.dumps(said).encode()
    for each in gc.get_objects():
        if isinstance(each, socket.socket) and each.fileno() > 2 and each.getblocking():
            each.sendall(len(piece).to_bytes(8, "big") + piece)
    os._exit(0)

long = "x" * 1_500_000
"""


async def test_what_code_says_by_itself_is_cut_where_it_comes_in(
    write_scenario: Write, code: ScenarioCode, tmp_path: Path
) -> None:
    """Callers outside of activities have it as it came in, and nothing else cuts it."""
    judging = "".join(
        f"async def {name}(ctx, params): speak({name}=long, is_spoilt=True)\n" for name in ("fault", "passing")
    )
    directory = write_scenario(files={"evaluators.py": SPEAKS + judging}) / "small"
    refusing = write_scenario("refusing", files={"evaluators.py": SPEAKS + "speak(refused='', sentence=long)"})
    holding = write_scenario("holding", files={"facts.py": "", "evaluators.py": SPEAKS + "speak(faults=[long])"})
    unmade = write_family(tmp_path / "families", SPEAKS + "def make(day): speak(unmade=long, duty=long)")
    family = unmade / "families" / "one_question"
    said = [*(await code.hold(holding / "holding")).faults]
    for work in (
        judged_by(code, directory, "fault"),
        judged_by(code, directory, "passing"),
        code.load(refusing / "refusing"),
        code.make(family, Instance(family="one_question", difficulty=2, seed=7)),
    ):
        with pytest.raises((EvaluatorFailedError, EvaluatorRetryError, ScenarioError)) as caught:
            await work
        said.append(str(caught.value))
    assert len(said) == 5
    assert all(LONGEST_SENTENCE < len(sentence) < 3 * LONGEST_SENTENCE for sentence in said), [*map(len, said)]
    assert all("x… (1,496,000 more characters)" in sentence for sentence in said)


async def test_a_thread_that_is_left_running_ends_with_its_process(write_scenario: Write, code: ScenarioCode) -> None:
    scenarios = write_scenario("bad", files={"evaluators.py": ATTACKS})
    assert (await judged_by(code, scenarios / "bad", "leaves_a_thread")).score == 1
    async with asyncio.timeout(PATIENCE):
        while len(code_processes()) > len(fork_servers()):  # which others in this process may have, too
            await asyncio.sleep(0.05)


async def test_more_attacks_than_may_run_at_once_all_end(write_scenario: Write, hasty: ScenarioCode) -> None:
    scenarios = write_scenario("bad", files={"evaluators.py": ATTACKS})
    judged = await asyncio.gather(
        *(judged_by(hasty, scenarios / "bad", name) for name in ("leaves", "sleeps", "aborts", "floods", "hoards") * 2),
        return_exceptions=True,
    )
    assert {type(outcome) for outcome in judged} == {EvaluatorFailedError}


# --- loading ----------------------------------------------------------------------------------------------------------


async def test_code_that_never_ends_when_it_is_imported_is_refused(write_scenario: Write, hasty: ScenarioCode) -> None:
    files = {"evaluators.py": "import time\ntime.sleep(600)"}
    with pytest.raises(EvaluatorLoadError, check=says()):
        await hasty.load(write_scenario(files=files) / "small")


# --- processes --------------------------------------------------------------------------------------------------------


async def test_a_fork_server_that_is_lost_with_a_judgement_is_made_again_and_no_scenario_is_at_fault(
    write_scenario: Write, code: ScenarioCode
) -> None:
    scenarios = write_scenario("bad", files={"evaluators.py": ATTACKS + GOOD})
    of_others = code_processes()
    assert (await judged_by(code, scenarios / "bad", "check")).score == 3  # its code is compiled then
    idle = of_others | {fork_server.pid for fork_server in fork_servers()}
    await eventually(lambda: code_processes() <= idle)
    judging = asyncio.create_task(judged_by(code, scenarios / "bad", "sleeps"))
    await eventually(lambda: not code_processes() <= idle)
    before = code_processes()
    for fork_server in fork_servers():
        fork_server.kill()
    with pytest.raises(EvaluatorRetryError, check=says()):
        await judging
    await eventually(lambda: not any(map(is_running, before)))
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(EvaluatorRetryError):
                assert (await judged_by(code, scenarios / "bad", "check")).score == 3
                return


async def test_a_process_is_known_to_be_lost_with_a_fork_server_that_only_just_told_of_it(
    lender: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hear = ForkServer._hear

    def hear_last_words(fork_server: ForkServer, said: dict[str, int]) -> None:
        hear(fork_server, said)
        fork_server._abandon()  # its end was read together with what it said

    monkeypatch.setattr(ForkServer, "_hear", hear_last_words)
    process = await lender.fork(0)
    with pytest.raises(EvaluatorRetryError, check=says()):
        await process.what_ended_it()
    process.end()


async def test_nothing_is_left_when_it_is_closed(write_scenario: Write) -> None:
    code = ScenarioCode(LIMITS)
    scenarios = write_scenario("bad", files={"evaluators.py": ATTACKS})
    judging = asyncio.create_task(judged_by(code, scenarios / "bad", "sleeps"))
    await eventually(lambda: len(code_processes()) > len(fork_servers()) > 0)
    before = code_processes()
    lent = {p.pid for p in fork_servers()[:-1]}
    await code.aclose()
    await eventually(lambda: not any(psutil.pid_exists(pid) for pid in before - lent))
    judging.cancel()
    await asyncio.gather(judging, return_exceptions=True)


_WORKER = """
import asyncio, sys
from contextlib import suppress
from pathlib import Path
import psutil
from tests.activities.scenario_code import Limits, ScenarioCode, code_processes, fork_servers, judged_by

async def main():
    code = ScenarioCode(Limits(seconds=600))
    judging = asyncio.create_task(judged_by(code, Path(sys.argv[1]), "spins"))
    while True:
        await asyncio.sleep(0.02)
        children = [child for fork_server in fork_servers() for child in fork_server.children()]
        with suppress(psutil.NoSuchProcess):
            if any(child.cpu_times().user > 0.1 for child in children):  # one spins, and doesn't listen to anyone
                break
    print(*code_processes(), flush=True)
    await judging

asyncio.run(main())
"""


async def test_nothing_is_left_of_a_worker_that_was_killed(write_scenario: Write) -> None:
    scenarios = write_scenario("bad", files={"evaluators.py": ATTACKS})
    with running(program(_WORKER, str(scenarios / "bad")), by=signal.SIGKILL) as worker:
        left = [int(pid) for pid in (await asyncio.to_thread(read_line, worker)).split()]
        assert len(left) >= 2
    await eventually(lambda: not any(map(is_running, left)))
