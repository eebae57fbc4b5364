"""What readers of the pages can have done; see ``viewer.actions`` for how to add something."""

import hmac
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Literal

from temporalio.client import Client
from temporalio.service import RPCError

from proctor.caller import is_loopback
from proctor.errors import CommandError
from proctor.replay import choose, reset, reset_points
from proctor_protocol.archive import ArchiveEntry
from proctor_protocol.config import GreenAgentConfig
from proctor_storage.temporal import TemporalUnreachableError
from viewer.actions import Action, ActionRefusedError, Actions, Asked


def page_actions(config: GreenAgentConfig, connected: Callable[[], Awaitable[Client]]) -> Actions:
    """The actions of pages that are served at ``config.host``.

    Args:
        config: the deployment's settings.
        connected: the connection to Temporal.
    """
    for_nameless: Literal["all", "loopback", "none"] = "loopback" if is_loopback(f"//{config.host}") else "none"
    if config.pages_may_act:
        for_nameless = "all"

    async def replay(asked: Asked) -> str:
        await _go_on(asked, connected, from_judging=False)
        return asked.entry.id

    async def judge_again(asked: Asked) -> str:
        await _go_on(asked, connected, from_judging=True)
        return asked.entry.id

    return Actions(
        [
            Action(
                name="replay",
                label="Replay from this turn",
                do=replay,
                question=_before_replay,
                at_each_turn=True,
                needs_history=True,
            ),
            Action(
                name="judge-again", label="Judge again", do=judge_again, question=_before_judging, needs_history=True
            ),
        ],
        key=hmac.new(config.secret.get_secret_value().encode(), b"pages", sha256).digest(),
        for_nameless=for_nameless,
    )


async def _go_on(asked: Asked, connected: Callable[[], Awaitable[Client]], *, from_judging: bool) -> None:
    try:
        client = await connected()
        points = await reset_points(client, asked.entry.id)
        await reset(client, asked.entry.id, choose(points, asked.turn, from_judging))
    except (CommandError, TemporalUnreachableError, RPCError) as problem:
        raise ActionRefusedError(f"{problem}.") from None


def _before_replay(entry: ArchiveEntry, turn: int | None) -> str:
    return (
        f"The assessment goes back to the beginning of turn {turn}, and is played on from there. {_at_the_end(entry)}"
    )


def _before_judging(entry: ArchiveEntry, turn: int | None) -> str:
    return f"All criteria are judged anew; no turn is played again. {_at_the_end(entry)}"


def _at_the_end(entry: ArchiveEntry) -> str:
    if entry.status == "completed":
        return "It is completed: a new result takes the place of the one that it has."
    return f"It has ended as {entry.status}: what comes of it takes the place of that."
