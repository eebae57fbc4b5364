"""Follow a call of any kind to its end, cancel it by Ctrl-C, and make a folder for its results."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from proctor.client.caller import CANCEL_SECONDS, Accepted, AssessmentCall, CallEvent, Ended
from proctor.common.console import command_name
from proctor.common.errors import CancelledError, CommandError, UsageError
from proctor.common.interrupts import done_before
from proctor.common.phrases import clean
from proctor.common.settings import default_gateway
from purple_sdk.protocol.problems import describe

M = TypeVar("M", bound=BaseModel)


class Display(Protocol):
    """A display of a call's events."""

    def show(self, event: CallEvent) -> None:
        """Show one event."""

    def say(self, sentence: str) -> None:
        """Show a sentence about the call itself."""


async def followed(
    call: AssessmentCall, display: Display, interrupted: asyncio.Event, what: str = "assessment"
) -> tuple[Accepted | None, Ended]:
    """Show the progress of a call until it ends.

    Args:
        call: the assessment or campaign, as an entered context manager.
        interrupted: when set, the call is cancelled.
        what: ``assessment``, ``campaign`` or ``run``, for messages.

    Raises:
        CommandError: a cancellation isn't confirmed, or ``AssessmentCall.events`` raises an error.
    """
    following = asyncio.create_task(_follow(call, display))
    try:
        if not await done_before(following, interrupted):
            await _cancel(call, display, following, what)
        return await following
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def read_results(kind: type[M], exact: bytes, what: str) -> M:
    """The results of a call from its artifact.

    Args:
        what: completes "the gateway's result is not …".

    Raises:
        CommandError: the artifact doesn't hold results of this kind.
    """
    try:
        return kind.model_validate_json(exact)
    except ValidationError as error:
        raise CommandError(f"the gateway's result is not {what}: {describe(error)}") from None


def new_folder(output: Path, name: str, option: str) -> Path:
    """Make a folder with this name in ``output``; if it exists, append a number to the name.

    Args:
        output: the folder in which the new folder is made; it may be missing.
        name: the new folder's name.
        option: the option that chose ``output``, for the error message.

    Raises:
        UsageError: the folder can't be made.
    """
    number = 1
    while True:
        folder = output / (name if number == 1 else f"{name}_{number}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1
            if not output.is_dir():
                raise UsageError(f"{output} isn't a folder: name another one with {option}") from None
        except OSError as error:
            raise UsageError(f"{output} can't be written ({error.strerror}): name another one with {option}") from None


def require_completed(ended: Ended, what: str) -> None:
    """Raise an error that says how a call ended, unless it completed with a result."""
    match ended.state:
        case "rejected":
            raise UsageError(clean(ended.sentence) or "the request was rejected")
        case "canceled":
            raise CancelledError(f"the {what} is cancelled")
        case "failed":
            raise CommandError(f"the {what} failed: {clean(ended.sentence) or 'no reason given'}")
    if ended.results is None:
        raise CommandError(f"the {what} is completed, but the gateway gave no result")


async def _follow(call: AssessmentCall, display: Display) -> tuple[Accepted | None, Ended]:
    accepted = None
    async with aclosing(call.events()) as events:
        async for event in events:
            if isinstance(event, Accepted):
                accepted = event
            display.show(event)
            if isinstance(event, Ended):
                return accepted, event
    raise CommandError("the gateway's stream ended without an outcome")


async def _cancel(
    call: AssessmentCall, display: Display, following: "asyncio.Task[tuple[Accepted | None, Ended]]", what: str
) -> None:
    display.say(f"cancelling the {what} …")
    if not await call.cancel() and not following.done():
        raise CommandError(
            f"the gateway did not confirm within {CANCEL_SECONDS:.0f} s that the {what} is cancelled. {_remedy(call)}"
        )
    await asyncio.wait({following}, timeout=CANCEL_SECONDS)
    if not following.done():
        raise CancelledError(f"the {what} is cancelled")


def _remedy(call: AssessmentCall) -> str:
    where = "" if call.gateway_url == default_gateway() else f" --gateway {call.gateway_url}"
    if call.task_id:
        return f"To cancel it later: {command_name()} cancel {call.task_id}{where}"
    return (
        f"It has not answered with an id yet either. Find the id later with `{command_name()} list`, then cancel it: "
        f"{command_name()} cancel ID{where}"
    )
