"""What a participant may use of models in an assessment, in money and tokens, and what it has used.

Tries that failed count, too. A file keeps the sum, so that a server that is started again continues from it.
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
    """A limit that is reached: what was used, and the remedy."""

    problem: str
    remedy: str


class Budget:
    """The limits of one assessment. All its tries share them, also one that is still being ended.

    Attributes:
        has_ended_one: set when a request has ended.

    Raises:
        HarnessError: the table of prices can't be read, or lacks the model though money is limited.
    """

    def __init__(self, config: HarnessConfig) -> None:
        try:
            self._prices: Prices = read_prices(config.prices)
        except PricesError as problem:
            raise HarnessError(str(problem)) from None
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

    def continue_from(self, file: Path) -> None:
        """Begin a try with what the file of the assessment has, if there is one; it is kept there from now on."""
        self._file = file
        self.begin_try()
        with suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads(agents_files.read(file.parent, file.name))
            self._now = (int(kept["tokens"]), float(kept["cost"]))

    def begin_try(self) -> None:
        """Begin with a turn's tokens at 0."""
        self._of_try = 0

    def reserve(self, question: Question) -> None:
        """Count a request as long as it may be, until it is settled."""
        self._under_way.append(question)

    def settle(self, question: Question, answer: ModelAnswer | None) -> None:
        """Count a request's answer instead. One that is longer than it could be is expected of later requests, too."""
        most = self._most_tokens_of(question)
        self._under_way.remove(question)
        self.has_ended_one.set()
        if answer is not None:
            self._beyond += max(0, answer.input_tokens + answer.counted_output - most)
            self.count(answer)

    def count(self, answer: ModelAnswer) -> None:
        """Count an answer, also one of an earlier try that ends now."""
        tokens = answer.input_tokens + answer.counted_output
        self._of_try += tokens
        self._now = (self._now[0] + tokens, self._now[1] + self._cost_of(answer))
        self._keep()

    def check(self) -> Excess | None:
        """Return the limit that is reached."""
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

    def has_room_for(self, question: Question) -> bool:
        """Whether the limits are kept even if this answer and those under way are as long as they may be. One that is
        alone always has room. So an assessment passes its limits by one answer at most.
        """
        config, (used, cost), questions = self._config, self._now, [*self._under_way, question]
        tokens = sum(map(self._most_tokens_of, questions))
        return not self._under_way or (
            self._of_try + tokens < config.tokens_per_turn
            and (config.max_tokens is None or used + tokens < config.max_tokens)
            and (config.max_cost is None or cost + sum(map(self._most_cost_of, questions)) < config.max_cost)
        )

    def requires_price_of(self, model: str) -> bool:
        """Whether money is limited and this model's price is not known."""
        return self._config.max_cost is not None and model not in self._prices.models

    def uses(self, answers: Sequence[ModelAnswer]) -> list[ModelUse]:
        """The use of each model, with its cost where the price is known."""
        return added_up(
            ModelUse(
                model=answer.model,
                calls=1,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                cached_tokens=answer.cached_tokens,
                cost=None if (price := self._price_of(answer)) is None else _cost(price, answer),
                currency=None if price is None else self._prices.currency,
            )
            for answer in answers
        )

    def _price_of(self, answer: ModelAnswer) -> Price | None:
        """That of the model that answered, else of the one that was asked, else of the participant's own."""
        known = self._prices.models
        return known.get(answer.model) or known.get(answer.asked_model) or known.get(self._config.model)

    def _cost_of(self, answer: ModelAnswer) -> float:
        price = self._price_of(answer)
        most = replace(answer, output_tokens=answer.counted_output)
        return 0.0 if price is None else _cost(price, most)

    def _most_tokens_of(self, question: Question) -> int:
        """Those of the request and its answers, at most; a token has at least one byte."""
        return question.size + question.most_output + self._beyond

    def _most_cost_of(self, question: Question) -> float:
        price = self._price_of(ModelAnswer(question.model))
        prompt = question.size * (2 if question.wire == "anthropic" else 1)  # writing to a cache costs twice as much
        return 0.0 if price is None else price.of(prompt, question.most_output + self._beyond)

    def _keep(self) -> None:
        if self._file is not None:
            tokens, cost = self._now
            agents_files.write(self._file.parent, self._file.name, json.dumps({"tokens": tokens, "cost": cost}))


def _cost(price: Price, answer: ModelAnswer) -> float:
    return price.of(answer.input_tokens + answer.surcharge, answer.output_tokens, answer.cached_tokens)
