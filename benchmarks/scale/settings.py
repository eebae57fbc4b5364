"""What a night is like, what it is played with, and what that costs: ``benchmarks/scale.toml`` and one's own."""

import tomllib
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from proctor_protocol.problems import describe

FILE = Path(__file__).parent.parent / "scale.toml"


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NightSettings(_Settings):
    """What is played, and how long others take: see the remarks in ``scale.toml``."""

    assessments: int = Field(gt=0)
    hours: float = Field(gt=0)
    scenarios: list[str] = Field(min_length=1)
    participant: str
    with_models: bool
    turn_seconds: tuple[float, float]
    model_seconds: float = Field(ge=0)
    output_tokens: int = Field(ge=0)
    kept_days: float = Field(ge=0)
    store_writes: dict[str, float]
    store_reads: dict[str, float]
    retention_days: float = Field(ge=0)
    nights_a_month: float = Field(gt=0)

    @field_validator("turn_seconds")
    @classmethod
    def _in_order(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not 0 <= value[0] <= value[1]:
            raise ValueError("give the shortest time first, from 0 on")
        return value

    @property
    def seconds(self) -> float:
        """The night, in seconds."""
        return self.hours * 3600


class FleetSettings(_Settings):
    """What it is played with; None is as many as it takes."""

    used_at_most: float = Field(gt=0, le=1)
    worker_processes: int | None = Field(default=None, ge=1)
    simulator_hosts: int | None = Field(default=None, ge=1)
    gateways: int | None = Field(default=None, ge=1)
    model_slots: int = Field(ge=1)
    slots: int = Field(ge=1)
    waits_begun_per_second: float = Field(gt=0)
    heartbeats_per_second: float = Field(gt=0)
    longest_pause: float = Field(gt=0)
    memory_gb: float = Field(gt=0)


class Limits(_Settings):
    """What others allow."""

    actions_per_second: float = Field(gt=0)
    requests_per_second: float = Field(gt=0)
    tokens_per_minute: float = Field(gt=0)
    calls_per_minute: float = Field(gt=0)
    writes_per_second: float = Field(gt=0)


class Prices(_Settings):
    """What others ask for, in one currency."""

    actions: list[tuple[float, float]]
    beyond: float = Field(ge=0)
    history_active_gbh: float = Field(ge=0)
    history_retained_gbh: float = Field(ge=0)
    vcpu_hour: float = Field(ge=0)
    memory_gb_hour: float = Field(ge=0)
    store_gb_month: float = Field(ge=0)
    store_1000_writes: float = Field(ge=0)
    store_1000_reads: float = Field(ge=0)
    model: str
    input: float = Field(ge=0)
    cached_input: float = Field(ge=0)
    output: float = Field(ge=0)

    def of_actions(self, actions: float) -> float:
        """What a month's billable actions cost, step by step."""
        cost, below = 0.0, 0.0
        for up_to, price in [*((each * 1e6, price) for each, price in self.actions), (float("inf"), self.beyond)]:
            cost += max(min(actions, up_to) - below, 0) / 1e6 * price
            below = up_to
        return cost


class Settings(_Settings):
    """All of them."""

    night: NightSettings
    fleet: FleetSettings
    limits: Limits
    prices: Prices

    @classmethod
    def load(cls, own: Path | None = None, **night: Any) -> Self:
        """The defaults, with one's own file over them, and with some of the night's settings over both.

        Raises:
            ValueError: a setting that there isn't, or a value that it can't have; names both.
        """
        settings = tomllib.loads(FILE.read_text(encoding="utf-8"))
        others: dict[str, Any] = tomllib.loads(own.read_text(encoding="utf-8")) if own else {}
        for part, values in [*others.items(), ("night", {k: v for k, v in night.items() if v is not None})]:
            is_part = isinstance(values, dict) and isinstance(settings.get(part), dict)
            settings[part] = {**settings[part], **values} if is_part else values
        try:
            return cls.model_validate(settings)
        except ValidationError as problem:
            raise ValueError(describe(problem)) from None
