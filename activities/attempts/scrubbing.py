"""Remove secrets from all data that an activity sends to Temporal, and make the data storable.

Keys are removed from results, failures and notes. Characters that UTF-8 lacks are replaced; long messages and deep data
are cut. Only activities see both secrets and text by others, and all their output passes through this module on its way
to Temporal.
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
"""The fewest characters of a secret. A shorter value is taken for an ordinary word (``test``, ``none``)."""

PARTICIPANT_KEYS = re.compile(r"participant-[0-9]+-[0-9a-f]{64}")
"""The form of every participant's key (``proctor.activities.simulation.keys``)."""

_KEYS_AS_JSON = re.compile(PARTICIPANT_KEYS.pattern.encode())

_SECRET_NAMES = re.compile(r"(.*_)?(KEY|TOKEN|SECRET|PASSWORD|CONNECTION_STRING)", re.IGNORECASE)


def find_secrets(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the values of environment variables with a secret's name: ``OPENAI_API_KEY``, ``HF_TOKEN``, …"""
    return frozenset(
        value for name, value in environment.items() if _SECRET_NAMES.fullmatch(name) and len(value) >= _SHORTEST
    )


class Scrubber:
    """Removes known secrets from texts, data and exceptions, and makes them storable; clean values are returned
    unchanged.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        # Longest first: one secret may begin with another.
        ordered = sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)
        self._pattern = re.compile("|".join([PARTICIPANT_KEYS.pattern, *map(re.escape, ordered)]))
        self._as_json = [to_json(secret)[1:-1] for secret in ordered]

    def text(self, text: str) -> str:
        return self._pattern.sub(REMOVED, text)

    def data(self, value: Any) -> Any:
        """Return JSON data without secrets in values or keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.data(member) for member in value]
        if isinstance(value, dict):
            return {self.data(key): self.data(member) for key, member in value.items()}
        return value

    def result(self, result: Any) -> Any:
        """Return a result that Temporal can store and clients can read; data that is nested too deep is cut."""
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
        """Return JSON, or JSON Lines, without secrets; clean bytes are returned unchanged."""
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
        """Return an exception with storable messages and without secrets, its causes included. An exception that needs
        changes is built again, with the type that Temporal would show.
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
            return problem  # Temporal's own exception (a cancellation) has no text of ours
        else:
            clean = ApplicationError(clean_message, type=type(problem).__name__)
        clean.__cause__ = clean_cause
        return clean.with_traceback(problem.__traceback__)


class Scrubbing(Around):
    """The worker's interceptor that takes secrets out of results, failures and notes."""

    def __init__(self, secret: str, keys_of: Callable[[str], Iterable[str]]) -> None:
        super().__init__(self._scrub, lambda outbound: _ScrubbedBeats(outbound, self._own_scrubber))
        self._keys_of = keys_of
        self._shared = find_secrets(os.environ) | {secret}

    def make_scrubber(self, simulation_id: str) -> Scrubber:
        """Return the scrubber for an activity of an assessment. The simulation has the assessment's id."""
        return Scrubber({*self._shared, *self._keys_of(simulation_id)})

    async def _scrub(self, _input: ExecuteActivityInput, proceed: Proceed) -> Any:
        try:
            result = await proceed()
        except Exception as error:
            clean = self._own_scrubber().failure(error)
            if clean is error:
                raise
            raise clean from clean.__cause__
        return self._own_scrubber().result(result)

    def _own_scrubber(self) -> Scrubber:
        return self.make_scrubber(activity.info().workflow_id or "")


class _ScrubbedBeats(ActivityOutboundInterceptor):
    """Scrubs heartbeats: an attempt's notes go to Temporal too, and a participant chooses the ids of its tasks."""

    def __init__(self, next: ActivityOutboundInterceptor, scrubber: Callable[[], Scrubber]) -> None:  # noqa: A002
        super().__init__(next)
        self._scrubber = scrubber

    def heartbeat(self, *details: Any) -> None:
        super().heartbeat(*(self._scrubber().result(list(details)) if details else ()))
