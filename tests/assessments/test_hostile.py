"""Participants that mean harm, all at once, beside one that doesn't: each fails for what it did, and nobody else.

What every attack comes to is in ``tests/activities``; ``make nightly`` plays all of them.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.assessments.scripts import diligent
from tests.hostile import (
    MEGABYTE,
    Answers,
    Hostile,
    Json,
    Request,
    Response,
    card,
    events,
    hostile,
    much,
    packed,
)
from tests.sentences import says
from tests.stack import Assessed, Stack, assess, serving
from tests.work import NIGHTLY

CARD = "/.well-known/agent-card.json"
MOST_MEMORY = 400 * MEGABYTE


@dataclass(frozen=True)
class Attack:
    """How a participant answers, and how its assessment ends."""

    answers: Callable[[str], Answers]
    turn_timeout: float = 60


def in_turns(answer: Callable[[], Response | Json]) -> Callable[[str], Answers]:
    """A participant with a good card that is friendly until its first turn."""

    def reply(request: Request) -> Response | Json:
        if request.json["method"] != "SendMessage":
            return {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "there is no such method"}}
        said = json.loads(next(part["text"] for part in request.json["params"]["message"]["parts"] if "text" in part))
        return answer() if said["message_type"] == "turn_start" else spoken("Good day.")

    return lambda url: {CARD: lambda _: card(url), "/rpc": reply}


def spoken(text: str) -> Json:
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]}
    return {"jsonrpc": "2.0", "id": 1, "result": {"message": message}}


def dripping() -> Iterator[bytes]:
    """A card, byte by byte, each just before anybody's patience with a silent connection ends."""
    for byte in json.dumps({"name": "x" * 1000}):
        yield byte.encode()
        time.sleep(0.1)


TURN = {"message_type": "turn_complete", "actions": []}
VALUES = b'{"jsonrpc": "2.0", "id": 1, "result": {"message": {"parts": [{"data": [' + b"[]," * MEGABYTE + b"[]]}]}}}"
REPORT = json.dumps({**TURN, "actions": [0] * 100_000})

ATTACKS = {
    "a card of 500 MB": Attack(lambda _: {CARD: lambda _: Response(much(500))}),
    "a card of 500 MB, packed": Attack(lambda _: {CARD: lambda _: packed(500)}),
    "a card that drips": Attack(
        lambda _: {CARD: lambda _: Response(dripping())},
        turn_timeout=3,
    ),
    "an answer of 500 MB": Attack(in_turns(lambda: Response(much(500)))),
    "an answer of 500 MB, packed": Attack(in_turns(lambda: packed(500))),
    "an answer of a million lists": Attack(in_turns(lambda: Response([VALUES]))),
    "100,000 actions": Attack(in_turns(lambda: spoken(REPORT))),
    "notes of a megabyte": Attack(in_turns(lambda: spoken(json.dumps({**TURN, "notes": "x" * MEGABYTE})))),
    "events without end": Attack(in_turns(lambda: events(b": still here\n\n"))),
}
SHORT = ("a card that drips", "an answer of 500 MB, packed")


async def test_strangers_beside_a_neighbour(stack: Stack) -> None:
    attacks = ATTACKS if NIGHTLY else {name: ATTACKS[name] for name in SHORT}
    async with serving(diligent) as neighbour:
        in_peace = await assess(stack, neighbour, "tiny")
        with ExitStack() as servers:
            strangers = {name: servers.enter_context(hostile(attack.answers)) for name, attack in attacks.items()}
            attacked = asyncio.gather(
                *(stranger(stack, server, ATTACKS[name].turn_timeout) for name, server in strangers.items())
            )
            beside = await assess(stack, neighbour, "tiny")
            ended = dict(zip(strangers, await attacked, strict=True))

    for name in attacks:
        assert ended[name].sentence == says()
        assert ended[name].state == "failed"
        assert strangers[name].sent < 50 * MEGABYTE, name
    assert strangers["a card that drips"].paths == [CARD, CARD]  # to greet it, and to say goodbye: no other attempt
    assert beside.state == "completed", beside.sentence
    assert outcome(beside) == outcome(in_peace)
    assert peak_memory(stack.supervisor.find_pid("worker")) < MOST_MEMORY


async def stranger(stack: Stack, server: Hostile, turn_timeout: float) -> Assessed:
    return await assess(stack, server.url, "tiny", turn_timeout=turn_timeout, turn_tries=1)


def outcome(assessed: Assessed) -> Any:
    """What may not depend on anybody else."""
    results = assessed.results
    assert results is not None
    actions = [(action.turn, action.action, action.parameters) for action in results.action_log]
    return results.scores, actions, results.turn_tries, [update.message_type for update in assessed.updates]


def peak_memory(pid: int | None) -> int:
    """The most bytes that a process has ever had in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024
