"""Failures of activities: every type, and whether a retry can help."""

import builtins
from collections.abc import Sequence
from typing import Any

from temporalio.exceptions import ApplicationError, ApplicationErrorCategory


class Kind(str):
    """A type of failure, with methods that make errors of this type."""

    def final(self, sentence: str) -> ApplicationError:
        """Return an error that isn't retried: the same input would fail again."""
        return ApplicationError(sentence, type=str(self), non_retryable=True, category=self._category)

    def passing(self, sentence: str) -> ApplicationError:
        """Return an error that is retried: the next attempt may succeed."""
        return ApplicationError(sentence, type=str(self), category=self._category)

    @property
    def _category(self) -> ApplicationErrorCategory:
        """Mark errors of callers and webhooks as benign, so a worker's log shows no traceback of them."""
        is_theirs = self in (REJECTED, WEBHOOK_FAILED, WEBHOOK_UNUSABLE)
        return ApplicationErrorCategory.BENIGN if is_theirs else ApplicationErrorCategory.UNSPECIFIED


REJECTED = Kind("Rejected")
"""The request can't be carried out; its sender has to change it."""

PARTICIPANT_UNREACHABLE = Kind("ParticipantUnreachable")
"""No server answers at the participant's address."""

PARTICIPANT_FAILED = Kind("ParticipantFailed")
"""The participant's task failed, or the participant vanished in mid-turn; a new try may help."""

PARTICIPANT_MISBEHAVED = Kind("ParticipantMisbehaved")
"""The participant's answer violates the protocol; another try would cost something and not help."""

PARTICIPANT_ASKED = Kind("ParticipantAsked")
"""The participant asked a question in its turn and got the reply that no one can answer; the turn continues."""

ANSWER_UNREADABLE = Kind("AnswerUnreadable")
"""The participant's answer to a turn couldn't be read and was requested again; the turn continues."""

TURN_TIMEOUT = Kind("TurnTimeout")
"""The participant took longer for its turn than it may."""

DEADLINE = Kind("Deadline")
"""The whole assessment took longer than it may."""

SIMULATION_LOST = Kind("SimulationLost")
"""The simulator lost the participant's actions of this turn: the turn has to be played again."""

HOST_LOST = Kind("HostLost")
"""The simulator's server of an assessment is gone; a detail names the server on which the assessment continues."""

ENVIRONMENT_LOST = Kind("EnvironmentLost")
"""A terminal trial's container is gone: the trial begins again from its image."""

ENGINE_UNAVAILABLE = Kind("EngineUnavailable")
"""A Docker engine doesn't answer, or can't serve the request now; the next attempt may succeed."""

TRIAL_FAILED = Kind("TrialFailed")
"""A terminal trial can't continue because of its task or its participant. The first detail says which, and the
reason.
"""

WORKERS_LOST = Kind("WorkersLost")
"""A step lost its workers repeatedly before it had a result; the step begins again."""

CALLED_OFF = Kind("CalledOff")
"""The step was cancelled after it had called models; a detail has their usage
(``proctor.activities.models.metering``)."""

OVERTAKEN = Kind("Overtaken")
"""A newer attempt controls the simulation: this one is outdated, and has no effect."""

SERVER_FAILED = Kind("ServerFailed")
"""An assessment's own UES server can't be started."""

STORE_UNAVAILABLE = Kind("StoreUnavailableError")
"""The blob store is full, read-only, away or doesn't answer. ``proctor.storage.blobs`` raises an error of this name."""

SCENARIO_BROKEN = Kind("ScenarioBroken")
"""The scenario is broken and can't be played."""

EVALUATOR_FAILED = Kind("EvaluatorFailed")
"""An evaluator of the scenario gave no verdict, by its own fault; the author has to fix the evaluator."""

EVALUATOR_INTERRUPTED = Kind("EvaluatorInterrupted")
"""An evaluator couldn't reach the simulator, or was lost with its process; another try may help."""

WEBHOOK_FAILED = Kind("WebhookFailed")
"""A webhook refused a notification, and may accept the next one."""

WEBHOOK_UNUSABLE = Kind("WebhookUnusable")
"""A webhook will never accept a notification."""

MODEL_SETTING = Kind("ModelSetting")
"""A model can't be used as it is configured (no key, no such model)."""

BY_PARTICIPANT = frozenset(
    {
        PARTICIPANT_UNREACHABLE,
        PARTICIPANT_FAILED,
        PARTICIPANT_MISBEHAVED,
        TURN_TIMEOUT,
    }
)
"""The failures that an assessment's participant caused. Such assessments count as 0 points (``proctor.statistics``)."""

UNKNOWN = Kind("Failure")
"""Any other failure; its message is the only information."""


_REMEDIES = {
    "AuthenticationError": "the simulator refuses the workers' key: give both the same AGENTBEATS_GREEN_SECRET",
    "PermissionDeniedError": "the simulator refuses the workers' key: give both the same AGENTBEATS_GREEN_SECRET",
    "NotFoundError": "is it a simulator of the workers' version? See AGENTBEATS_GREEN_UES_URL",
    "UESConnectionError": "start the simulator, or set AGENTBEATS_GREEN_UES_URL",
    "UnexpectedAnswerError": "set AGENTBEATS_GREEN_UES_URL to a simulator of the workers' version",
}
"""Remedies for failed requests to the simulator, by the exceptions of ``purple_sdk.ues``."""


def get_kind(problem: BaseException) -> str:
    """Return the type under which Temporal shows a failure."""
    return problem.type or UNKNOWN if isinstance(problem, ApplicationError) else type(problem).__name__


def in_words(kind: str | None, message: str) -> str:
    """Describe a failure, with a remedy if one is known. The name of a built-in exception is included, since its
    message alone isn't a sentence.
    """
    if kind == "UESConnectionError" and "CERTIFICATE_VERIFY_FAILED" in message:
        return f"{message} (the simulator's certificate is not trusted; its authority's can be named in SSL_CERT_FILE)"
    if remedy := _REMEDIES.get(kind or ""):
        return f"{message.rstrip('.')} ({remedy})"
    return f"{kind}: {message}" if hasattr(builtins, kind or "") else message


OVER = "the participant's task is over"
"""A detail of a failed turn, if the participant has certainly stopped."""


def altered(
    problem: ApplicationError, *more: Any, message: str | None = None, details: Sequence[Any] | None = None
) -> ApplicationError:
    """Return a failure with ``more`` details, another ``message``, or other ``details``."""
    return ApplicationError(
        problem.message if message is None else message,
        *(problem.details if details is None else details),
        *more,
        type=problem.type,
        non_retryable=problem.non_retryable,
        next_retry_delay=problem.next_retry_delay,
        category=problem.category,
    )
