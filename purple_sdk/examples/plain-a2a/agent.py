"""A participant on a2a-sdk 0.3 and httpx alone: it tells the user in the chat the number of new mails.

It needs nothing of proctor's: pip install 'a2a-sdk[http-server]>=0.3,<0.4' httpx uvicorn; python agent.py --port 8001
"""

import argparse
import asyncio
import json

import httpx
import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, DataPart, Message, Part, Role


class Doorman(AgentExecutor):
    """Answers the evaluator's three messages."""

    def __init__(self):
        self.starts, self.work = {}, {}  # by A2A context; by message id, since a message may come twice

    async def execute(self, context, event_queue):
        """Answer one message."""
        key, part = context.message.message_id, context.message.parts[0].root
        data = json.loads(part.text) if part.kind == "text" else part.data
        answer = {}
        if data["message_type"] == "assessment_start":
            self.starts[context.context_id] = data
        elif data["message_type"] == "turn_start":
            self.work[key] = self.work.get(key) or asyncio.create_task(self.play(self.starts[context.context_id], data))
            answer = await asyncio.shield(self.work[key])  # continues after the request is cut off
        ids = {"message_id": f"answer to {key}", "context_id": context.context_id}
        await event_queue.enqueue_event(Message(role=Role.agent, parts=[Part(root=DataPart(data=answer))], **ids))

    async def play(self, start, turn):
        """Act in the user's environment; returns the actions."""
        async with httpx.AsyncClient(base_url=start["ues_url"], headers={"X-API-Key": start["api_key"]}) as ues:
            mails = (await ues.post("email/query", json={"folder": "inbox", "is_read": False})).json()
            words = {"role": "assistant", "content": f"{mails['total_count']} unread mails"}
            await ues.post("chat/send", json=words)
        action = {"timestamp": turn["current_time"], "action": "chat.send", "parameters": words, "success": True}
        return {"message_type": "turn_complete", "actions": [action]}

    async def cancel(self, context, event_queue):
        """Do nothing: a turn is over too fast to cancel."""


parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=8001)
port = parser.parse_args().port
about = {"name": "doorman", "description": "Counts mail.", "version": "1", "url": f"http://127.0.0.1:{port}/"}
modes = {"default_input_modes": ["application/json"], "default_output_modes": ["application/json"]}
skill = AgentSkill(id="count", name="Count mail", description="Counts the unread mail.", tags=["mail"])
card = AgentCard(**about, **modes, capabilities=AgentCapabilities(), skills=[skill])
app = A2AStarletteApplication(card, DefaultRequestHandler(Doorman(), InMemoryTaskStore()))
uvicorn.run(app.build(), host="127.0.0.1", port=port)
