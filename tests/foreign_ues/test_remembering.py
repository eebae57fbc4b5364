"""An agent that remembers is no worse off when its server dies, even one that chooses the keys' secrets by itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor_processes.ports import free_ports
from purple_sdk import create_app
from purple_sdk.examples.triage_agent import TriageAgent
from tests.foreign_ues.conftest import judged, served_by
from tests.foreign_ues.servers import Program
from tests.stack import SCENARIOS, Stack, agent_config, assess, listening

TURNS = 3


@pytest.fixture
def stack(program: Program) -> Iterator[Stack]:
    with served_by(program.command, SCENARIOS, free_ports(1)[0]) as stack:
        yield stack


async def test_a_server_that_dies_in_a_turn_costs_no_points(stack: Stack, program: Program, tmp_path: Path) -> None:
    """It is told the new key and goes on with what it remembers: set back to the turn's start, and no further."""
    async with listening(lambda url: create_app(TriageAgent, agent_config(url))) as url:
        undisturbed = await assess(stack, url, "email_triage_basic", max_turns=TURNS)
        program.die_at(*["POST /simulator/time/advance"] * 2, "POST /email/label")
        disturbed = await assess(stack, url, "email_triage_basic", max_turns=TURNS)
    assert program.trap.read_text() == "", "it did not die"
    assert undisturbed.results is not None
    assert disturbed.results is not None, disturbed.sentence
    assert disturbed.results.turn_tries == {"2": 2}
    assert disturbed.results.scores.overall.score > 0
    assert judged(disturbed.results) == judged(undisturbed.results)
