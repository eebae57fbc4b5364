"""An ordinary agent that raises once has its turn played again, whatever the server of its SDK makes of that.

What it is heard to say is the same from every server: each is heard in this process, and one goes the whole way, as in
``make nightly`` all do.
"""

from datetime import UTC, datetime

import pytest
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant import ParticipantClients
from proctor.protocol.updates import ErrorOccurredUpdate
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.messages import TurnCompleteMessage, TurnStartMessage
from tests.assessments.raising_agents import ordinary_agent
from tests.sentences import says
from tests.stack import Stack, assess
from tests.work import only_nightly

HEARD = [
    ("1.0", "JSONRPC", False, False),
    ("1.0", "JSONRPC", True, False),
    ("0.3", "JSONRPC", False, False),
    ("0.3", "JSONRPC", True, False),
    ("1.0", "HTTP+JSON", False, False),  # its server says no more
    ("1.0", "JSONRPC", False, True),
    ("1.0", "JSONRPC", True, True),
]


@pytest.mark.parametrize(("protocol", "binding", "streams", "with_task"), HEARD)
async def test_what_is_heard_is_a_failure_to_try_again_after(
    protocol: str, binding: str, streams: bool, with_task: bool
) -> None:
    turn = TurnStartMessage(
        turn_number=1, current_time=datetime(2026, 3, 2, 9, tzinfo=UTC), events_processed=0, attempt=1
    )
    clients = ParticipantClients(GreenAgentConfig())
    async with (
        ordinary_agent(protocol, binding, streams=streams, with_task=with_task) as (url, agent),
        clients.talk(url, "an assessment") as line,
    ):
        with pytest.raises(ApplicationError) as problem:
            (await line.send(turn, "an id")).to_turn()
        again = await line.send(turn.model_copy(update={"attempt": 2}), "another id")
    await clients.aclose()
    assert problem.value.type == failures.PARTICIPANT_FAILED
    assert problem.value.message == says(url=url)
    assert again.to_turn() == TurnCompleteMessage(actions=[])
    assert agent.seen == [("turn_start", 1), ("turn_start", 2)]


WAYS = [
    ("1.0", "JSONRPC", False),
    pytest.param("1.0", "JSONRPC", True, marks=only_nightly),
    pytest.param("0.3", "JSONRPC", False, marks=only_nightly),
    pytest.param("0.3", "JSONRPC", True, marks=only_nightly),
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
    assert told.error_message == says()
    assert agent.seen[-2:] == [("turn_start", 2), ("assessment_complete", 0)]


@only_nightly
async def test_an_agent_over_rest_that_raises_once(stack: Stack) -> None:
    """Its server says no more than HTTP 500."""
    async with ordinary_agent("1.0", "HTTP+JSON", streams=False) as (url, _):
        assessed = await assess(stack, url, "tiny", max_turns=1)
    assert assessed.state == "completed", assessed.sentence
    assert assessed.results is not None
    assert assessed.results.turn_tries == {"1": 2}


@only_nightly
@pytest.mark.parametrize("streams", [False, True], ids=["waits", "streams"])
async def test_an_agent_whose_task_fails_once(stack: Stack, streams: bool) -> None:
    async with ordinary_agent("1.0", "JSONRPC", streams=streams, with_task=True) as (url, _):
        assessed = await assess(stack, url, "tiny", max_turns=1)
    assert assessed.state == "completed", assessed.sentence
    [told] = [update for update in assessed.updates if isinstance(update, ErrorOccurredUpdate)]
    assert told.error_message == says()
