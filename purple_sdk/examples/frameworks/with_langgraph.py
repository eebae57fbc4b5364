"""LangGraph: ``python -m purple_sdk.examples.frameworks.with_langgraph --model gpt-4o``."""

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.sessions import StreamableHttpConnection
from langchain_openai import ChatOpenAI

from purple_sdk.harness.functions import Turn, serve_function


async def play(turn: Turn) -> str:
    """Play a turn."""
    server = StreamableHttpConnection(transport="streamable_http", url=turn.mcp_url, headers=turn.headers)
    tools = await MultiServerMCPClient({"proctor": server}).get_tools()
    model = ChatOpenAI(model=turn.model, base_url=turn.model_url, api_key=turn.key)
    agent = create_agent(model, tools)
    result = await agent.ainvoke({"messages": [("user", turn.prompt)]}, {"recursion_limit": 100})
    return str(result["messages"][-1].text)


if __name__ == "__main__":
    serve_function(play, name="langgraph")
