"""Evaluators whose assessments have servers of their own, and how the same goes on the embedded one."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.results import AssessmentResults
from tests.assessments.beside import evaluator_beside
from tests.assessments.normalising import normalised
from tests.assessments.scripts import diligent
from tests.foreign_ues.servers import Program
from tests.stack import Stack, play

NO_MODELS = {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None, "OPENAI_API_BASE": None}


@pytest.fixture(scope="session")
def embedded(stack: Stack) -> AssessmentResults:
    """How the diligent participant fares on the embedded simulator."""
    results = asyncio.run(play(stack, "tiny", diligent))
    assert results.scores.overall.score == 18
    return results


@pytest.fixture(scope="session")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The program of the evaluator that ``served`` is."""
    return Program(tmp_path_factory.mktemp("limited"))


@pytest.fixture(scope="session")
def served(stack: Stack, limited: Program, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A worker and a gateway with limited servers, on the Temporal server of ``stack``."""
    settings: dict[str, str | None] = {
        "AGENTBEATS_GREEN_UES_COMMAND": limited.command,
        "AGENTBEATS_GREEN_UES_BASE_PORT": str(free_ports(1)[0]),
        "AGENTBEATS_GREEN_UES_START_TIMEOUT": "240",
        **NO_MODELS,
    }
    folder = tmp_path_factory.mktemp("served")
    with evaluator_beside(stack, "foreign", folder, settings, ("worker", "gateway")) as running:
        yield running
    assert limited.are_all_gone()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """A program that starts servers, none of which may be left afterwards."""
    program = Program(tmp_path)
    yield program
    are_gone = program.are_all_gone()  # a server that was told to end takes a moment
    for process in program.processes():
        process.kill()
    assert are_gone, "servers were left behind"


def judged(results: AssessmentResults) -> dict[str, Any]:
    """What must not depend on where the simulation lives."""
    return {name: value for name, value in normalised(results).items() if name != "turn_tries"}
