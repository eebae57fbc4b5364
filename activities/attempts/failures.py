"""How activities fail: every type of failure, and whether trying the same thing again can help."""

import builtins
from collections.abc import Sequence
from typing import Any

from temporalio.exceptions import ApplicationError, ApplicationErrorCategory


class Kind(str):
    """A type of failures, and the way to fail so."""

    def final(self, sentence: str) -> ApplicationError:
        """A failure that the same input would meet again."""
        return ApplicationError(sentence, type=str(self), non_retryable=True, category=self._category)

    def passing(self, sentence: str) -> ApplicationError:
        """A failure that may be gone at the next attempt."""
        return ApplicationError(sentence, type=str(self), category=self._category)

    @property
    def _category(self) -> ApplicationErrorCategory:
        """What callers and their webhooks do wrong is nothing that a worker's log shows a traceback of."""
        is_theirs = self in (REJECTED, WEBHOOK_FAILED, WEBHOOK_UNUSABLE)
        return ApplicationErrorCategory.BENIGN if is_theirs else ApplicationErrorCategory.UNSPECIFIED


REJECTED = Kind("Rejected")
"""The request can't be carried out; its sender has to change it."""

PARTICIPANT_UNREACHABLE = Kind("ParticipantUnreachable")
"""No server answers at the participant's address."""

PARTICIPANT_FAILED = Kind("ParticipantFailed")
"""The participant's task failed, or the participant vanished in mid-turn: a new try may help."""

PARTICIPANT_MISBEHAVED = Kind("ParticipantMisbehaved")
"""The participant's answer is not what the protocol asks for: another try would cost and not help."""

PARTICIPANT_ASKED = Kind("ParticipantAsked")
"""The participant asked a question in its turn and got the reply that no one can answer; the turn continues."""

ANSWER_UNREADABLE = Kind("AnswerUnreadable")
"""The participant's answer to a turn couldn't be read and was requested again; the turn continues."""

TURN_TIMEOUT = Kind("TurnTimeout")
"""The participant took longer for its turn than it may."""

DEADLINE = Kind("Deadline")
"""The whole assessment took longer than it may."""

SIMULATION_LOST = Kind("SimulationLost")
"""The simulator lost what the participant did in this turn: the turn has to be played again."""

HOST_LOST = Kind("HostLost")
"""The simulator's server that an assessment was on is gone; a detail names the one on which it continues."""

ENVIRONMENT_LOST = Kind("EnvironmentLost")
"""A terminal trial's container is gone: the trial begins again from its image."""

ENGINE_UNAVAILABLE = Kind("EngineUnavailable")
"""A Docker engine doesn't answer, or can't do what is asked just now; it may at the next attempt."""

TRIAL_FAILED = Kind("TrialFailed")
"""A terminal trial can't continue, by fault of its task or of the participant; the first detail says whose, and how."""

WORKERS_LOST = Kind("WorkersLost")
"""Workers were lost at a step again and again, and none reported a result: it begins again."""

CALLED_OFF = Kind("CalledOff")
"""The step was cancelled after it had asked models; a detail says what it asked
(``proctor.activities.models.metering``)."""

OVERTAKEN = Kind("Overtaken")
"""Another attempt has taken the simulation over: this one is from the past, and has no effect."""

SERVER_FAILED = Kind("ServerFailed")
"""A UES server of one's own can't be started."""

STORE_UNAVAILABLE = Kind("StoreUnavailableError")
"""The store of blobs is full, read-only, away or doesn't answer; ``proctor.storage.blobs`` raises it by this name."""

SCENARIO_BROKEN = Kind("ScenarioBroken")
"""The scenario can't be played as it is."""

EVALUATOR_FAILED = Kind("EvaluatorFailed")
"""An evaluator of the scenario gave no verdict, by its own fault: it has to be mended before it can judge."""

EVALUATOR_INTERRUPTED = Kind("EvaluatorInterrupted")
"""An evaluator couldn't reach the simulator, or was lost with its process; another try may help."""

WEBHOOK_FAILED = Kind("WebhookFailed")
"""A webhook didn't take a notification: it may take the next one."""

WEBHOOK_UNUSABLE = Kind("WebhookUnusable")
"""A webhook that will never take a notification."""

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
"""The failures of an assessment that its participant caused: they count as 0 points (``proctor.statistics``)."""

UNKNOWN = Kind("Failure")
"""Anything else; the sentence has to do."""


_REMEDIES = {
    "AuthenticationError": "the simulator refuses the workers' key: give both the same AGENTBEATS_GREEN_SECRET",
    "PermissionDeniedError": "the simulator refuses the workers' key: give both the same AGENTBEATS_GREEN_SECRET",
    "NotFoundError": "is it a simulator of the workers' version? See AGENTBEATS_GREEN_UES_URL",
    "UESConnectionError": "start the simulator, or set AGENTBEATS_GREEN_UES_URL",
    "UnexpectedAnswerError": "set AGENTBEATS_GREEN_UES_URL to a simulator of the workers' version",
}
"""What an operator does about failed requests to the simulator, by the exceptions of ``purple_sdk.ues``."""


def kind_of(problem: BaseException) -> str:
    """The type by which Temporal would show a failure."""
    return problem.type or UNKNOWN if isinstance(problem, ApplicationError) else type(problem).__name__


def in_words(kind: str | None, message: str) -> str:
    """What a failure says, with a remedy where one is known; one of Python's own exceptions is named too, since its
    message alone isn't a sentence.
    """
    if kind == "UESConnectionError" and "CERTIFICATE_VERIFY_FAILED" in message:
        return f"{message} (the simulator's certificate is not trusted; its authority's can be named in SSL_CERT_FILE)"
    if remedy := _REMEDIES.get(kind or ""):
        return f"{message.rstrip('.')} ({remedy})"
    return f"{kind}: {message}" if hasattr(builtins, kind or "") else message


OVER = "the participant's task is over"
"""Detail of a failed turn whose participant is known to have stopped."""


def altered(
    problem: ApplicationError, *more: Any, message: str | None = None, details: Sequence[Any] | None = None
) -> ApplicationError:
    """The same failure with ``more`` details, or in other words."""
    return ApplicationError(
        problem.message if message is None else message,
        *(problem.details if details is None else details),
        *more,
        type=problem.type,
        non_retryable=problem.non_retryable,
        next_retry_delay=problem.next_retry_delay,
        category=problem.category,
    )
