"""Translates exceptions of providers' clients into our errors."""

import httpx

from proctor.activities.models.factory import ModelAnswerError, ModelError, ModelSettingsError, ModelUnavailableError

ANSWERS_RAISED = ("LengthFinishReasonError", "ContentFilterFinishReasonError")
"""Exceptions that OpenAI's client raises on answers that were cut off or filtered."""

_WORTH_RETRYING = {408, 409, 425, 429}
_LONGEST_SHOWN = 2000


def find_http_status(problem: BaseException) -> int | None:
    """Return the HTTP status of a provider's exception; None if it has none."""
    for name in ("status_code", "code"):
        status = getattr(problem, name, None)
        if isinstance(status, int):
            return status
    return None


def classified(problem: BaseException, model: str) -> ModelError:
    """Turn an exception of a provider's client into one of our errors, by its HTTP status if it has one."""
    status = find_http_status(problem)
    message = str(problem).strip() or type(problem).__name__
    if isinstance(problem, TimeoutError):  # raised by ``endpoint_queue``, without a message
        message = "it gave no answer within AGENTBEATS_GREEN_JUDGE_TIMEOUT"
    message = message if len(message) <= _LONGEST_SHOWN else message[:_LONGEST_SHOWN] + "…"
    if is_transient(problem):
        return ModelUnavailableError(f"model {model} is not available ({type(problem).__name__}): {message}")
    if status is not None:
        return ModelSettingsError(f"model {model} refuses the request (HTTP {status}): {message}")
    # ``structured`` reads a model's answers. A client that raises here got no such answer, but a page or half a body.
    return ModelUnavailableError(
        f"model {model} is not available: its server sent something that is not a model's answer "
        f"({type(problem).__name__}: {message})"
    )


def is_transient(problem: BaseException) -> bool:
    """Return whether a model's failure may be temporary: no connection, timeout, rate limit, server failure."""
    if isinstance(problem, ModelUnavailableError | ModelAnswerError):
        return True
    status = find_http_status(problem)
    if status is not None:
        return status in _WORTH_RETRYING or status >= 500
    # Connection errors carry no status. Exceptions of OpenAI's and Anthropic's clients and of LangChain's classes
    # are recognised by name, so no provider's package has to be installed.
    names = {base.__name__ for base in type(problem).__mro__}
    return isinstance(problem, httpx.TransportError | ConnectionError | TimeoutError) or bool(
        names & {"APIConnectionError", "APITimeoutError", "ModelConnectionError", "ModelTimeoutError"}
    )


def is_away(problem: BaseException) -> bool:
    """Return whether a model could not be called, for a temporary reason."""
    if type(problem).__name__ in ANSWERS_RAISED or isinstance(problem, NotImplementedError):
        return False
    return isinstance(classified(problem, ""), ModelUnavailableError)
