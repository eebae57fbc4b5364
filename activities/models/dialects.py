"""Differences between servers: some refuse ``max_completion_tokens``, ``seed``, ``temperature`` or list content.

After a refusal the request is sent again without the refused part. Refusals are remembered by model and address. Only
OpenAI's API has this many dialects; other providers' clients are left alone.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from proctor.activities.attempts.troubles import telling
from proctor.activities.models.endpoint_queue import place_at_endpoint
from proctor.activities.models.factory import ModelUnavailableError
from proctor.activities.models.failing import find_http_status
from proctor.activities.models.waits import give_up_if_away, shared_wait

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import Runnable

OPENAI_CLASSES = ("ChatOpenAI", "AzureChatOpenAI")

REFUSALS = frozenset({400, 405, 415, 422, 501})
"""HTTP statuses by which servers refuse an unknown part of a request."""

_TOKENS, _SEED, _TEMPERATURE, _LISTS = "max_tokens", "seed", "temperature", "list content"

_NAMED = {
    _TOKENS: re.compile(r"max_(completion_)?tokens"),
    _SEED: re.compile(r"\bseed\b"),
    _TEMPERATURE: re.compile(r"\btemperature\b"),
    _LISTS: re.compile(r"content.{0,200}\b(str|string)\b|\b(list|array)\b.{0,200}content", re.DOTALL),
}
"""Words by which refusals name the refused part."""

_FORMAT = re.compile(r"response_format|json_schema|json_object|\btools?\b|tool_choice|guided|(max|min)(Length|Items)")
_UNNAMED = frozenset({_TOKENS, _SEED, _LISTS})
"""Parts that are left out together if a refusal names none."""

_LONGEST_READ = 4_000

_refused: dict[tuple[str, str], frozenset[str]] = {}


def find_address(llm: "BaseChatModel") -> tuple[str, str]:
    model = next((value for name in _NAMES if (value := getattr(llm, name, None))), type(llm).__name__)
    base_url = next((value for name in _ADDRESSES if (value := getattr(llm, name, None))), "")
    return str(model), str(base_url)


_NAMES = ("deployment_name", "model_name", "model")
_ADDRESSES = ("azure_endpoint", "openai_api_base", "anthropic_api_url", "base_url")


async def invoke(
    llm: "BaseChatModel",
    messages: "Sequence[BaseMessage]",
    prepare: "Callable[[BaseChatModel], Runnable[Any, Any]]" = lambda llm: llm,
    **options: Any,
) -> Any:
    """Send a request through the endpoint's queue (``endpoint_queue``) in the dialect that the model's server accepts.

    ``prepare`` changes the model before the call, for example binds tools; ``options`` go to ``ainvoke``. Raises all
    errors of the provider's client, and ModelUnavailableError if other steps have waited long enough for the model.
    """
    is_openai = type(llm).__name__ in OPENAI_CLASSES
    address = find_address(llm)
    without = _refused.get(address, frozenset())
    while True:
        try:
            async with telling(_unanswered(address[0])), shared_wait(address), place_at_endpoint(llm):
                give_up_if_away(address)
                answer = await prepare(_without(llm, without)).ainvoke(_flat(messages, without), **options)
        except Exception as error:
            more = _find_refused(error) - without if is_openai and find_http_status(error) in REFUSALS else frozenset()
            if not more:
                raise
            without |= more
        else:
            if without:
                _refused[address] = without
            return answer


def _unanswered(model: str) -> ModelUnavailableError:
    return ModelUnavailableError(f"model {model} has not answered yet")


def _find_refused(problem: Exception) -> frozenset[str]:
    message = str(problem)[:_LONGEST_READ]
    named = frozenset(what for what, pattern in _NAMED.items() if pattern.search(message))
    if named:
        return named
    return frozenset() if _FORMAT.search(message) else _UNNAMED


def _without(llm: "BaseChatModel", without: frozenset[str]) -> "BaseChatModel":
    """Return the model without the refused parts. The limit of tokens is kept under its other name."""
    changes: dict[str, Any] = {name: None for name in (_SEED, _TEMPERATURE) if name in without}
    limit = getattr(llm, "max_tokens", None)
    if _TOKENS in without and limit is not None:
        other = "max_tokens" if type(llm).__name__ == "ChatOpenAI" else "max_completion_tokens"
        extra: dict[str, Any] = getattr(llm, "extra_body", None) or {}
        changes |= {"max_tokens": None, "extra_body": {**extra, other: limit}}
    return llm.model_copy(update=changes) if changes else llm


def _flat(messages: "Sequence[BaseMessage]", without: frozenset[str]) -> "list[BaseMessage]":
    """Return messages with a string as content, if the server refuses lists."""
    if _LISTS not in without:
        return list(messages)
    return [
        message if isinstance(message.content, str) else message.model_copy(update={"content": str(message.text)})
        for message in messages
    ]
