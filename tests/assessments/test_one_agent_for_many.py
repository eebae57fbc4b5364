"""One agent process is assessed many times at once, and no assessment has anything of another."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from purple_sdk.protocol.results import AssessmentResults
from tests.assessments.normalising import normalised
from tests.programs import Process, serving
from tests.stack import Stack, assess
from tests.work import only_nightly

pytestmark = pytest.mark.timeout(3600)
TURNS = 3


async def assessed(stack: Stack, url: str, scenario: str, seed: int, turns: int) -> AssessmentResults:
    # All may have to wait for the last of them, on a busy machine.
    done = await assess(stack, url, scenario, seed=seed, max_turns=turns, turn_timeout=3_000)
    assert done.state == "completed", done.sentence
    assert done.results is not None
    return done.results


@contextmanager
def measured(what: str, stack: Stack, agent: Process) -> Iterator[None]:
    """Print how long it took, and the most memory that agent and services held."""
    began = time.monotonic()
    yield
    pids = {"agent": agent.pid}
    pids |= {name: pid for name in ("worker", "ues", "gateway") if (pid := stack.supervisor.find_pid(name))}
    memory = ", ".join(f"{name} {psutil.Process(pid).memory_info().rss / 1e6:.0f} MB" for name, pid in pids.items())
    print(f"{what}: {time.monotonic() - began:.1f} s; {memory}")


@only_nightly  # by default: tests/purple_sdk/test_turns.py::test_many_assessments_at_once
@pytest.mark.parametrize("at_once", [2, 64])
async def test_all_at_once_in_one_process_none_has_anything_of_another(stack: Stack, at_once: int) -> None:
    with (
        serving("tests.assessments.registrar", "--port", "0", "--host", "127.0.0.1", AT_ONCE=str(at_once)) as (
            url,
            agent,
        ),
        measured(f"{at_once} at once, {TURNS} turns each", stack, agent),
    ):
        results = await asyncio.gather(*(assessed(stack, url, "tiny", seed, TURNS) for seed in range(at_once)))
    names = set()
    for result in results:
        said = [json.loads(str(entry.parameters["content"])) for entry in result.action_log]
        [name] = {each["name"] for each in said}
        assert [(entry.turn, entry.success) for entry in result.action_log] == [(1, True), (2, True), (3, True)]
        assert [report["turns"] for report in said] == [[1], [1, 2], [1, 2, 3]], "its memory is its own"
        assert [report["before"] for report in said] == [[], [name], [name]], "so is its simulation"
        assert (result.action_report.unreported, result.action_report.never_happened) == ([], [])
        names.add(name)
    assert len(names) == at_once


@only_nightly
async def test_sixty_four_whole_days_at_once_end_as_each_does_alone(stack: Stack) -> None:
    seeds = [1, 2, 3, 4]
    with serving("purple_sdk.examples.triage_agent", "--port", "0", "--host", "127.0.0.1") as (url, agent):
        alone = {seed: await assessed(stack, url, "email_triage_basic", seed, 12) for seed in seeds}
        with measured("64 whole days at once, 12 turns each", stack, agent):
            together = await asyncio.gather(
                *(assessed(stack, url, "email_triage_basic", seed, 12) for seed in 16 * seeds)
            )
    for result in together:
        assert result.seed is not None
        assert normalised(result) == normalised(alone[result.seed])
