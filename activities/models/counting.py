"""Counts what one model was asked, as LangChain tells of its answers; imported with the first model."""

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import LLMResult

from activities.models.usage import Prices, cached_tokens
from proctor_protocol.provenance import ModelUse


class Counter(BaseCallbackHandler):
    """Hears from LangChain of every answer of one model."""

    run_inline = True

    def __init__(self, use: ModelUse, prices: Prices) -> None:
        self.use = use
        self._price = prices.models.get(use.model)
        self._currency = prices.currency if self._price else None

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Add an answer up; what its endpoint doesn't tell makes the sum unknown."""
        usage = _usage_of(response)
        one = ModelUse(model=self.use.model, calls=1)
        if usage is not None:
            one = one.model_copy(
                update={
                    "input_tokens": usage["input_tokens"],
                    "output_tokens": usage["output_tokens"],
                    "cached_tokens": cached_tokens(usage),
                    "cost": self._price.of(usage) if self._price else None,
                }
            )
        if self.use.calls:
            self.use = self.use.add(one)
        else:
            told = {"calls", "input_tokens", "output_tokens", "cached_tokens", "cost"}
            self.use = self.use.model_copy(update={**one.model_dump(include=told), "currency": self._currency})


def _usage_of(response: LLMResult) -> UsageMetadata | None:
    for generations in response.generations:
        for generation in generations:
            message = getattr(generation, "message", None)
            if isinstance(message, AIMessage) and message.usage_metadata:
                return message.usage_metadata
    return None
