"""Turn errors of a conversation into failures that name whose fault they are.

A participant's own messages over A2A are reported unchanged. If another kind of server answers at the participant's
address, its answer is never quoted: it may not be meant for the caller.
"""

import json
import re
from collections.abc import Iterator, Sequence

import httpx
from a2a.client import A2AClientError, A2AClientTimeoutError
from a2a.utils import errors as a2a_errors
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant.addresses import RefusedAddressError
from proctor.activities.participant.bounded_http import BrokenOffError, RefusedBodyError

NO_LOOKING = (a2a_errors.MethodNotFoundError, a2a_errors.UnsupportedOperationError)
"""Errors of a participant that can't be asked for a task. Simple participants only know ``message/send``."""

_LOST = (httpx.TransportError, A2AClientTimeoutError)
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_REFUSED = (RefusedBodyError, RefusedAddressError)
_NETWORK = "Network communication error"
_SERVER_ERROR = re.compile(r"JSON-RPC Error -?\d+: ")
_OF_THE_SDK = ("Invalid JSON-RPC response", "SSE stream error", "HTTP client is closed")
_LONGEST_SAID = 300
_MOST_NAMED = 3


class AnswerLostError(ApplicationError):
    """The connection was lost after a message was sent: the participant may have received it, and acted on it."""


def is_lost(problem: BaseException | None) -> bool:
    """Return whether an error means that the connection failed, even if the SDK has wrapped it."""
    return any(
        isinstance(cause, _LOST) or (isinstance(cause, A2AClientError) and _NETWORK in str(cause))
        for cause in _causes(problem)
    )


def may_have_arrived(problem: BaseException | None) -> bool:
    """Return whether a message may have reached the participant, although the connection failed."""
    return not any(isinstance(cause, _NEVER_SENT) for cause in _causes(problem))


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__


def message_of_failure(problem: BaseException) -> str | None:
    """Return the message in a JSON-RPC or REST error of a participant that failed at its work. None for other errors.

    If an ordinary agent raises, its server answers with an internal error, or with a server-specific error code.
    """
    if isinstance(problem, a2a_errors.InternalError | a2a_errors.ContentTypeNotSupportedError):
        return shortened(str(problem))
    if isinstance(problem, A2AClientError) and problem.__cause__ is None:
        message = str(problem)
        if _SERVER_ERROR.match(message):
            return shortened(_SERVER_ERROR.sub("", message, count=1))
        # For protocol 0.3 the SDK omits the code of an error that it doesn't know.
        return None if message.startswith(_OF_THE_SDK) else shortened(message)
    return None


def failure(url: str, problem: BaseException, elsewhere: Sequence[str] = ()) -> ApplicationError:
    """Return the failure for an error in a conversation. ``ParticipantMisbehaved`` is final; ``ParticipantFailed`` and
    ``ParticipantUnreachable`` may be temporary.
    """
    if isinstance(problem, _REFUSED):
        return failures.PARTICIPANT_MISBEHAVED.final(str(problem))
    if any(isinstance(cause, BrokenOffError) for cause in _causes(problem)):
        return failures.PARTICIPANT_FAILED.passing(
            f"The participant at {url} closed the connection in the middle of its answer: look into the agent's log "
            "for an error that it raised while it answered."
        )
    if is_lost(problem):
        return unreachable(url, problem, elsewhere)
    has_raised = isinstance(problem.__cause__, httpx.HTTPStatusError) and problem.__cause__.response.is_server_error
    kind = failures.PARTICIPANT_FAILED if has_raised else failures.PARTICIPANT_MISBEHAVED
    return kind.final(f"The participant at {url} doesn't speak A2A as expected: {_description(problem)}")


def card_failure(url: str, problem: BaseException) -> ApplicationError:
    if isinstance(problem, _REFUSED):
        return failure(url, problem)
    if is_lost(problem):
        return unreachable(url, problem)
    status = getattr(problem, "status_code", None)
    if status is None and not isinstance(problem.__cause__, json.JSONDecodeError):
        return failures.PARTICIPANT_MISBEHAVED.final(
            f"The agent card at {url} can't be read: it is JSON, but no agent card."
        )
    reason = f"HTTP {status}" if status else "no JSON"
    return failures.PARTICIPANT_MISBEHAVED.final(
        f"The participant's address {url} has no A2A agent card ({reason} at /.well-known/agent-card.json)."
    )


def unreachable(url: str, problem: BaseException, elsewhere: Sequence[str] = ()) -> ApplicationError:
    """Return the failure for a participant that can't be reached at its address, or at an address in its card. If the
    message may have arrived, the failure is an ``AnswerLostError``.
    """
    others = " or ".join(map(shortened, elsewhere[:_MOST_NAMED]))
    named = f", or at {others}, as its agent card says" if others else ""
    reason = shortened(str(problem) or type(problem).__name__)
    problem_of = AnswerLostError if may_have_arrived(problem) else ApplicationError
    return problem_of(
        f"No server answers at the participant's address {url}{named} ({reason}).",
        type=failures.PARTICIPANT_UNREACHABLE,
    )


def shortened(text: str) -> str:
    """Return a text on one line, short enough for a sentence."""
    return " ".join(text.split())[:_LONGEST_SAID]


def _description(problem: BaseException) -> str:
    cause = problem.__cause__
    if isinstance(problem, a2a_errors.A2AError) and not isinstance(problem, A2AClientError):
        return shortened(str(problem))
    if isinstance(cause, httpx.HTTPStatusError):
        return f"HTTP Error: {cause.response.status_code}"
    if isinstance(cause, json.JSONDecodeError):
        return "its answer is not JSON."
    return "its answer is not an A2A response."
