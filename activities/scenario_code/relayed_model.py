"""Give evaluators access to the judge's model. Their process has no key, so the worker makes the calls.

``RelayedModel`` is used in the evaluator's process, ``answer`` in the worker. Messages are sent in LangChain's own JSON
form.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models.base import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, message_to_dict, messages_from_dict, messages_to_dict
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field, PrivateAttr, model_validator

from proctor.activities.models.dialects import invoke

Exchange = Callable[[dict[str, Any]], bytes]

_OPTIONS = {
    *("tools", "tool_choice", "parallel_tool_calls", "strict", "response_format"),
    *("temperature", "top_p", "seed", "max_tokens"),
}


class ModelQuestion(BaseModel):
    """An evaluator's question to the model. The evaluator's process may have sent any data."""

    messages: list[dict[str, Any]] = Field(min_length=1)
    stop: list[str] | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _require_tools(self) -> Self:
        tools = self.options.get("tools") or []
        if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
            raise ValueError("options.tools is a list of objects")
        return self

    def read_messages(self) -> list[BaseMessage]:
        """Parse the messages. Raises ValueError, KeyError or TypeError if they are not messages."""
        return messages_from_dict(self.messages)


def find_refused(question: ModelQuestion) -> str | None:
    """Return the first option of a question that an evaluator may not set, in words.

    Such options could name another model, address or account. Tools that the provider runs have extra costs.
    """
    options = question.options
    if unknown := sorted(set(options) - _OPTIONS):
        return f'the option "{unknown[0][:50]}"'
    kinds = [tool.get("type") for tool in options.get("tools") or []]
    return next((f'a tool of the type "{str(kind)[:50]}"' for kind in kinds if kind != "function"), None)


class RelayedModel(BaseChatModel):
    """A chat model whose calls are made by another process, one at a time."""

    _exchange: Exchange | None = PrivateAttr(default=None)
    _one_at_a_time: Any = PrivateAttr(default_factory=threading.Lock)

    @classmethod
    def over(cls, exchange: Exchange) -> Self:
        """Make a model whose calls go through ``exchange``, which takes a question as JSON data and returns the
        answer's JSON.
        """
        model = cls()
        model._exchange = exchange
        return model

    @property
    def _llm_type(self) -> str:
        return "relayed"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools, as every chat model does; ``with_structured_output`` uses it."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        assert self._exchange is not None
        plain = {name: value for name, value in kwargs.items() if not name.startswith("ls_")}
        with self._one_at_a_time:
            answer = self._exchange({"messages": messages_to_dict(messages), "stop": stop, "options": plain})
        (message,) = messages_from_dict([json.loads(answer)])
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await asyncio.to_thread(self._generate, messages, stop, None, **kwargs)


async def answer(question: ModelQuestion, llm: BaseChatModel) -> bytes:
    """Call the real model with a ``RelayedModel``'s question. Raises any error of the model's client."""
    options = dict(question.options)
    tools, choice = options.pop("tools", None), options.pop("tool_choice", None)

    def prepared(llm: BaseChatModel) -> Runnable[LanguageModelInput, AIMessage]:
        if tools:
            return llm.bind_tools(tools, tool_choice=choice, **options)
        return llm.bind(**options) if options else llm

    message = await invoke(llm, question.read_messages(), prepared, stop=question.stop)
    return json.dumps(message_to_dict(message), default=str).encode()
