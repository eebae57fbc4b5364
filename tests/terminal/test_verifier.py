"""Verdicts that an agent cannot move: tests in a fresh container, against what an agent may have changed."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiodocker import DockerError

from proctor.terminal import environments, fresh
from proctor.terminal.engine import Engine
from proctor.terminal.failures import EnvironmentLostError
from proctor.terminal.references import EnvironmentRef
from tests.terminal.conftest import Trial, Trials
from tests.terminal.tampering import HARBOR, TAMPERING, VERSION_ONE, command, harbor, version_one
from tests.terminal.writing import DONE, format_two
from tests.work import NIGHTLY, only_nightly

_FEW = ("python3 replaced",)
_CASES = [
    *((version_one, name) for name in (VERSION_ONE if NIGHTLY else _FEW)),
    *((harbor, name) for name in (HARBOR if NIGHTLY else ())),
]


def _attack(name: str, folder: Path) -> str:
    found = command(name, folder)
    if found is None:
        pytest.skip("no C compiler is here")
    return found


@pytest.mark.parametrize(("make", "name"), _CASES, ids=lambda each: each if isinstance(each, str) else each.__name__)
async def test_no_change_of_the_agents_makes_failing_tests_pass(
    trials: Trials, tmp_path: Path, make: Callable[[Path], Path], name: str
) -> None:
    trial = await trials.of(make(tmp_path / "task"))
    await trial.act(_attack(name, tmp_path))
    outcome = await trial.test(verifier="separate")
    assert (outcome.verifier, bool(outcome.is_resolved), outcome.reward) == ("separate", False, 0.0), outcome.log
    print(f"TABLE | {make.__name__} | {name} | separate | {outcome.is_resolved} | doubts {len(outcome.doubts)}")
    if NIGHTLY:
        other = await trials.of(make(tmp_path / "task"), "trial-2")
        await other.act(_attack(name, tmp_path))
        moved = await other.test(verifier="same-container")
        print(f"TABLE | {make.__name__} | {name} | same | {moved.is_resolved} | doubts {len(moved.doubts)}")
        assert not moved.is_resolved or moved.doubts, "a verdict that was moved is marked"


class Killed(BaseException):
    """A worker that is no more: nothing that it would do in ``finally`` reaches the engine, either."""


class KilledAt:
    """Has an engine's user die at one of its requests, and at all that follow."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch, at: Callable[[int, str], bool]) -> None:
        self.requests: list[str] = []
        self._full_path, self._is_dead = at, False
        asking, speaking = engine.asking, engine.speaking

        @asynccontextmanager
        async def counted(method: str, path: str, *arguments: Any, **named: Any) -> AsyncIterator[Any]:
            self.count(f"{method} {path}")
            async with asking(method, path, *arguments, **named) as answer:
                yield answer

        @contextmanager
        def speaks() -> Iterator[None]:
            if self._is_dead:
                raise Killed
            with speaking():
                yield

        monkeypatch.setattr(engine, "asking", counted)
        monkeypatch.setattr(engine, "speaking", speaks)

    def count(self, request: str) -> None:
        self._is_dead = self._is_dead or self._full_path(len(self.requests), request)
        self.requests.append(request)
        if self._is_dead:
            raise Killed


_PHASES: dict[str, str] = {
    "the agent's container is stopped": r"POST containers/[^/]+/kill",
    "the changes are read": r"GET containers/[^/]+/changes",
    "the fresh container is made": r"POST containers/create$",
    "the fresh container starts": r"POST containers/[^/]+/start",
    "the files are laid over": r"PUT containers/[^/]+/archive",
    "the tests run": r"POST containers/[^/]+/exec",
}
_SAYS = {"touch /app/done": (True, ()), TAMPERING["conftest.py in /"]: (False, ("/conftest.py",))}


async def _tested(trial: Trial) -> tuple[Any, ...]:
    outcome = await trial.test(verifier="separate")
    doubts, left = tuple(doubt.item for doubt in outcome.doubts), [doubt.command for doubt in outcome.left_running]
    assert (outcome.verifier, left) == ("separate", ["sleep"]), outcome
    return outcome.is_resolved, doubts


@only_nightly  # by default: test_tests_whose_fresh_container_is_lost_begin_again_with_the_agents_files
@pytest.mark.parametrize("phase", _PHASES)
@pytest.mark.parametrize("act", _SAYS, ids=lambda act: str(_SAYS[act][0]))
async def test_a_worker_that_is_killed_in_a_phase_moves_no_verdict(
    trials: Trials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, act: str
) -> None:
    trial = await trials.of(version_one(tmp_path / "task"))
    await trial.act(f"{act}\nnohup sleep 900 >/dev/null 2>&1 &")
    filled: list[str] = []

    def at(_number: int, request: str) -> bool:
        if request.startswith("PUT"):  # the agent's files, then the tests
            filled.append(request)
        return re.search(_PHASES[phase], request) is not None and (phase != "the tests run" or len(filled) > 1)

    with monkeypatch.context() as patched:
        KilledAt(trials.engine, patched, at)
        with pytest.raises(Killed):
            await trial.test(verifier="separate")
    assert await _tested(trial) == _SAYS[act]


async def test_tests_whose_fresh_container_is_lost_begin_again_with_the_agents_files(
    trials: Trials, tmp_path: Path
) -> None:
    """Not the trial: the agent's container and its files are there."""
    test = f"if {DONE}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
    trial = await trials.of(format_two(tmp_path / "task", {"tests/test.sh": f"{test}sleep 900\n"}))
    trial.task = trial.task.model_copy(update={"needs_processes": False})
    await trial.act("touch /app/done; nohup sleep 900 >/dev/null 2>&1 &")
    assert not await fresh.is_kept(trials.engine, trial.ref)
    testing = asyncio.create_task(trial.test(verifier="separate"))
    while (place := await fresh.find(trials.engine, trial.ref)) is None or not await _is_testing(trials.engine, place):
        await asyncio.sleep(0.2)
    await trials.engine.ask("POST", f"containers/{place.container_id}/kill")
    with pytest.raises(EnvironmentLostError):
        await testing
    (tmp_path / "task" / "tests" / "test.sh").write_text(test)
    assert await environments.ended_by_itself(trials.engine, place) is None
    assert await fresh.is_kept(trials.engine, trial.ref)
    assert await _tested(trial) == (True, ())


async def _is_testing(engine: Engine, place: EnvironmentRef) -> bool:
    try:
        running = await engine.ask("GET", f"containers/{place.container_id}/top", {"ps_args": "-eo pid,args"})
    except DockerError:
        return False
    return any("/tests/" in " ".join(process) for process in running["Processes"])


def _is_at(at_request: int, number: int, _request: str) -> bool:
    return number == at_request


@only_nightly
@pytest.mark.parametrize("act", _SAYS, ids=lambda act: str(_SAYS[act][0]))
async def test_a_worker_that_is_killed_at_any_request_moves_no_verdict(
    trials: Trials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    at_request, was_killed = 0, True
    while was_killed:
        trial = await trials.of(version_one(tmp_path / "task"), f"trial-{at_request}")
        await trial.act(f"{act}\nnohup sleep 900 >/dev/null 2>&1 &")
        with monkeypatch.context() as patched:
            killed = KilledAt(trials.engine, patched, partial(_is_at, at_request))
            try:
                await trial.test(verifier="separate")
                was_killed = False
            except Killed:
                pass
        print(f"KILLED | {at_request} | {killed.requests[min(at_request, len(killed.requests) - 1)]}")
        assert await _tested(trial) == _SAYS[act], killed.requests
        await environments.remove(trials.engine, trials.run, trial.name)
        at_request += 1
    assert at_request > 15
