"""A participant's budget for models in an assessment, in money and tokens, and how much of it is used.

Failed tries count, too. A file stores the sum, so a restarted server continues from it.
"""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from purple_sdk.harness import agents_files
from purple_sdk.harness.counting import ModelAnswer, Question
from purple_sdk.harness.declared import HarnessError
from purple_sdk.protocol.provenance import ModelUse, added_up
from purple_sdk.settings.config import HarnessConfig
from purple_sdk.settings.prices import Price, Prices, PricesError, read_prices


@dataclass(frozen=True)
class Excess:
    """A limit that is reached, with the used amount and the remedy."""

    problem: str
    remedy: str


class Budget:
    """The limits of one assessment. All its tries share them, including one that is still ending.

    Attributes:
        has_ended_one: an event that is set when a request has ended.

    Raises:
        HarnessError: the price table can't be read, or lacks the model although money is limited.
    """

    def __init__(self, config: HarnessConfig) -> None:
        try:
            self._prices: Prices = read_prices(config.prices)
        except PricesError as error:
            raise HarnessError(str(error)) from None
        if config.max_cost is not None and config.model not in self._prices.models:
            raise HarnessError(
                f'--max-cost {config.max_cost:g}: the price of the model "{config.model}" is not known. Name a table '
                "of prices with AGENTBEATS_PURPLE_PRICES, or limit tokens with --max-tokens"
            )
        self._config = config
        self._file: Path | None = None
        self._now = (0, 0.0)
        self._of_try = 0
        self._under_way: list[Question] = []
        self._beyond = 0
        self.has_ended_one = asyncio.Event()

    def load_spending(self, file: Path) -> None:
        """Begin a try with the sum in the assessment's file, if it exists; store the sum there from now on."""
        self._file = file
        self.begin_try()
        with suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads(agents_files.read(file.parent, file.name))
            self._now = (int(kept["tokens"]), float(kept["cost"]))

    def begin_try(self) -> None:
        """Begin with the turn's tokens at 0."""
        self._of_try = 0

    def reserve(self, question: Question) -> None:
        """Count a request at its maximum length, until it is settled."""
        self._under_way.append(question)

    def settle(self, question: Question, answer: ModelAnswer | None) -> None:
        """Count a request's answer in place of its maximum. If the answer is longer than that, later answers are
        expected to be as long.
        """
        most = self._count_most_tokens(question)
        self._under_way.remove(question)
        self.has_ended_one.set()
        if answer is not None:
            self._beyond += max(0, answer.input_tokens + answer.counted_output - most)
            self.count(answer)

    def count(self, answer: ModelAnswer) -> None:
        """Count an answer, even if it belongs to an earlier try that ends only now."""
        tokens = answer.input_tokens + answer.counted_output
        self._of_try += tokens
        self._now = (self._now[0] + tokens, self._now[1] + self._compute_cost(answer))
        self._keep()

    def check(self) -> Excess | None:
        """Return the limit that is reached; None if none is reached."""
        config, currency, of_try = self._config, self._prices.currency, self._of_try
        if of_try >= config.tokens_per_turn:
            return Excess(
                f"used {of_try} tokens in this turn, and the limit is {config.tokens_per_turn}",
                "raise AGENTBEATS_PURPLE_TOKENS_PER_TURN, or choose an easier task",
            )
        tokens, cost = self._now
        if config.max_tokens is not None and tokens >= config.max_tokens:
            return Excess(
                f"used {tokens} tokens in this assessment, and the limit is {config.max_tokens}",
                "raise --max-tokens (AGENTBEATS_PURPLE_MAX_TOKENS), or choose an easier task",
            )
        if config.max_cost is not None and cost >= config.max_cost:
            return Excess(
                f"used {cost:.4g} {currency} in this assessment, and the limit is {config.max_cost:g} {currency}",
                "raise --max-cost (AGENTBEATS_PURPLE_MAX_COST), or choose a cheaper model",
            )
        return None

    def can_afford(self, question: Question) -> bool:
        """Return whether the limits hold even if this answer and the running ones have their maximum length. A request
        that runs alone always has room. So an assessment exceeds its limits by one answer at most.
        """
        config, (used, cost), questions = self._config, self._now, [*self._under_way, question]
        tokens = sum(map(self._count_most_tokens, questions))
        return not self._under_way or (
            self._of_try + tokens < config.tokens_per_turn
            and (config.max_tokens is None or used + tokens < config.max_tokens)
            and (config.max_cost is None or cost + sum(map(self._compute_most_cost, questions)) < config.max_cost)
        )

    def lacks_price(self, model: str) -> bool:
        """Whether money is limited and this model's price is not known."""
        return self._config.max_cost is not None and model not in self._prices.models

    def uses(self, answers: Sequence[ModelAnswer]) -> list[ModelUse]:
        """Return the use of each model, with its cost if the price is known."""
        return added_up(
            ModelUse(
                model=answer.model,
                calls=1,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                cached_tokens=answer.cached_tokens,
                cost=None if (price := self._find_price(answer)) is None else _cost(price, answer),
                currency=None if price is None else self._prices.currency,
            )
            for answer in answers
        )

    def _find_price(self, answer: ModelAnswer) -> Price | None:
        """Return the first known price of these models: the answering one, the requested one, the participant's own."""
        known = self._prices.models
        return known.get(answer.model) or known.get(answer.asked_model) or known.get(self._config.model)

    def _compute_cost(self, answer: ModelAnswer) -> float:
        price = self._find_price(answer)
        most = replace(answer, output_tokens=answer.counted_output)
        return 0.0 if price is None else _cost(price, most)

    def _count_most_tokens(self, question: Question) -> int:
        """Return the maximum tokens of the request and its answers. They follow from bytes, since a token has at least
        one byte.
        """
        return question.size + question.most_output + self._beyond

    def _compute_most_cost(self, question: Question) -> float:
        price = self._find_price(ModelAnswer(question.model))
        prompt = question.size * (2 if question.wire == "anthropic" else 1)  # writing to a cache costs twice as much
        return 0.0 if price is None else price.of(prompt, question.most_output + self._beyond)

    def _keep(self) -> None:
        if self._file is not None:
            tokens, cost = self._now
            agents_files.write(self._file.parent, self._file.name, json.dumps({"tokens": tokens, "cost": cost}))


def _cost(price: Price, answer: ModelAnswer) -> float:
    return price.of(answer.input_tokens + answer.surcharge, answer.output_tokens, answer.cached_tokens)
