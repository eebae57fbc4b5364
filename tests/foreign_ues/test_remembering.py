"""An agent that remembers is no worse off when its server dies, even one that chooses the keys' secrets by itself."""

from pathlib import Path

from purple_sdk import create_app
from purple_sdk.examples.triage_agent import TriageAgent
from tests.foreign_ues.conftest import judged
from tests.foreign_ues.servers import Program
from tests.stack import Stack, agent_config, assess, listening
from tests.work import only_nightly

TURNS = 3


@only_nightly
async def test_a_server_that_dies_in_a_turn_costs_no_points(served: Stack, limited: Program, tmp_path: Path) -> None:
    """It is told the new key and goes on with what it remembers: set back to the turn's start, and no further."""
    limited.be_limited()
    async with listening(lambda url: create_app(TriageAgent, agent_config(url))) as url:
        undisturbed = await assess(served, url, "email_triage_basic", max_turns=TURNS)
        limited.die_at(*["POST /simulator/time/advance"] * 2, "POST /email/label")
        disturbed = await assess(served, url, "email_triage_basic", max_turns=TURNS)
    assert limited.trap.read_text() == "", "it did not die"
    assert undisturbed.results is not None
    assert disturbed.results is not None, disturbed.sentence
    assert disturbed.results.turn_tries == {"2": 2}
    assert disturbed.results.scores.overall.score > 0
    assert judged(disturbed.results) == judged(undisturbed.results)
