"""The actions that readers of the pages can start. ``proctor.viewer.actions`` says how to add an action."""

import hmac
import json
from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import sha256
from typing import Any, Literal
from uuid import uuid4

from a2a.types import Message, Part, Role
from a2a.utils.errors import InvalidRequestError
from temporalio.client import Client
from temporalio.service import RPCError

from proctor.a2a_gateway.auth.quotas import Allowance, Share
from proctor.a2a_gateway.starting import start_assessment
from proctor.common.errors import CommandError, UsageError
from proctor.common.settings import is_open_to_others
from proctor.protocol.archive import ArchiveEntry
from proctor.protocol.callers import Caller
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import TemporalUnreachableError
from proctor.viewer.actions import Action, ActionRefusedError, ActionRequest, Actions, Field
from purple_sdk.protocol.problems import Problem
from purple_sdk.protocol.request import BadRequestError, parse_request


def page_actions(config: GreenAgentConfig, connected: Callable[[], Awaitable[Client]]) -> Actions:
    """The actions of pages that are served at ``config.host``."""
    for_nameless: Literal["all", "loopback", "none"] = "none" if is_open_to_others(config.host) else "loopback"
    if config.pages_may_act:
        for_nameless = "all"

    allowance = Allowance(config)
    replay = partial(_reset_assessment, connected=connected, allowance=allowance, from_judging=False)
    judge_again = partial(_reset_assessment, connected=connected, allowance=allowance, from_judging=True)
    fork = partial(_fork, connected=connected, task_queue=config.task_queue, allowance=allowance)
    return Actions(
        [
            Action(
                name="fork",
                label="Fork from this turn",
                do=fork,
                question=lambda _, turn: (
                    f"A new assessment begins with this one's turns before turn {turn}, and plays on from there. "
                    "This one stays."
                ),
                at_each_turn=True,
                is_offered=lambda entry: (
                    entry.kind == "assessment" and entry.package is not None and not entry.roles and not entry.part_of
                ),
                fields=(
                    Field("agent", "Who plays", "url", lambda entry: entry.participant_url),
                    Field("seed", "Seed of what characters do", "number", lambda entry: str(entry.seed or 0)),
                ),
            ),
            Action(
                name="replay",
                label="Replay from this turn",
                do=replay,
                question=lambda entry, turn: (
                    f"The assessment goes back to the beginning of turn {turn}, and is played on from there. "
                    f"{_at_the_end(entry)}"
                ),
                at_each_turn=True,
                needs_history=True,
            ),
            Action(
                name="continue",
                label="Continue from what failed",
                do=replay,
                question=lambda entry, _: (
                    f"The assessment goes back to the step that failed, and continues from there. {_at_the_end(entry)}"
                ),
                is_offered=lambda entry: entry.kind == "assessment" and entry.status in ("failed", "timeout"),
                needs_history=True,
            ),
            Action(
                name="judge-again",
                label="Judge again",
                do=judge_again,
                question=lambda entry, _: (
                    f"All criteria are judged again; no turn is played again. {_at_the_end(entry)}"
                ),
                needs_history=True,
            ),
        ],
        key=hmac.new(config.secret.get_secret_value().encode(), b"pages", sha256).digest(),
        for_nameless=for_nameless,
    )


async def _reset_assessment(
    request: ActionRequest, connected: Callable[[], Awaitable[Client]], allowance: Allowance, *, from_judging: bool
) -> str:
    from proctor.client.replay import choose, reset, reset_points  # it imports the output of commands

    task_id = request.entry.id
    try:
        client = await connected()
        async with allowance.reserve_room(client, _find_caller(request), Share(), task_id, is_again=True):
            point = choose(await reset_points(client, task_id), request.turn, from_judging)
            await reset(client, task_id, point)
    except InvalidRequestError as error:
        raise ActionRefusedError(str(error)) from None
    except (CommandError, TemporalUnreachableError, RPCError) as error:
        problem_of_option = Problem.of(error).remedy if isinstance(error, UsageError) else ""
        raise ActionRefusedError(f"{problem_of_option or error}.") from None
    return task_id


async def _fork(
    request: ActionRequest, connected: Callable[[], Awaitable[Client]], task_queue: str, allowance: Allowance
) -> str:
    """Start a fork; its owner is the original's owner."""
    entry, seed = request.entry, request.fields.get("seed", "").strip()
    if seed and not seed.lstrip("-").isdecimal():
        raise ActionRefusedError(f"The seed is {seed[:80]!r}: write a whole number.")
    agent = request.fields.get("agent", "").strip()
    asks_for: dict[str, Any] = {
        "participants": {entry.role or "personal_assistant": agent} if agent else {},
        "config": {"fork_of": entry.id, "from_turn": request.turn, **({"seed": int(seed)} if seed else {})},
    }
    text = json.dumps(asks_for)
    try:
        parse_request(text)
        message = Message(message_id=str(uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
        started = await start_assessment(await connected(), message, task_queue, _find_caller(request), allowance)
    except (BadRequestError, InvalidRequestError) as error:
        raise ActionRefusedError(str(error)) from None
    except (TemporalUnreachableError, RPCError) as error:
        raise ActionRefusedError(f"{error}.") from None
    return started.task_id


def _find_caller(request: ActionRequest) -> Caller:
    """The caller for whom an action starts. An admin's action for another caller doesn't count against a quota."""
    return request.caller if request.caller.name == request.entry.owner else Caller(name=request.entry.owner)


def _at_the_end(entry: ArchiveEntry) -> str:
    if entry.status == "completed":
        return "It is completed: a new result takes the place of the one that it has."
    return f"It has ended as {entry.status}: the new result takes its place."
