"""pydantic-ai: ``python -m purple_sdk.examples.frameworks.with_pydantic_ai --model gpt-4o``."""

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from purple_sdk.harness.functions import Turn, serve_function


async def play(turn: Turn) -> str:
    """Play a turn."""
    model = OpenAIChatModel(turn.model, provider=OpenAIProvider(base_url=turn.model_url, api_key=turn.key))
    tools = MCPToolset(turn.mcp_url, headers=turn.headers)
    result = await Agent(model, toolsets=[tools]).run(turn.prompt)
    return str(result.output)


if __name__ == "__main__":
    serve_function(play, name="pydantic-ai")
