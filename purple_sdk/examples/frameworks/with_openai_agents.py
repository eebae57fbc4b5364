"""OpenAI Agents SDK: ``python -m purple_sdk.examples.frameworks.with_openai_agents --model gpt-4o``."""

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI

from purple_sdk.harness.functions import Turn, serve_function


async def play(turn: Turn) -> str:
    """Play a turn."""
    set_tracing_disabled(True)
    model = OpenAIResponsesModel(turn.model, AsyncOpenAI(base_url=turn.model_url, api_key=turn.key))
    async with MCPServerStreamableHttp({"url": turn.mcp_url, "headers": turn.headers}) as server:
        agent = Agent("assistant", model=model, mcp_servers=[server])
        result = await Runner.run(agent, turn.prompt, max_turns=100)
    return str(result.final_output)


if __name__ == "__main__":
    serve_function(play, name="openai-agents", wire="responses")
