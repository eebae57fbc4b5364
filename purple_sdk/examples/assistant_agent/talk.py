"""A uniform way to talk to any model: it answers, and asks for tools, by native tool calls or in JSON."""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from purple_sdk.examples.assistant_agent.memory import cut, estimate_tokens
from purple_sdk.examples.assistant_agent.tools import Tool

ToolCalling = Literal["auto", "native", "json"]
ResponseFormat = Literal["json_schema", "json_object"]
JSON_FORMATS: tuple[ResponseFormat, ...] = ("json_schema", "json_object")

PROMPTS: dict[str, str] = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))
"""Texts for the model. Names in braces are filled in."""


@dataclass(frozen=True)
class Wish:
    """One tool call that the model asks for; ``problem`` has the reason if it can't be read."""

    id: str
    tool: str
    arguments: Any = None
    problem: str | None = None


_CUT_OFF = Wish("0", "(none)", problem="error: the answer was too long and was cut off: write a shorter one")

_LONGEST_THOUGHTS = 300
"""Maximum characters of the thoughts, if the server enforces a schema."""

_MOST_CALLS = 8
"""Maximum calls in one answer, if the server enforces a schema."""

_OF_CUT_ANSWER = 10
"""Tokens of an answer that was cut off, in the next prompt."""

_OF_JSON = ("response_format", "json", "schema", "grammar")


@dataclass(frozen=True)
class ModelReply:
    """One answer of the model, with its use; ``tokens`` are estimated if the server doesn't report them."""

    text: str
    wishes: tuple[Wish, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass
class Conversation:
    """The conversation with a model in one turn, kept within a budget.

    Attributes:
        calling: the way to ask for tools; ``auto`` tries native calls first, then JSON if the model has none.
        context_tokens: approximate maximum of a prompt; the oldest answers of tools are left out first.
        formats: the response formats to try for JSON, the strictest first; formats that the server refused are removed.
    """

    model: BaseChatModel
    tools: Sequence[Tool]
    calling: ToolCalling
    context_tokens: int
    formats: list[ResponseFormat] = field(default_factory=lambda: list(JSON_FORMATS))
    _instructions: str = ""
    _functions: list[dict[str, Any]] = field(default_factory=list)
    _messages: list[BaseMessage] = field(default_factory=list)

    def begin(self, instructions: str, news: str) -> None:
        """Start with the model's instructions and its task."""
        self._instructions = instructions
        self._functions = [tool.as_function() for tool in self.tools]
        self._messages = [HumanMessage(news)]

    @property
    def is_native(self) -> bool:
        """Whether tools are called natively."""
        return self.calling != "json"

    async def ask(self) -> ModelReply:
        """Get the model's answer. Raises Exception (any error of the provider's package)."""
        if not self.is_native:
            return await self._ask_in_json()
        try:
            return await self._ask_natively()
        except Exception as error:
            if self.calling == "native" or not _means_no_tools(error):
                raise
            self.calling = "json"
            return await self._ask_in_json()

    def answer(self, wish: Wish, result: str) -> None:
        """Give the model the result of a tool."""
        if self.is_native:
            self._messages.append(ToolMessage(result, tool_call_id=wish.id, name=wish.tool))
        else:
            self._messages.append(HumanMessage(f"{wish.tool} answered: {result}"))

    def remark(self, text: str) -> None:
        """Add a message to the model."""
        self._messages.append(HumanMessage(text))

    def size(self) -> int:
        """Estimate the tokens of the next prompt."""
        functions = estimate_tokens(json.dumps(self._functions)) if self.is_native else 0
        return functions + estimate_tokens(self._system()) + sum(_size(message) for message in self._messages)

    async def _ask_natively(self) -> ModelReply:
        bound = self.model.bind_tools(self._functions)
        answer = await bound.ainvoke(self._prompt())
        assert isinstance(answer, AIMessage)
        wishes = [Wish(str(call["id"] or call["name"]), call["name"], call["args"]) for call in answer.tool_calls]
        wishes += [
            Wish(str(call["id"] or call["name"]), str(call["name"]), problem=f"error: {call['error'] or 'no JSON'}")
            for call in answer.invalid_tool_calls
        ]
        self._messages.append(answer)
        return self._reply(str(answer.text), wishes, answer)

    async def _ask_in_json(self) -> ModelReply:
        prompt = self._prompt()
        try:
            answer = await self._in_best_format(prompt)
        except Exception as error:
            completion = getattr(error, "completion", None)  # openai's LengthFinishReasonError
            if completion is None:
                raise
            text, usage = str(completion.choices[0].message.content), completion.usage
            self._messages.append(AIMessage(cut(text, _OF_CUT_ANSWER)))
            return ModelReply(
                text="", wishes=(_CUT_OFF,), input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens
            )
        text = str(answer.text)
        self._messages.append(AIMessage(text))
        thoughts, wishes = read_json_answer(text)
        return self._reply(thoughts, wishes, answer)

    async def _in_best_format(self, prompt: list[BaseMessage]) -> AIMessage:
        while self.formats:
            try:
                return await self.model.bind(response_format=self._response_format()).ainvoke(prompt)
            except Exception as error:
                if not _means_no_json(error):
                    raise
                del self.formats[0]
        return await self.model.ainvoke(prompt)

    def _response_format(self) -> dict[str, Any]:
        if self.formats[0] == "json_object":
            return {"type": "json_object"}
        schema = _schema_of_answers([function["function"] for function in self._functions])
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}

    def _reply(self, text: str, wishes: Sequence[Wish], answer: AIMessage) -> ModelReply:
        usage = answer.usage_metadata
        return ModelReply(
            text=text,
            wishes=tuple(wishes),
            input_tokens=usage["input_tokens"] if usage else self.size() - _size(answer),
            output_tokens=usage["output_tokens"] if usage else _size(answer),
        )

    def _system(self) -> str:
        if self.is_native:
            return self._instructions
        return self._instructions + PROMPTS["in_json"].format(tools="\n".join(tool.signature() for tool in self.tools))

    def _prompt(self) -> list[BaseMessage]:
        self._make_room()
        return [SystemMessage(self._system()), *self._messages]

    def _make_room(self) -> None:
        """Shorten the oldest messages, except the first, until the prompt fits."""
        excess = self.size() - self.context_tokens
        for place, message in enumerate(self._messages[1:-1], start=1):
            if excess <= 0:
                return
            text = str(message.text)
            shorter = cut(text, 10)
            if isinstance(message, ToolMessage | HumanMessage) and len(shorter) < len(text):
                excess -= estimate_tokens(text) - estimate_tokens(shorter)
                self._messages[place] = message.model_copy(update={"content": shorter})


def _schema_of_answers(functions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON schema of ``read_json_answer``'s input: each call has a tool's name and that tool's arguments."""
    definitions: dict[str, Any] = {}
    calls = []
    for function in functions:
        arguments = dict(function["parameters"])
        definitions.update(arguments.pop("$defs", {}))
        calls.append(_strict_object(tool={"const": function["name"]}, arguments=arguments))
    thoughts = {"type": "string", "maxLength": _LONGEST_THOUGHTS}
    answer = _strict_object(
        thoughts=thoughts, calls={"type": "array", "maxItems": _MOST_CALLS, "items": {"anyOf": calls}}
    )
    return {**answer, "$defs": definitions} if definitions else answer


def _strict_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def read_json_answer(text: str) -> tuple[str, list[Wish]]:
    """Read thoughts and wishes from a JSON answer, which may be in a code block or among words.

    Text that isn't JSON becomes an unreadable wish, to give the model an error.
    """
    for candidate in (text, *re.findall(r"```(?:json)?\s*(.*?)```", text, re.DOTALL), text[text.find("{") :]):
        try:
            parsed, _ = json.JSONDecoder().raw_decode(candidate.strip())
        except ValueError:
            continue
        if isinstance(parsed, dict):
            break
    else:
        return "", [Wish("0", "(none)", problem="error: the answer is not a JSON object: write one, and nothing else")]
    calls = parsed.get("calls")
    wishes = []
    for number, call in enumerate(calls if isinstance(calls, list) else []):
        if isinstance(call, dict) and isinstance(call.get("tool"), str):
            wishes.append(Wish(str(number), call["tool"], call.get("arguments") or {}))
        else:
            wishes.append(Wish(str(number), "(none)", problem='error: a call is {"tool": ..., "arguments": {...}}'))
    return str(parsed.get("thoughts") or ""), wishes


def _size(message: BaseMessage) -> int:
    calls = getattr(message, "tool_calls", None)
    return estimate_tokens(str(message.text)) + (estimate_tokens(json.dumps(calls, default=str)) if calls else 0)


def _means_no_tools(problem: Exception) -> bool:
    if isinstance(problem, NotImplementedError):
        return True
    return getattr(problem, "status_code", None) in (400, 404, 422, 500, 501) and "tool" in str(problem).lower()


def _means_no_json(problem: Exception) -> bool:
    if isinstance(problem, TypeError):
        return True
    text = str(problem).lower()
    return getattr(problem, "status_code", None) in (400, 404, 422) and any(word in text for word in _OF_JSON)
