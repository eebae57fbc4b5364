"""Read the operator's table of models' prices."""

import json
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from purple_sdk.protocol.problems import describe

_MILLION = 1_000_000


class PricesError(ValueError):
    """A table of prices that can't be used; the message names file, field and remedy."""


class Price(BaseModel):
    """The price of a model for a million tokens. Without ``cached_input``, cached tokens cost as much as other
    tokens.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """Return the cost of an answer; ``input_tokens`` include ``cached_tokens``."""
        cached = min(cached_tokens, input_tokens)
        cached_price = self.input if self.cached_input is None else self.cached_input
        return ((input_tokens - cached) * self.input + cached * cached_price + output_tokens * self.output) / _MILLION


class Prices(BaseModel):
    """The operator's table: prices by the models' names in settings, and the currency of all prices."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: str = "USD"
    models: dict[str, Price] = Field(default_factory=dict)


def read_prices(file: str | None) -> Prices:
    """Read a table of prices from a TOML or JSON file; without a file, the table is empty."""
    if not file:
        return Prices()
    path = Path(file).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
        return Prices.model_validate(data)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except ValidationError as error:
        reason = describe(error)
    except ValueError as error:
        reason = f"it is neither TOML nor, with a name that ends with .json, JSON: {error}"
    raise PricesError(f'prices ({file}): {reason}; it has to look like [models."gpt-4o"] with input and output')
