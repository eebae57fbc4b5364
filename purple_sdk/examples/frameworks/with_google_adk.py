"""Google ADK: ``python -m purple_sdk.examples.frameworks.with_google_adk --model gemini-2.5-flash``."""

import os

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from google.genai.types import Content, Part

from purple_sdk.harness.functions import Turn, serve_function


async def play(turn: Turn) -> str:
    """Play a turn."""
    os.environ.update(GOOGLE_GEMINI_BASE_URL=turn.model_url, GOOGLE_API_KEY=turn.key, GEMINI_API_KEY=turn.key)
    tools = McpToolset(connection_params=StreamableHTTPConnectionParams(url=turn.mcp_url, headers=turn.headers))
    runner = InMemoryRunner(LlmAgent(name="assistant", model=turn.model, tools=[tools]), app_name="proctor")
    session = await runner.session_service.create_session(app_name="proctor", user_id="user")
    prompt, answer = Content(role="user", parts=[Part(text=turn.prompt)]), ""
    async for event in runner.run_async(user_id="user", session_id=session.id, new_message=prompt):
        answer = "".join(part.text or "" for part in event.content.parts or []) if event.content else answer
    await tools.close()
    return answer


if __name__ == "__main__":
    serve_function(play, name="google-adk", wire="gemini")
