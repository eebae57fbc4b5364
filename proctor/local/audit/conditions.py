"""Check 12: the oracle earns all points under noise and a running clock.

Before the oracle repeats a failed action, it checks whether the action was carried out.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from proctor.local.audit.plays import Perform, make_request, perform
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import Act
from purple_sdk.ues import AsyncUESClient, UESError
from purple_sdk.ues.errors import ServerError

CONDITIONS = ("noise 1", "noise 2", "noise 3", "fixed:5", "fixed:5, noise 3")
"""The conditions of the check's plays. The clock ``measured`` is left out: the oracle takes no time."""

_TRIES = 12
_LOOKS = 6  # how often the state is read, since a single answer may be outdated


def parse_conditions(words: str) -> tuple[str, int]:
    clock, _, noise = words.rpartition("noise ")
    return ((clock.rstrip(", ") or "standing"), int(noise)) if "noise" in words else (words, 0)


def carefully() -> Perform:
    """Return a function that does acts through an unreliable API, each act exactly once."""
    confirmed: Counter[str] = Counter()

    async def do(act: Act, day: Day, client: AsyncUESClient, voice: int = 0) -> None:
        action, fields = make_request(act, day, voice)
        key = json.dumps([action, fields], sort_keys=True, default=str)
        for _ in range(_TRIES):
            try:
                await perform(act, day, client, voice)
                break
            except ServerError:
                if await _is_there(client, action, fields, confirmed[key] + 1):
                    break
        confirmed[key] += 1

    return do


async def _is_there(client: AsyncUESClient, action: str, fields: Mapping[str, Any], count: int) -> bool:
    """Whether at least ``count`` objects of an action exist, as far as the API shows them."""
    for _ in range(_LOOKS):
        try:
            states = (await client.environment.get_state())["modalities"]
        except UESError:
            continue
        if _count(states, action, fields) >= count:
            return True
    return False


def _count(states: Mapping[str, Any], action: str, fields: Mapping[str, Any]) -> int:
    """The number of objects that an action has made in a state; 0 for an action that may be repeated without harm."""
    match action:
        case "email.send" | "email.forward":
            mine, theirs = ("body_text", "body_text") if action == "email.send" else ("message_id", "in_reply_to")
            return sum(
                mail["folder"] == "sent"
                and mail[theirs] == fields[mine]
                and set(fields["to_addresses"]) <= set(mail["to_addresses"])
                for mail in states["email"]["emails"].values()
            )
        case "sms.send":
            texts = states["sms"]["messages"].values()
            return sum(text["body"] == fields["body"] and text["direction"] == "outgoing" for text in texts)
        case "chat.send_message":
            return sum(message["content"] == fields["content"] for message in states["chat"]["messages"])
        case "calendar.create":
            return sum(entry["title"] == fields["title"] for entry in states["calendar"]["events"].values())
        case "calendar.delete":
            return int(fields["event_id"] not in states["calendar"]["events"])
    return 0
