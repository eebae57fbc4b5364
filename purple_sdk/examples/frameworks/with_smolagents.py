"""smolagents: ``python -m purple_sdk.examples.frameworks.with_smolagents --model gpt-4o``."""

import asyncio

from smolagents import MCPClient, OpenAIServerModel, ToolCallingAgent

from purple_sdk.harness.functions import Turn, serve_function


async def play(turn: Turn) -> str:
    """Play a turn."""
    return await asyncio.to_thread(_play, turn)


def _play(turn: Turn) -> str:
    model = OpenAIServerModel(turn.model, api_base=turn.model_url, api_key=turn.key)
    server = {"transport": "streamable-http", "url": turn.mcp_url, "headers": turn.headers}
    with MCPClient(server, structured_output=False) as tools:
        for field in (field for tool in tools for field in tool.inputs.values()):
            field["nullable"] = True  # else every argument is required: it ignores the list of required ones
        return str(ToolCallingAgent(tools, model, max_steps=100).run(turn.prompt))


if __name__ == "__main__":
    serve_function(play, name="smolagents")
