"""Count the calls to one model by LangChain's callbacks. With tracing, each call is a span by OpenTelemetry's semantic
conventions for generative AI. The module is imported with the first model.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import LLMResult

from proctor.activities.attempts.metrics import MODEL_CALLS, MODEL_COST, MODEL_SECONDS, MODEL_TOKENS
from proctor.activities.models.factory import LLMFactory, LLMProvider
from proctor.observing import tracing
from purple_sdk.protocol.provenance import ModelUse
from purple_sdk.settings.prices import Price, Prices

if TYPE_CHECKING:
    from opentelemetry.trace import Span

_MOST_TOKENS = 10**12
_PROVIDERS = {LLMProvider.GOOGLE: "gcp.gemini", LLMProvider.AZURE: "azure.ai.openai"}
"""The names of providers in the semantic conventions, if they differ from our names."""


@dataclass(frozen=True)
class _Call:
    began: float
    span: "Span | None"


class Counter(BaseCallbackHandler):
    """Gets every answer of one model from LangChain."""

    run_inline = True

    def __init__(self, use: ModelUse, prices: Prices, on_answer: Callable[[], None]) -> None:
        self.use = use
        self._price = prices.models.get(use.model)
        self._currency = prices.currency if self._price else None
        self._on_answer = on_answer
        self._under_way: dict[UUID, _Call] = {}

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        span = tracing.begin_span(f"chat {self.use.model}", self._attributes()) if tracing.is_tracing() else None
        self._under_way[run_id] = _Call(time.perf_counter(), span)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        """Add an answer's tokens. A count that the endpoint doesn't report makes the sum unknown."""
        usage = _plausible(_read_usage(response))
        self._end(run_id, usage, response)
        self._add(usage)

    def on_llm_error(self, error: BaseException, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        """Add the tokens of an answer that was cut off or filtered. The client raises for such an answer, but it is
        billed too.
        """
        usage = _plausible(_read_completion_usage(error.completion)) if hasattr(error, "completion") else None
        self._end(run_id, usage, error)
        if hasattr(error, "completion"):
            self._add(usage)

    def _attributes(self) -> dict[str, str | int | float | bool]:
        provider = LLMFactory.detect_provider(self.use.model)
        attributes: dict[str, str | int | float | bool] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(provider, provider.value),
            "gen_ai.request.model": self.use.model,
        }
        if self.use.temperature is not None:
            attributes["gen_ai.request.temperature"] = self.use.temperature
        if self.use.endpoint:
            attributes["server.address"] = self.use.endpoint
        return attributes

    def _end(self, run_id: UUID | None, usage: UsageMetadata | None, came: LLMResult | BaseException) -> None:
        model, has_failed = self.use.model, isinstance(came, BaseException)
        MODEL_CALLS.labels(model, "failed" if has_failed else "answered").inc()
        if usage is not None:
            cached = min(_cached_tokens(usage) or 0, usage["input_tokens"])
            MODEL_TOKENS.labels(model, "input").inc(usage["input_tokens"] - cached)
            MODEL_TOKENS.labels(model, "cached_input").inc(cached)
            MODEL_TOKENS.labels(model, "output").inc(usage["output_tokens"])
            if self._price and self._currency:
                MODEL_COST.labels(model, self._currency).inc(_cost(self._price, usage))
        call = self._under_way.pop(run_id, None) if run_id else None
        if call is None:
            return
        MODEL_SECONDS.labels(model).observe(time.perf_counter() - call.began)
        if call.span is None:
            return
        if usage is not None:
            call.span.set_attribute("gen_ai.usage.input_tokens", usage["input_tokens"])
            call.span.set_attribute("gen_ai.usage.output_tokens", usage["output_tokens"])
        if isinstance(came, BaseException):
            tracing.fail(call.span, came)
        elif came.llm_output and (answering := came.llm_output.get("model_name")):
            call.span.set_attribute("gen_ai.response.model", str(answering))
        call.span.end()

    def _add(self, usage: UsageMetadata | None) -> None:
        one = ModelUse(
            model=self.use.model,
            calls=1,
            input_tokens=usage["input_tokens"] if usage else None,
            output_tokens=usage["output_tokens"] if usage else None,
            cached_tokens=_cached_tokens(usage) if usage else None,
            cost=_cost(self._price, usage) if usage and self._price else None,
        )
        if self.use.calls:
            self.use = self.use.add(one)
        else:
            reported = {"calls", "input_tokens", "output_tokens", "cached_tokens", "cost"}
            self.use = self.use.model_copy(update={**one.model_dump(include=reported), "currency": self._currency})
        self._on_answer()


def _cached_tokens(usage: UsageMetadata) -> int | None:
    """Return how many input tokens came from the provider's cache; None if the provider doesn't say."""
    details: Any = usage.get("input_token_details") or {}
    cached = details.get("cache_read")
    return cached if isinstance(cached, int) else None


def _cost(price: Price, usage: UsageMetadata) -> float:
    return price.of(usage["input_tokens"], usage["output_tokens"], _cached_tokens(usage) or 0)


def _read_completion_usage(completion: Any) -> UsageMetadata | None:
    reported = getattr(completion, "usage", None)
    if reported is None:
        return None
    usage = UsageMetadata(
        input_tokens=reported.prompt_tokens,
        output_tokens=reported.completion_tokens,
        total_tokens=reported.total_tokens,
    )
    cached = getattr(reported.prompt_tokens_details, "cached_tokens", None)
    if cached is not None:
        usage["input_token_details"] = InputTokenDetails(cache_read=cached)
    return usage


def _plausible(usage: UsageMetadata | None) -> UsageMetadata | None:
    """Return an endpoint's usage unchanged, or None (unknown) if a count is missing or implausible."""
    counts = [] if usage is None else [usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]]
    return usage if all(type(count) is int and 0 <= count < _MOST_TOKENS for count in counts) else None


def _read_usage(response: LLMResult) -> UsageMetadata | None:
    for generations in response.generations:
        for generation in generations:
            message = getattr(generation, "message", None)
            if isinstance(message, AIMessage) and message.usage_metadata:
                return message.usage_metadata
    return None
