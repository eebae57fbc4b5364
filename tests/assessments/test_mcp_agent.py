"""An agent with nothing of ours: LangChain's MCP adapters for the environment, a model for the rest, A2A by hand."""

from typing import TYPE_CHECKING, Any

from tests.assessments import participants
from tests.assessments.participants import DONE, by_hand
from tests.openai_endpoint import OpenAIEndpoint
from tests.stack import Stack, assess

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

MAIL = {
    "from_address": "ana@home.example",
    "to_addresses": ["ben@work.example"],
    "subject": "Lunch?",
    "body_text": "Thursday? Thanks!",
}


async def act(start: dict[str, Any], model: "ChatOpenAI") -> list[str]:
    """Ask the model once and use the tools that it asks for; what they say."""
    from langchain_core.messages import HumanMessage
    from langchain_mcp_adapters.client import MultiServerMCPClient

    headers = {"X-API-Key": start["api_key"]}
    client = MultiServerMCPClient(
        {"user": {"transport": "streamable_http", "url": start["mcp_url"], "headers": headers}}
    )
    tools = {tool.name: tool for tool in await client.get_tools()}
    answer = await model.bind_tools(list(tools.values())).ainvoke([HumanMessage(start["assessment_instructions"])])
    return [str(await tools[call["name"]].ainvoke(call["args"])) for call in answer.tool_calls]


async def test_an_agent_that_speaks_mcp_plays_and_is_scored_by_the_same_log(stack: Stack) -> None:
    from langchain_openai import ChatOpenAI

    heard: list[str] = []
    with OpenAIEndpoint() as endpoint:
        endpoint.decide = lambda _request: {"tool_calls": [("email_send", MAIL), ("email_query", {"folder": "sent"})]}
        model = ChatOpenAI(model="small", base_url=endpoint.base_url, api_key="unused")

        async def answer(_turn: dict[str, Any]) -> Any:
            heard.extend(await act(participant.messages[0], model))
            return participants.message(participants.data(DONE))

        async with by_hand(answer) as participant:
            assessed = await assess(stack, participant.url, "tiny", max_turns=1)
    results = assessed.results
    assert results is not None, assessed.sentence
    assert [(entry.action, entry.success) for entry in results.action_log] == [("email.send", True)]
    assert results.action_log[0].parameters["to_addresses"] == ["ben@work.example"]
    assert {c.criterion_id: c.score for c in results.criteria_results}["asked"] == 10
    sent, found = heard
    assert "executed" in sent
    assert "Lunch?" in found
    offered = {tool["function"]["name"] for tool in endpoint.requests[0]["tools"]}
    assert {"email_send", "chat_send", "calendar_update"} <= offered
