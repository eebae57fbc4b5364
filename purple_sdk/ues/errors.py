"""Errors of requests to the simulator: one class per kind, so callers catch the kinds that they can handle."""

from typing import Any

from pydantic_core import from_json


class UESError(Exception):
    """Any failure of a call to the simulator."""


class UESConnectionError(UESError):
    """The server could not be reached, or closed the connection before its answer."""


class UESTimeoutError(UESError):
    """The server didn't answer within the client's timeout."""


class UnexpectedAnswerError(UESError):
    """The server reported success, but the answer differs from the contract."""


class UESResponseError(UESError):
    """The server refused the request.

    Attributes:
        detail: the server's explanation, parsed if it was JSON. It is usually a sentence; for 422, a list of ``{type,
            loc, msg, input}``.
    """

    def __init__(self, message: str, status: int, detail: Any) -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail


class BadRequestError(UESResponseError):
    """400: the request is well-formed, but impossible."""


class AuthenticationError(UESResponseError):
    """401: the key is missing, unknown or revoked."""


class PermissionDeniedError(UESResponseError):
    """403: the key lacks the permission that the detail names."""


class NotFoundError(UESResponseError):
    """404: the object doesn't exist."""


class ConflictError(UESResponseError):
    """409: the request is impossible in this state, for example an import into a running simulation."""


class OvertakenError(UESResponseError):
    """412: another evaluator with a higher fence has taken over the simulation."""


class ValidationError_(UESResponseError):  # noqa: N801, N818 - the underscore keeps it apart from pydantic's
    """422: the fields are invalid; ``detail`` lists them."""


class ServerError(UESResponseError):
    """5xx: the server failed."""


_BY_STATUS: dict[int, type[UESResponseError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    412: OvertakenError,
    422: ValidationError_,
}

_LONGEST_TEXT = 300
_MOST_PROBLEMS = 3


def refusal(request: str, status: int, body: bytes) -> UESResponseError:
    """Make the exception for an answer that is not a success.

    Args:
        body: the answer's body: ``{"detail": ...}`` or anything else.
    """
    detail = _find_detail(body)
    error = _BY_STATUS.get(status, ServerError if status >= 500 else UESResponseError)
    return error(f"{request} was answered with {status}: {_sentence(detail)}", status, detail)


def _find_detail(body: bytes) -> Any:
    try:
        answer = from_json(body)
    except ValueError:
        return body.decode("utf-8", "replace").strip()[:_LONGEST_TEXT]
    if isinstance(answer, dict):
        return answer.get("detail", answer.get("error", answer))
    return answer


def _sentence(detail: Any) -> str:
    if isinstance(detail, list) and detail and all(isinstance(problem, dict) for problem in detail):
        sentences = [
            f"{'.'.join(str(step) for step in problem.get('loc', ()))}: {problem.get('msg', problem)}"
            for problem in detail[:_MOST_PROBLEMS]
        ]
        if len(detail) > _MOST_PROBLEMS:
            sentences.append(f"and {len(detail) - _MOST_PROBLEMS} more")
        return "; ".join(sentences)
    if isinstance(detail, dict) and isinstance(detail.get("message"), str):
        return str(detail["message"])
    return str(detail)[:_LONGEST_TEXT] or "(the server gave no reason)"
