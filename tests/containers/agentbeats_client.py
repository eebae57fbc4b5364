"""What AgentBeats' own client does, on protocol 0.3 and by hand.

``python -m tests.containers.agentbeats_client GREEN ROLE=URL …`` reads the evaluator's card at the address that it was
given, streams one request to that address (whatever the card says), waits for a terminal state, and keeps of the
artifacts the data parts and the texts that are JSON. It prints what a leaderboard would file: ``{"status",
"participants", "results"}``. The exit code is 1 unless the task completed.
"""

import argparse
import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

import httpx

from tests.a2a_gateway.callers import message03, stream03, text03

CARD = "/.well-known/agent-card.json"
TERMINAL = ("completed", "failed", "canceled", "rejected")


def kept_of(parts: list[dict[str, Any]]) -> list[Any]:
    """Of an artifact's parts what the platform keeps."""
    kept = []
    for part in parts:
        if part["kind"] == "data":
            kept.append(part["data"])
        elif part["kind"] == "text":
            with suppress(ValueError):
                kept.append(json.loads(part["text"]))
    return kept


async def ask(green: str, participants: dict[str, str], config: dict[str, Any]) -> dict[str, Any]:
    """Ask for an assessment, and give what the platform files of it."""
    status, results = "", []
    async with httpx.AsyncClient(base_url=green, timeout=300) as http:
        (await http.get(CARD)).raise_for_status()
        request = message03(text03({"participants": participants, "config": config}))
        async for event in stream03(http, "message/stream", request):
            happened = event["result"]
            if happened["kind"] == "artifact-update":
                results += kept_of(happened["artifact"]["parts"])
            else:
                status = happened["status"]["state"]
    assert status in TERMINAL, f"the stream ended while the task was {status}"
    return {"status": status, "participants": dict.fromkeys(participants, "its-id"), "results": results}


def main() -> int:
    """Ask as the command line says."""
    reader = argparse.ArgumentParser(description="What AgentBeats' own client does.")
    reader.add_argument("green")
    reader.add_argument("participants", nargs="+", metavar="ROLE=URL")
    reader.add_argument("--config", type=json.loads, default={})
    given = reader.parse_args()
    participants = dict(participant.split("=", 1) for participant in given.participants)
    filed = asyncio.run(ask(given.green, participants, given.config))
    print(json.dumps(filed))
    return 0 if filed["status"] == "completed" else 1


if __name__ == "__main__":
    sys.exit(main())
