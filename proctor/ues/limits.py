"""Limits for participants, who are strangers: the requests that their keys may make, and what the turn still allows.

Over a limit a request is refused with a sentence, and the turn continues. Keys of the evaluator's have none of these
limits. A turn begins when the evaluator moves the clock or puts the simulation back to a checkpoint.
"""

from functools import cache
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from proctor.ues.problems import TooLarge, TooMany
from proctor.ues.times import Years

PREFIX = "UES_LIMIT_"
"""What the environment variables of these settings begin with, such as ``UES_LIMIT_REQUEST_BYTES``."""

Count = Annotated[int, Field(ge=1)]


class Limits(BaseSettings):
    """The limits, each a setting of the server's environment.

    Attributes:
        request_bytes: bytes of one request's body.
        admin_request_bytes: the same for every other key, whose scenarios may be large. A checkpoint has no limit, so
            that every checkpoint can be restored.
        requests_per_turn: requests, successful or not.
        growth_per_turn: bytes by which the simulation may grow: what is written, and what it takes to undo it.
        work_per_turn: seconds of processor time.
        nesting: how deep the JSON of a request may nest.
        first_year, last_year: the years in which what is written may lie, both included.
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
    """The limits of this server, read from its environment once. Raises pydantic's ValidationError."""
    return Limits()


def _named(setting: str) -> str:
    return f"({PREFIX}{setting.upper()})"


class Allowance:
    """What a participant has used up of a turn's limits."""

    def __init__(self) -> None:
        self.limits = configured()
        self._requests = 0
        self._grown = 0
        self._worked = 0.0

    def renew(self) -> None:
        self._requests = self._grown = 0
        self._worked = 0.0

    def take_request(self) -> None:
        """Count a request. Raises TooMany (429) beyond the turn's."""
        if self._requests >= self.limits.requests_per_turn:
            raise TooMany(
                f"You have sent {self._requests:,} requests in this turn, which is the limit "
                f"{_named('requests_per_turn')}; the turn continues, and the next one has as many again."
            )
        if self._worked >= self.limits.work_per_turn:
            raise TooMany(
                f"Your requests have kept the server busy for {self._worked:.1f} s in this turn, and the limit is "
                f"{self.limits.work_per_turn:g} s {_named('work_per_turn')}; the turn continues; the next one has as "
                "much again. Queries with a limit take less than whole states."
            )
        self._requests += 1

    def note_work(self, seconds: float) -> None:
        """Count the time that the server worked at a request; over the limit, the next request is refused."""
        self._worked += seconds

    @property
    def room(self) -> int:
        """By how many bytes the simulation may still grow."""
        return max(0, self.limits.growth_per_turn - self._grown)

    def grow(self, size: int) -> None:
        """Count bytes that are to be written. Raises TooLarge (413) where there isn't room for them."""
        if size > self.room:
            raise self.full()
        self._grown += size

    def fill(self) -> TooLarge:
        """Note that all room is used up, also for smaller requests of this turn. Returns the 413."""
        self._grown = self.limits.growth_per_turn
        return self.full()

    def full(self) -> TooLarge:
        return TooLarge(
            f"Your data would let the simulation grow by more than {self.limits.growth_per_turn:,} bytes in this "
            f"turn, which is the limit {_named('growth_per_turn')}, and {self._grown:,} are used up; the turn "
            "continues; the next one has as many again."
        )


def too_large(size: int | None, limit: int, setting: str | None) -> TooLarge:
    """The 413 for a body. ``size`` is None where the caller doesn't say it beforehand."""
    excess = "The body is larger than" if size is None else f"The body has {size:,} bytes, more than"
    return TooLarge(
        f"{excess} the {limit:,} bytes that are read {_named(setting)}." if setting else f"{excess} {limit:,}."
    )
