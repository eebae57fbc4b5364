"""The operator's table of prices: what models cost."""

import json
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from purple_sdk.protocol.problems import describe

_MILLION = 1_000_000


class PricesError(ValueError):
    """A table of prices that can't be used; the message names file, field and remedy."""


class Price(BaseModel):
    """What a model costs for a million tokens; cached ones cost as much as others where nothing is said of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """What an answer costs; ``cached_tokens`` are among the input's."""
        cached = min(cached_tokens, input_tokens)
        cached_price = self.input if self.cached_input is None else self.cached_input
        return ((input_tokens - cached) * self.input + cached * cached_price + output_tokens * self.output) / _MILLION


class Prices(BaseModel):
    """The operator's table: models by the names that they have in settings, and the currency of all prices."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: str = "USD"
    models: dict[str, Price] = Field(default_factory=dict)


def read_prices(file: str | None) -> Prices:
    """Read a table of prices from a TOML or JSON file; an empty one where there is none."""
    if not file:
        return Prices()
    path = Path(file).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
        return Prices.model_validate(data)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
    except ValidationError as problem:
        reason = describe(problem)
    except ValueError as problem:
        reason = f"it is neither TOML nor, with a name that ends with .json, JSON: {problem}"
    raise PricesError(f'prices ({file}): {reason}; it has to look like [models."gpt-4o"] with input and output')
