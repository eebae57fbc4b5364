"""How the chat is shown and searched."""

from collections.abc import Iterator
from heapq import nlargest
from operator import itemgetter

import orjson

from proctor.ues.compact import fit, fit_list
from proctor.ues.modalities.chat.models import ChatQueryRequest, Content
from proctor.ues.modality import State, StateParams, View, page
from proctor.ues.schema import JsonObject

COMPACT_MESSAGES = 20
"""How many of the last messages the compact state shows."""


def show(view: View, params: StateParams) -> JsonObject:
    state = view.state
    messages, conversations = state["messages"], state["conversations"]
    if params.compact:
        last = reversed(messages[-COMPACT_MESSAGES:])
        messages = fit_list(
            ({name: value for name, value in message.items() if name != "metadata"} for message in last), 12_000
        )[::-1]
        newest = nlargest(COMPACT_MESSAGES, conversations.items(), key=lambda item: item[1]["last_message_at"])
        conversations = fit(newest, 6_000)
    return {
        "modality_type": "chat",
        "current_time": view.now,
        "conversations": conversations,
        "messages": messages,
        "total_message_count": len(state["messages"]),
        "conversation_count": len(state["conversations"]),
        "max_history_size": state["max_history_size"],
    }


def _text(content: Content) -> str:
    if isinstance(content, str):
        return content
    parts = [part["text"] for part in content if isinstance(part.get("text"), str)]
    return " ".join(parts) if parts else orjson.dumps(content).decode()


def query(view: View, request: ChatQueryRequest) -> JsonObject:
    needle = request.search.lower() if request.search is not None else None
    matches = [
        message
        for message in view.state["messages"]
        if (request.conversation_id is None or message["conversation_id"] == request.conversation_id)
        and (request.role is None or message["role"] == request.role)
        and (request.since is None or message["timestamp"] >= request.since)
        and (request.until is None or message["timestamp"] <= request.until)
        and (needle is None or needle in _text(message["content"]).lower())
    ]
    matches.sort(key=itemgetter(request.sort_by or "timestamp"), reverse=request.sort_order == "desc")
    return page(matches, request, "messages", "chat")


def digest(view: View) -> JsonObject:
    messages = view.state["messages"]
    return {
        "messages": len(messages),
        "conversations": len(view.state["conversations"]),
        "latest": [f"{m['role']}: {_text(m['content'])[:60]}" for m in reversed(messages[-3:])],
    }


def describe(state: State) -> str:
    return f"{len(state['messages'])} messages in {len(state['conversations'])} conversations"


def check(state: State) -> Iterator[str]:
    for message in state["messages"]:
        if message["conversation_id"] not in state["conversations"]:
            yield f"chat: message {message['message_id']} belongs to no known conversation"
