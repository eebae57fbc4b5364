"""A participant on pydantic-ai behind fasta2a; it runs in an environment of its own: ``python … --port PORT``.

Its model is a function: the first answer of a turn is prose, and JSON in a fence comes when it is asked once more.
"""

import argparse
import json
from typing import Any

import uvicorn
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    said = [str(getattr(part, "content", "")) for part in messages[-1].parts]
    if any("could not be read" in text for text in said):
        turn = {"message_type": "turn_complete", "notes": "Nothing to do."}
        return ModelResponse(parts=[TextPart(f"Here it is:\n```json\n{json.dumps(turn, indent=2)}\n```")])
    return ModelResponse(parts=[TextPart("I am done.")])


def app(port: int) -> Any:
    agent = Agent(FunctionModel(answer))
    url = f"http://127.0.0.1:{port}/"
    try:
        from fasta2a.pydantic_ai import agent_to_a2a
    except ImportError:  # pydantic-ai 1 with fasta2a below 1
        return agent.to_a2a(url=url, name="pydantic-ai")
    return agent_to_a2a(agent, url=url, name="pydantic-ai")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    chosen = parser.parse_args().port
    uvicorn.run(app(chosen), host="127.0.0.1", port=chosen, log_level="warning")
