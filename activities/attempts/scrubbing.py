"""No secret leaves an activity, and nothing that can't be kept. Keys are taken out of results, failures and notes;
characters that UTF-8 lacks are replaced, long messages and deep data cut. Activities alone see both secrets and text
that others wrote, and all that they return passes here on its way to Temporal's history.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python
from temporalio import activity
from temporalio.exceptions import ApplicationError, FailureError
from temporalio.worker import ActivityOutboundInterceptor, ExecuteActivityInput

from proctor.activities.attempts import failures
from proctor.activities.attempts.around import Around, Proceed
from purple_sdk.protocol.json_safe import LONGEST_SENTENCE, is_too_deep, json_safe, storable_text

REMOVED = "[secret removed]"

_SHORTEST = 8
"""Characters; a shorter value is a word like any other (``test``, ``none``), and no secret."""

PARTICIPANT_KEYS = re.compile(r"participant-[0-9]+-[0-9a-f]{64}")
"""What any participant's key looks like (``proctor.activities.simulation.keys``)."""

_KEYS_AS_JSON = re.compile(PARTICIPANT_KEYS.pattern.encode())

_SECRET_NAMES = re.compile(r"(.*_)?(KEY|TOKEN|SECRET|PASSWORD|CONNECTION_STRING)", re.IGNORECASE)


def secrets_in(environment: Mapping[str, str]) -> frozenset[str]:
    """The values of environment variables that are secrets by their names: ``OPENAI_API_KEY``, ``HF_TOKEN``, …"""
    return frozenset(
        value for name, value in environment.items() if _SECRET_NAMES.fullmatch(name) and len(value) >= _SHORTEST
    )


class Scrubber:
    """Takes known secrets out of texts, data and exceptions, and makes these storable; values without a fault are
    returned unchanged.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        # Longest first, as one secret may begin with another.
        ordered = sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)
        self._pattern = re.compile("|".join([PARTICIPANT_KEYS.pattern, *map(re.escape, ordered)]))
        self._as_json = [to_json(secret)[1:-1] for secret in ordered]

    def text(self, text: str) -> str:
        return self._pattern.sub(REMOVED, text)

    def data(self, value: Any) -> Any:
        """JSON data without secrets, in its keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.data(member) for member in value]
        if isinstance(value, dict):
            return {self.data(key): self.data(member) for key, member in value.items()}
        return value

    def result(self, result: Any) -> Any:
        """A result that Temporal can keep, and whose readers can read it; deeper data is cut."""
        try:
            written = to_json(result)
            is_storable = not is_too_deep(written)
        except PydanticSerializationError:
            is_storable = False
        if is_storable and self._is_clean(written):
            return result
        clean = self.data(to_jsonable_python(result) if is_storable else json_safe(result))
        return type(result).model_validate(clean) if isinstance(result, BaseModel) else clean

    def written(self, content: bytes) -> bytes:
        """JSON, or JSON Lines, without secrets; equal byte for byte if it has none."""
        if self._is_clean(content):
            return content
        try:
            return to_json(self.data(from_json(content)))
        except ValueError:
            lines = [line for line in content.split(b"\n") if line]
            return b"".join(to_json(self.data(from_json(line))) + b"\n" for line in lines)

    def _is_clean(self, written: bytes) -> bool:
        return not any(secret in written for secret in self._as_json) and not _KEYS_AS_JSON.search(written)

    def failure(self, problem: BaseException) -> BaseException:
        """An exception without secrets, nor any in what caused it, whose messages can be kept. A faulty one is made
        again, of the type by which Temporal would show it.
        """
        cause = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)
        clean_cause = cause and self.failure(cause)
        message = problem.message if isinstance(problem, FailureError) else str(problem)
        details = list(problem.details) if isinstance(problem, ApplicationError) else []
        clean_message, clean_details = storable_text(self.text(message), LONGEST_SENTENCE), self.result(details)
        if clean_cause is cause and clean_message == message and clean_details is details:
            return problem
        clean: BaseException
        if isinstance(problem, ApplicationError):
            clean = failures.altered(problem, message=clean_message, details=clean_details)
        elif isinstance(problem, FailureError):
            return problem  # Temporal's own (a cancellation): nothing in it is ours
        else:
            clean = ApplicationError(clean_message, type=type(problem).__name__)
        clean.__cause__ = clean_cause
        return clean.with_traceback(problem.__traceback__)


class Scrubbing(Around):
    """The worker's interceptor that takes secrets out of results, failures and notes."""

    def __init__(self, secret: str, keys_of: Callable[[str], Iterable[str]]) -> None:
        super().__init__(self._scrub, lambda outbound: _ScrubbedBeats(outbound, self._own_scrubber))
        self._keys_of = keys_of
        self._shared = secrets_in(os.environ) | {secret}

    def make_scrubber(self, simulation_id: str) -> Scrubber:
        """For an activity of an assessment, whose id is its simulation's too."""
        return Scrubber({*self._shared, *self._keys_of(simulation_id)})

    async def _scrub(self, _input: ExecuteActivityInput, proceed: Proceed) -> Any:
        try:
            result = await proceed()
        except Exception as problem:
            clean = self._own_scrubber().failure(problem)
            if clean is problem:
                raise
            raise clean from clean.__cause__
        return self._own_scrubber().result(result)

    def _own_scrubber(self) -> Scrubber:
        return self.make_scrubber(activity.info().workflow_id or "")


class _ScrubbedBeats(ActivityOutboundInterceptor):
    """What an attempt notes for the next one goes to Temporal too: a participant chooses the ids of its tasks."""

    def __init__(self, next: ActivityOutboundInterceptor, scrubber: Callable[[], Scrubber]) -> None:  # noqa: A002
        super().__init__(next)
        self._scrubber = scrubber

    def heartbeat(self, *details: Any) -> None:
        super().heartbeat(*(self._scrubber().result(list(details)) if details else ()))
