"""The overview's parameters in its address: filters and order."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import get_args
from urllib.parse import urlencode

from proctor.storage.entry_table import EntryQuery, Order
from purple_sdk.protocol.results import ResultStatus

FILTERS = ("scenario", "agent", "seed", "model", "campaign", "status", "cost")
"""The filters of the form, in its order."""

STATUSES: tuple[str, ...] = get_args(ResultStatus)

PAGE = 200
"""The number of entries on one page of the overview."""

_LONGEST = 200


@dataclass(frozen=True)
class Overview:
    """Filters and order; an empty text means no filter.

    Attributes:
        search: words that an entry's id, kind, scenario, agent, status or campaign must contain.
        agent: a part of the agent's name or address.
        exact: "1" if ``agent`` is the whole name that pages show.
        cost: the lowest cost, in the currency of each entry.
        sort: the column by which entries are sorted.
        up: "1" for the lowest value first.
        all: also show members of campaigns, unless it is empty.
    """

    search: str = ""
    scenario: str = ""
    agent: str = ""
    exact: str = ""
    seed: str = ""
    model: str = ""
    campaign: str = ""
    status: str = ""
    cost: str = ""
    sort: str = ""
    up: str = ""
    all: str = ""
    page: str = ""

    @classmethod
    def of(cls, params: Mapping[str, str]) -> "Overview":
        """Read the parameters of an address; unknown ones are ignored."""
        filters = {item.name: params[item.name].strip()[:_LONGEST] for item in fields(cls) if item.name in params}
        if "all" in params:
            filters["all"] = "1"
        return cls(**filters)

    @property
    def active(self) -> dict[str, str]:
        return {name: value for name in FILTERS if (value := getattr(self, name))}

    @property
    def problem(self) -> str:
        """An error in a filter, as a sentence; empty if there is none."""
        if self.seed and self._seed is None:
            return f"Seed “{self.seed}” is not a whole number: nothing is filtered by it."
        if self.cost and self._cost is None:
            return f"Cost “{self.cost}” is not a number of at least 0, such as 0.25: nothing is filtered by it."
        return ""

    @property
    def _seed(self) -> int | None:
        digits = self.seed.removeprefix("-")
        return int(self.seed) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None

    @property
    def _cost(self) -> float | None:
        is_number = self.cost.isascii() and self.cost.replace(".", "", 1).isdigit()
        return float(self.cost) if is_number else None

    @property
    def number(self) -> int:
        is_number = self.page.isascii() and self.page.isdigit() and len(self.page) < 8
        return max(1, int(self.page)) if is_number else 1

    @property
    def order(self) -> Order:
        """The column of the order; the start for an unknown column."""
        orders: tuple[Order, ...] = get_args(Order)
        return next((order for order in orders if order == self.sort), "started")

    def query(self) -> EntryQuery:
        return EntryQuery(
            search=self.search,
            scenario=self.scenario or None,
            agent=None if self.exact else self.agent or None,
            agent_named=self.agent if self.exact and self.agent else None,
            seed=self._seed,
            judge=self.model or None,
            campaign=self.campaign or None,
            status=self.status or None,
            cost_from=self._cost,
            order=self.order,
            is_rising=bool(self.up),
            most=PAGE,
            skip=(self.number - 1) * PAGE,
        )

    def address(self, **changes: str) -> str:
        """Return the address of the overview's first page with some parameters changed; an empty text removes one."""
        now = {item.name: getattr(self, item.name) for item in fields(self)} | {"page": ""} | changes
        query = urlencode({name: value for name, value in now.items() if value})
        return f"/?{query}" if query else "/"

    def toggle_sort(self, column: str) -> str:
        """Return the address that sorts by a column; for the current column, it reverses the direction."""
        return self.address(sort=column, up="" if self.up or self.order != column else "1")
