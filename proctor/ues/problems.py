"""Errors of requests, one class per HTTP status. ``http.route.problem_reply`` turns them into answers."""

from typing import Any, ClassVar


class Problem(Exception):  # noqa: N818 - the contract's word for "an answer that is not a success"
    """A request that can't be served. ``detail`` is a sentence, or the object that the contract asks for."""

    status: ClassVar[int] = 400
    title: ClassVar[str] = "Bad Request"

    def __init_subclass__(cls, status: int | None = None, title: str | None = None) -> None:
        cls.status, cls.title = status or cls.status, title or cls.title

    def __init__(self, detail: Any) -> None:
        super().__init__(detail)
        self.detail = detail


class Impossible(Problem):
    """400: well-formed, but it can't be done (time running backwards, an instant past the year 9999)."""


class Unauthorized(Problem, status=401, title="Unauthorized"):
    """401: no key, an unknown key, or a revoked one."""


class Forbidden(Problem, status=403, title="Forbidden"):
    """403: the key lacks the permission that ``detail`` names."""


class NotFound(Problem, status=404, title="Not Found"):
    """404: there is no such thing."""


class UnknownModality(NotFound):
    """404: there is no modality of that name. The answer also lists the existing ones."""

    def __init__(self, requested: str, available: list[str]) -> None:
        super().__init__(f"There is no modality {requested[:80]!r}; there are {', '.join(available)}.")
        self.requested = requested
        self.available = available


class WrongMethod(Problem, status=405, title="Method Not Allowed"):
    """405: the path exists, but not with this method. ``allowed`` lists its methods."""

    def __init__(self, detail: str, allowed: list[str]) -> None:
        super().__init__(detail)
        self.allowed = allowed


class Conflict(Problem, status=409, title="Conflict"):
    """409: the current state doesn't allow this."""


class Overtaken(Problem, status=412, title="Precondition Failed"):
    """412: a caller with a higher fence has taken the simulation over."""


class FenceMissing(Problem, status=428, title="Precondition Required"):
    """428: the simulation is held by a fence, and the request has none."""


class TooLarge(Problem, status=413, title="Content Too Large"):
    """413: the body is larger than the server accepts."""


class TooMany(Problem, status=429, title="Too Many Requests"):
    """429: the caller has asked for more than it may."""


class Invalid(Problem, status=422, title="Validation Error"):
    """422: the request doesn't fit its schema. ``detail`` is a list of ``{type, loc, msg, input}``."""

    def __init__(self, detail: list[dict[str, Any]]) -> None:
        super().__init__(detail)

    @property
    def is_out_of_range(self) -> bool:
        """Whether all errors are numbers beyond their bounds."""
        kinds = [str(item["type"]) for item in self.detail]
        return all(kind.startswith(("greater_than", "less_than")) or kind.endswith("_range") for kind in kinds)

    @property
    def sentence(self) -> str:
        """The errors in one line, for text-only answers."""
        return "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg'].removeprefix('Value error, ')}"
            for item in self.detail
        )


class Unavailable(Problem, status=503, title="Service Unavailable"):
    """503: nothing was done. Only noise gives this answer."""

    def __init__(self) -> None:
        super().__init__("The service is temporarily unavailable; try again later.")


class Broken(Problem, status=500, title="Internal Server Error"):
    """500: an unexpected error. The caller can't know whether the action was done."""

    def __init__(self) -> None:
        super().__init__("An unexpected error; the log says more.")


class OutOfRoom(Exception):  # noqa: N818 - it names an outcome
    """A change would write more than its author is allowed."""


class OperationFailed(Exception):  # noqa: N818 - it names an outcome, the event's status
    """An event couldn't be carried out: it gets status ``failed`` and this text as its ``error_message``."""
