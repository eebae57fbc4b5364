"""What servers take of a request: some refuse ``max_completion_tokens``, ``seed``, ``temperature`` or list content.

A server that refuses one of them gets the request again without it. Its refusals are remembered for its model and
address. Only OpenAI's API has this many dialects; other providers' clients are left alone.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from proctor.activities.attempts.troubles import telling
from proctor.activities.models.endpoint_queue import place_at_endpoint
from proctor.activities.models.factory import ModelUnavailableError
from proctor.activities.models.failing import status_of
from proctor.activities.models.waits import give_up_if_away, shared_wait

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import Runnable

OPENAI_CLASSES = ("ChatOpenAI", "AzureChatOpenAI")

REFUSALS = frozenset({400, 405, 415, 422, 501})
"""How servers say that they don't know something in a request."""

_TOKENS, _SEED, _TEMPERATURE, _LISTS = "max_tokens", "seed", "temperature", "list content"

_NAMED = {
    _TOKENS: re.compile(r"max_(completion_)?tokens"),
    _SEED: re.compile(r"\bseed\b"),
    _TEMPERATURE: re.compile(r"\btemperature\b"),
    _LISTS: re.compile(r"content.{0,200}\b(str|string)\b|\b(list|array)\b.{0,200}content", re.DOTALL),
}
"""How refusals name what they don't take."""

_FORMAT = re.compile(r"response_format|json_schema|json_object|\btools?\b|tool_choice|guided|(max|min)(Length|Items)")
_UNNAMED = frozenset({_TOKENS, _SEED, _LISTS})
"""What is left out, all at once, where a refusal doesn't say what it is about."""

_LONGEST_READ = 4_000

_refused: dict[tuple[str, str], frozenset[str]] = {}


def address_of(llm: "BaseChatModel") -> tuple[str, str]:
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
    """Send a request in turn (``endpoint_queue``), in the dialect that the model's server takes.

    ``prepare`` changes the model before it is asked, for example binds tools; ``options`` go to ``ainvoke``. Raises
    anything that the provider's client raises, and ModelUnavailableError (other steps have waited long enough for it).
    """
    is_openai = type(llm).__name__ in OPENAI_CLASSES
    address = address_of(llm)
    without = _refused.get(address, frozenset())
    while True:
        try:
            async with telling(_unanswered(address[0])), shared_wait(address), place_at_endpoint(llm):
                give_up_if_away(address)
                answer = await prepare(_without(llm, without)).ainvoke(_flat(messages, without), **options)
        except Exception as problem:
            more = _refused_in(problem) - without if is_openai and status_of(problem) in REFUSALS else frozenset()
            if not more:
                raise
            without |= more
        else:
            if without:
                _refused[address] = without
            return answer


def _unanswered(model: str) -> ModelUnavailableError:
    return ModelUnavailableError(f"model {model} has not answered yet")


def _refused_in(problem: Exception) -> frozenset[str]:
    message = str(problem)[:_LONGEST_READ]
    named = frozenset(what for what, pattern in _NAMED.items() if pattern.search(message))
    if named:
        return named
    return frozenset() if _FORMAT.search(message) else _UNNAMED


def _without(llm: "BaseChatModel", without: frozenset[str]) -> "BaseChatModel":
    """The model without what its server refuses. The limit of tokens stays, under its other name."""
    changes: dict[str, Any] = {name: None for name in (_SEED, _TEMPERATURE) if name in without}
    limit = getattr(llm, "max_tokens", None)
    if _TOKENS in without and limit is not None:
        other = "max_tokens" if type(llm).__name__ == "ChatOpenAI" else "max_completion_tokens"
        extra: dict[str, Any] = getattr(llm, "extra_body", None) or {}
        changes |= {"max_tokens": None, "extra_body": {**extra, other: limit}}
    return llm.model_copy(update=changes) if changes else llm


def _flat(messages: "Sequence[BaseMessage]", without: frozenset[str]) -> "list[BaseMessage]":
    """Messages whose content is one string, where lists are refused."""
    if _LISTS not in without:
        return list(messages)
    return [
        message if isinstance(message.content, str) else message.model_copy(update={"content": str(message.text)})
        for message in messages
    ]
