"""Counts what one model was asked, as LangChain tells of its answers; imported with the first model."""

from collections.abc import Callable
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import LLMResult

from activities.models.usage import Prices, cached_tokens
from proctor_protocol.provenance import ModelUse


class Counter(BaseCallbackHandler):
    """Hears from LangChain of every answer of one model."""

    run_inline = True

    def __init__(self, use: ModelUse, prices: Prices, on_answer: Callable[[], None]) -> None:
        self.use = use
        self._price = prices.models.get(use.model)
        self._currency = prices.currency if self._price else None
        self._on_answer = on_answer

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Add an answer up; what its endpoint doesn't tell makes the sum unknown."""
        self._add(_usage_of(response))

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        """Add an answer up that the client raises on, since it was cut off or filtered: it is billed like any other."""
        if hasattr(error, "completion"):
            self._add(_usage_in(error.completion))

    def _add(self, usage: UsageMetadata | None) -> None:
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
        self._on_answer()


def _usage_in(completion: Any) -> UsageMetadata | None:
    """The usage of an answer as OpenAI's client has it."""
    told = getattr(completion, "usage", None)
    if told is None:
        return None
    usage = UsageMetadata(
        input_tokens=told.prompt_tokens, output_tokens=told.completion_tokens, total_tokens=told.total_tokens
    )
    cached = getattr(told.prompt_tokens_details, "cached_tokens", None)
    if cached is not None:
        usage["input_token_details"] = InputTokenDetails(cache_read=cached)
    return usage


def _usage_of(response: LLMResult) -> UsageMetadata | None:
    for generations in response.generations:
        for generation in generations:
            message = getattr(generation, "message", None)
            if isinstance(message, AIMessage) and message.usage_metadata:
                return message.usage_metadata
    return None
