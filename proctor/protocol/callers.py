"""Who asks the evaluator for something, and what is theirs to see."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from purple_sdk.protocol._wire import WireModel

CALLER = "proctor.caller"
"""Where the scope of an HTTP request (ASGI) has its caller."""


class Quotas(WireModel):
    """A caller's quota; None is unlimited.

    Attributes:
        at_once: assessments that run at the same time, those of campaigns with them. per_day: assessments begun within
        24 hours. cost_per_day: what the models of those that ended within 24 hours cost, in the price table's currency.
    """

    at_once: int | None = Field(default=None, ge=1)
    per_day: int | None = Field(default=None, ge=1)
    cost_per_day: float | None = Field(default=None, gt=0)

    def beneath(self, other: "Quotas") -> "Quotas":
        """These, and the other's where these say nothing."""
        mine = self.model_dump(exclude_none=True)
        return Quotas.model_validate({**other.model_dump(), **mine})


class Caller(WireModel):
    """A caller: ``name`` is the owner of its tasks; empty where callers aren't authenticated."""

    name: str = ""
    is_admin: bool = False
    quotas: Quotas = Quotas()

    def may_see(self, owner: str) -> bool:
        """Whether what belongs to ``owner`` is there for this caller."""
        return self.is_admin or (bool(self.name) and owner == self.name)


ANYBODY = Caller(is_admin=True)
"""Any caller, where callers aren't authenticated: each may see everything."""


def caller_of(scope: Mapping[str, Any]) -> Caller:
    """The caller of an HTTP request."""
    caller = scope.get(CALLER, ANYBODY)
    assert isinstance(caller, Caller)
    return caller
