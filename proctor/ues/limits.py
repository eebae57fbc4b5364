"""Limit participants, who are untrusted: the size of each request, and the requests, growth and work of a turn.

A request over a limit is refused with a sentence, and the turn continues. The evaluator's keys don't have these limits.
A turn begins when the evaluator moves the clock or restores a checkpoint.
"""

from functools import cache
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from proctor.ues.problems import TooLarge, TooMany
from proctor.ues.times import Years

PREFIX = "UES_LIMIT_"
"""The prefix of these settings' environment variables, such as ``UES_LIMIT_REQUEST_BYTES``."""

Count = Annotated[int, Field(ge=1)]


class Limits(BaseSettings):
    """The limits, each a setting of the server's environment.

    Attributes:
        request_bytes: bytes of one request's body.
        admin_request_bytes: bytes of one request's body with any other key; scenarios may be large. Checkpoints have
            no limit.
        requests_per_turn: requests, successful or not.
        growth_per_turn: bytes by which the simulation may grow: the written data and its undo data.
        work_per_turn: seconds of processor time.
        nesting: the deepest nesting of a request's JSON.
        first_year, last_year: the first and the last year, inclusive, that written data may name.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    request_bytes: Count = 256 * 1024
    admin_request_bytes: Count = 256 * 1024 * 1024
    requests_per_turn: Count = 20_000
    growth_per_turn: Count = 50_000_000
    work_per_turn: Annotated[float, Field(gt=0)] = 30.0
    nesting: Count = 32
    first_year: Annotated[int, Field(ge=1, le=9999)] = 1900
    last_year: Annotated[int, Field(ge=1, le=9999)] = 2200

    @property
    def years(self) -> Years:
        return Years(self.first_year, self.last_year)


@cache
def configured() -> Limits:
    """Return the limits of this server, read from its environment once. Raises pydantic's ValidationError."""
    return Limits()


def _variable(setting: str) -> str:
    return f"({PREFIX}{setting.upper()})"


class Allowance:
    """A participant's use of a turn's limits."""

    def __init__(self) -> None:
        self.limits = configured()
        self._requests = 0
        self._grown = 0
        self._worked = 0.0

    def renew(self) -> None:
        self._requests = self._grown = 0
        self._worked = 0.0

    def take_request(self) -> None:
        """Count a request. Raises TooMany (429) over the turn's limit of requests or work."""
        if self._requests >= self.limits.requests_per_turn:
            raise TooMany(
                f"You have sent {self._requests:,} requests in this turn, which is the limit "
                f"{_variable('requests_per_turn')}; the turn continues, and the next one has as many again."
            )
        if self._worked >= self.limits.work_per_turn:
            raise TooMany(
                f"Your requests have kept the server busy for {self._worked:.1f} s in this turn, and the limit is "
                f"{self.limits.work_per_turn:g} s {_variable('work_per_turn')}; the turn continues; the next one has "
                "as much again. Queries with a limit take less than whole states."
            )
        self._requests += 1

    def note_work(self, seconds: float) -> None:
        """Count the server's processor time for a request; over the limit, the next request is refused."""
        self._worked += seconds

    @property
    def room(self) -> int:
        """The number of bytes by which the simulation may still grow."""
        return max(0, self.limits.growth_per_turn - self._grown)

    def grow(self, size: int) -> None:
        """Count bytes before they are written. Raises TooLarge (413) if there isn't room for them."""
        if size > self.room:
            raise self.full()
        self._grown += size

    def fill(self) -> TooLarge:
        """Use up all room of this turn, also for smaller requests. Returns the 413."""
        self._grown = self.limits.growth_per_turn
        return self.full()

    def full(self) -> TooLarge:
        return TooLarge(
            f"Your data would let the simulation grow by more than {self.limits.growth_per_turn:,} bytes in this "
            f"turn, which is the limit {_variable('growth_per_turn')}, and {self._grown:,} are used up; the turn "
            "continues; the next one has as many again."
        )


def too_large(size: int | None, limit: int, setting: str | None) -> TooLarge:
    """Return the 413 for a body; ``size`` is None if the caller doesn't announce it."""
    excess = "The body is larger than" if size is None else f"The body has {size:,} bytes, more than"
    return TooLarge(
        f"{excess} the {limit:,} bytes that are read {_variable(setting)}." if setting else f"{excess} {limit:,}."
    )
