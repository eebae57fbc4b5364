"""Evaluators whose assessments have servers of their own, and how the same goes on the embedded one."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from proctor_protocol.results import AssessmentResults
from tests.assessments.normalising import normalised
from tests.assessments.packages import write_package
from tests.assessments.scripts import diligent
from tests.foreign_ues.servers import Program
from tests.stack import Stack, play, running_stack

NO_MODELS = {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None, "OPENAI_API_BASE": None}


@pytest.fixture(scope="session")
def scenarios_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("scenarios")
    write_package(directory, "tiny")
    return directory


@pytest.fixture(scope="session")
def embedded(scenarios_dir: Path) -> AssessmentResults:
    """How the diligent participant fares on the embedded simulator; that evaluator has ended by now."""
    with running_stack(scenarios_dir, environment={**NO_MODELS, "AGENTBEATS_GREEN_UES_COMMAND": None}) as stack:
        results = asyncio.run(play(stack, "tiny", diligent))
    assert results.scores.overall.score == 18
    return results


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """A program that starts servers, none of which may be left afterwards."""
    program = Program(tmp_path)
    yield program
    left = program.processes()
    for process in left:
        process.kill()
    assert not left, "servers were left behind"


def judged(results: AssessmentResults) -> dict[str, Any]:
    """What must not depend on where the simulation lives."""
    return {name: value for name, value in normalised(results).items() if name != "turn_tries"}


def served_by(command: str, scenarios_dir: Path, port: int, **environment: str) -> AbstractContextManager[Stack]:
    """An evaluator whose assessments have servers of their own, at ports from ``port`` up."""
    settings = {"AGENTBEATS_GREEN_UES_COMMAND": command, "AGENTBEATS_GREEN_UES_BASE_PORT": str(port)}
    return running_stack(scenarios_dir, environment={**NO_MODELS, **settings, **environment})
