"""Callers of the evaluator, their quotas, and the tasks that they may see."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from purple_sdk.protocol._wire import WireModel

CALLER = "proctor.caller"
"""The key of the caller in the scope of an HTTP request (ASGI)."""


class Quotas(WireModel):
    """A caller's quota; None is unlimited.

    Attributes:
        at_once: assessments that run at the same time, including those of campaigns.
        per_day: assessments begun within 24 hours.
        cost_per_day: model costs of assessments that ended within 24 hours, in the price table's currency.
    """

    at_once: int | None = Field(default=None, ge=1)
    per_day: int | None = Field(default=None, ge=1)
    cost_per_day: float | None = Field(default=None, gt=0)

    def beneath(self, other: "Quotas") -> "Quotas":
        """Return these quotas; those that are None here are taken from ``other``."""
        mine = self.model_dump(exclude_none=True)
        return Quotas.model_validate({**other.model_dump(), **mine})


class Caller(WireModel):
    """A caller: ``name`` is the owner of its tasks; empty if callers aren't authenticated."""

    name: str = ""
    is_admin: bool = False
    quotas: Quotas = Quotas()

    def may_see(self, owner: str) -> bool:
        """Tell whether this caller may see tasks of ``owner``."""
        return self.is_admin or (bool(self.name) and owner == self.name)


ANYBODY = Caller(is_admin=True)
"""The caller of every request if callers aren't authenticated; it may see everything."""


def get_caller(scope: Mapping[str, Any]) -> Caller:
    """Return the caller of an HTTP request."""
    caller = scope.get(CALLER, ANYBODY)
    assert isinstance(caller, Caller)
    return caller
