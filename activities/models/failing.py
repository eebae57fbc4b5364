"""What a provider's client raises, as one of our errors."""

import httpx

from proctor.activities.models.factory import ModelAnswerError, ModelError, ModelSettingsError, ModelUnavailableError

ANSWERS_RAISED = ("LengthFinishReasonError", "ContentFilterFinishReasonError")
"""What OpenAI's client raises on answers that were cut off or filtered."""

_WORTH_RETRYING = {408, 409, 425, 429}
_LONGEST_SHOWN = 2000


def status_of(problem: BaseException) -> int | None:
    """The HTTP status that a provider's exception carries; None where it carries none."""
    for name in ("status_code", "code"):
        status = getattr(problem, name, None)
        if isinstance(status, int):
            return status
    return None


def classified(problem: BaseException, model: str) -> ModelError:
    """Turn what a provider's client raised into one of our errors, by its HTTP status where it has one."""
    status = status_of(problem)
    message = str(problem).strip() or type(problem).__name__
    if isinstance(problem, TimeoutError):  # of ``endpoint_queue``, without words
        message = "it gave no answer within AGENTBEATS_GREEN_JUDGE_TIMEOUT"
    message = message if len(message) <= _LONGEST_SHOWN else message[:_LONGEST_SHOWN] + "…"
    if is_transient(problem):
        return ModelUnavailableError(f"model {model} is not available ({type(problem).__name__}): {message}")
    if status is not None:
        return ModelSettingsError(f"model {model} refuses the request (HTTP {status}): {message}")
    # Answers of a model are read by ``structured``. A client that raises has got something else: a page, half a body.
    return ModelUnavailableError(
        f"model {model} is not available: its server sent something that is not a model's answer "
        f"({type(problem).__name__}: {message})"
    )


def is_transient(problem: BaseException) -> bool:
    """Whether a model's failure may be temporary: no connection, timeout, rate limit, server failure."""
    if isinstance(problem, ModelUnavailableError | ModelAnswerError):
        return True
    status = status_of(problem)
    if status is not None:
        return status in _WORTH_RETRYING or status >= 500
    # Connection errors carry no status. OpenAI's and Anthropic's clients, and LangChain's classes over them, are told
    # by name, so that no provider's package has to be installed.
    names = {base.__name__ for base in type(problem).__mro__}
    return isinstance(problem, httpx.TransportError | ConnectionError | TimeoutError) or bool(
        names & {"APIConnectionError", "APITimeoutError", "ModelConnectionError", "ModelTimeoutError"}
    )


def is_away(problem: BaseException) -> bool:
    """Whether a model could not be asked, for a reason that may pass."""
    if type(problem).__name__ in ANSWERS_RAISED or isinstance(problem, NotImplementedError):
        return False
    return isinstance(classified(problem, ""), ModelUnavailableError)
