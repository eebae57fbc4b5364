"""An ordinary agent that raises once has its turn played again, whatever the server of its SDK makes of that."""

import pytest

from proctor_protocol.updates import ErrorOccurredUpdate
from tests.assessments.raising_agents import OUT_OF_MEMORY, ordinary_agent
from tests.stack import Stack, assess
from tests.work import only_nightly

WAYS = [
    ("1.0", "JSONRPC", False),
    pytest.param("1.0", "JSONRPC", True, marks=only_nightly),
    pytest.param("0.3", "JSONRPC", False, marks=only_nightly),
    ("0.3", "JSONRPC", True),
]


@pytest.mark.parametrize(("protocol", "binding", "streams"), WAYS)
async def test_an_agent_that_raises_once(stack: Stack, protocol: str, binding: str, streams: bool) -> None:
    async with ordinary_agent(protocol, binding, streams=streams) as (url, agent):
        assessed = await assess(stack, url, "tiny", max_turns=1)
    assert assessed.state == "completed", assessed.sentence
    assert assessed.results is not None
    assert assessed.results.turn_tries == {"1": 2}
    [told] = [update for update in assessed.updates if isinstance(update, ErrorOccurredUpdate)]
    assert (told.error_type, told.recoverable) == ("ParticipantFailed", True)
    assert told.error_message == f"The participant failed: {OUT_OF_MEMORY}"
    assert agent.seen[-2:] == [("turn_start", 2), ("assessment_complete", 0)]


async def test_an_agent_over_rest_that_raises_once(stack: Stack) -> None:
    """Its server says no more than HTTP 500."""
    async with ordinary_agent("1.0", "HTTP+JSON", streams=False) as (url, _):
        assessed = await assess(stack, url, "tiny", max_turns=1)
    assert assessed.state == "completed", assessed.sentence
    assert assessed.results is not None
    assert assessed.results.turn_tries == {"1": 2}


@pytest.mark.parametrize("streams", [pytest.param(False, marks=only_nightly), True], ids=["waits", "streams"])
async def test_an_agent_whose_task_fails_once(stack: Stack, streams: bool) -> None:
    async with ordinary_agent("1.0", "JSONRPC", streams=streams, with_task=True) as (url, _):
        assessed = await assess(stack, url, "tiny", max_turns=1)
    assert assessed.state == "completed", assessed.sentence
    [told] = [update for update in assessed.updates if isinstance(update, ErrorOccurredUpdate)]
    assert told.error_message == f"The participant's task failed: {OUT_OF_MEMORY}"
