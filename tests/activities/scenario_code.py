"""Scenarios' code for tests, good and bad, and how it is asked for a verdict."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from proctor.activities.scenario_code.confinement import Limits
from proctor.activities.scenario_code.evidence import JudgeRecord
from proctor.activities.scenario_code.processes import Ask, JudgeJob, ScenarioCode
from proctor.activities.scenario_code.tasks import JudgeTask
from proctor.protocol.scenario import EvaluationCriterion
from purple_sdk.protocol.results import CriterionResult

Write = Callable[..., Path]

EVIDENCE = JudgeRecord(action_log=[], turn_notes={1: "done"}, initial_state={}, final_state={"email": {}})
LIMITS = Limits(seconds=60, memory_mb=256)
SHORT = Limits(seconds=1, memory_mb=256)

GOOD = """
from proctor.protocol.evaluation import EvalResult

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
    return {"score": 1, "max_score": 4, "explanation": "", "details": {"a": "a" * 50_000_000}}

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


def scenario_data(**changes: Any) -> dict[str, Any]:
    """A small valid ``scenario.json``: Ana works for nobody, the assistant works for Ana."""
    data: dict[str, Any] = {
        "scenario_id": "small",
        "name": "Small",
        "start_time": "2026-03-02T09:00:00+01:00",
        "end_time": "2026-03-02T12:00:00+01:00",
        "default_time_step": "PT1H",
        "user_prompt": "Ask Ben and Cleo whether Thursday suits them.",
        "user_character": "ana",
        "characters": {
            "ana": {"name": "Ana Alvarez", "email": "ana@home.example", "phone": "+34 600 000 001"},
            "ben": {
                "name": "Ben Brook",
                "email": "Ben@Work.example",
                "phone": "+34 600-000-002",
                "personality": "Terse and punctual.",
                "relationships": {"ana": "your manager"},
                "special_instructions": "Never meet before ten.",
                "response_timing": {"base_delay": "PT10M", "variance": "PT5M"},
                "scripted_replies": [
                    {"pattern": r"thursday.*room", "modality": "calendar", "response": "accepted", "reply": "See you"},
                    {"pattern": r"T15:00", "modality": "calendar", "response": "declined"},
                    {"pattern": r"^lunch\?\n", "modality": "email", "reply": "Not today."},
                    {"pattern": r"thank", "reply": ""},
                    {"pattern": r"thursday.*ten", "reply": "Thursday at ten is fine."},
                ],
            },
            "cleo": {"name": "Cleo Chan", "email": "cleo@else.example"},
        },
        "criteria": [
            {
                "criterion_id": "asked",
                "name": "Asked both",
                "dimension": "accuracy",
                "max_score": 10,
                "evaluation_prompt": "Were both asked?",
            }
        ],
        "initial_state": {"environment": {"modality_states": {"email": {"emails": {}}}}},
    }
    return data | changes


def criterion_by(function: str, params: dict[str, Any] | None = None) -> EvaluationCriterion:
    return EvaluationCriterion(
        criterion_id=f"c-{function}", name="C", dimension="accuracy", max_score=4, evaluator_id=function, params=params
    )


def bench_of(
    directory: Path, evidence: str = "e", has_model: bool = False, simulation: str = "http://127.0.0.1:9"
) -> JudgeJob:
    async def fetch() -> bytes:
        return EVIDENCE.model_dump_json().encode()

    task = JudgeTask.model_validate(
        {
            "directory": directory,
            "scenario": scenario_data(),
            "simulation": simulation,
            "reader_key": "reader",
            "has_model": has_model,
        }
    )
    return JudgeJob(task, evidence, fetch)


def fork_servers() -> list[psutil.Process]:
    """Those of this process."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it has just ended
            if "proctor.activities.scenario_code.fork_server" in " ".join(child.cmdline()):
                found.append(child)
    return found


def code_processes() -> set[int]:
    """The processes with scenarios' code, and those that they are forked from."""
    found: set[int] = set()
    for fork_server in fork_servers():
        with suppress(psutil.NoSuchProcess):  # it has just ended
            found |= {process.pid for process in [fork_server, *fork_server.children(recursive=True)]}
    return found


async def nobody(_question: dict[str, Any]) -> bytes:
    raise AssertionError("there is no model")


async def judged_by(
    code: ScenarioCode,
    directory: Path,
    function: str,
    ask: Ask = nobody,
    params: dict[str, Any] | None = None,
    simulation: str = "http://127.0.0.1:9",
) -> CriterionResult:
    bench = bench_of(directory, has_model=ask is not nobody, simulation=simulation)
    return await code.judge(bench, criterion_by(function, params), ask)
