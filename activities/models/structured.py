"""Get structured answers from any chat model. Each answer is checked. An unusable answer is requested once more, never
guessed.

There are several ways to ask, and the first one that works with a server is remembered:

* a JSON schema or tool call that the provider enforces
* a ``json_object`` with the schema in the prompt
* plain text that contains the JSON
"""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from proctor.activities.models.dialects import OPENAI_CLASSES, REFUSALS, find_address, invoke
from proctor.activities.models.factory import ModelAnswerError, ModelError
from proctor.activities.models.failing import ANSWERS_RAISED, classified, find_http_status
from proctor.language.patterns import compiled
from purple_sdk.protocol.json_safe import json_safe, json_safe_text
from purple_sdk.protocol.problems import describe

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import BaseMessage, HumanMessage

_THOUGHTS = compiled(r"<think>.*?</think>")

AnswerT = TypeVar("AnswerT", bound=BaseModel)
Check = Callable[[AnswerT], str | None]

_TEXT = "text"
_WITHOUT_LENGTHS = "json_schema without lengths"
"""The way for providers that refuse ``maxLength``. Other ways keep the limit, since small models may ramble for
thousands of tokens in a string.
"""

_LENGTHS = {"maxLength", "maxItems", "minItems"}
_MODES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(OPENAI_CLASSES, ("json_schema", _WITHOUT_LENGTHS, "json_mode", _TEXT)),
    "ChatOllama": ("json_schema", "json_mode", _TEXT),
    "ChatGoogleGenerativeAI": ("json_schema", _WITHOUT_LENGTHS, _TEXT),
    "ChatAnthropic": ("function_calling", _TEXT),
}
_OTHER_MODES = (_TEXT,)
_LONGEST_SHOWN = 2000
_MOST_FAILED = 100
"""The most failed attempts to parse an object in one answer. Each attempt takes time in proportion to the answer."""
MOST_CHARACTERS = 200_000
"""The longest answer that is parsed: parsing blocks the event loop for all other work."""

_working_mode: dict[tuple[str, str], str] = {}


async def ask(
    llm: "BaseChatModel",
    system: str,
    question: str,
    answer_type: type[AnswerT],
    check: Check[AnswerT] | None = None,
    *,
    context: str = "",
    narrower_type: type[BaseModel] | None = None,
) -> AnswerT:
    """Ask a model for an answer of a given type.

    Args:
        llm: the model.
        system: its role and the rules.
        question: the prompt.
        answer_type: the type of the answer.
        check: returns a sentence about a fault in an answer of the right type (bounds, completeness); None if there is
            none.
        context: text before the question, the same for many questions. Providers that cache by prefix serve it from
            their cache; providers that want a hint get one.
        narrower_type: a stricter type for the second try, which small models need. The first try doesn't use this type:
            it differs by question, and a schema is part of a provider's cached prefix.

    Raises:
        ModelAnswerError: the second answer was unusable too; another try may help.
        ModelUnavailableError: there is no connection, a timeout, a rate limit or a server failure. Or the response is
            not a model's answer, such as a page of HTML or a cut body. Another try may help.
        ModelSettingsError: the request was refused for good (key, model name, prompt too long).
    """
    modes = _MODES.get(type(llm).__name__, _OTHER_MODES)
    schema = answer_type.model_json_schema()
    if schema == _without_lengths(schema):
        modes = tuple(mode for mode in modes if mode != _WITHOUT_LENGTHS)
    address = find_address(llm)
    start = modes.index(_working_mode[address]) if _working_mode.get(address) in modes else 0
    for mode in modes[start:]:
        try:
            answer = await _ask_twice(
                llm, mode, system, _prompt(llm, context, question), answer_type, check, narrower_type or answer_type
            )
        except ModelError:
            raise
        except Exception as error:
            refuses_format = find_http_status(error) in REFUSALS or isinstance(error, NotImplementedError)
            if mode != modes[-1] and refuses_format:
                continue
            raise classified(error, address[0]) from error
        _working_mode[address] = mode
        return answer
    raise AssertionError("the last mode answers or raises")


def _prompt(llm: "BaseChatModel", context: str, question: str) -> "HumanMessage":
    """Return the question after its context. The mark on the context makes Anthropic cache it; other providers cache
    automatically.
    """
    from langchain_core.messages import HumanMessage

    if not context:
        return HumanMessage(question)
    shared: dict[str, Any] = {"type": "text", "text": f"{context}\n\n"}
    if type(llm).__name__ == "ChatAnthropic":
        shared["cache_control"] = {"type": "ephemeral"}
    return HumanMessage([shared, {"type": "text", "text": question}])


async def _ask_twice(
    llm: "BaseChatModel",
    mode: str,
    system: str,
    prompt: "HumanMessage",
    answer_type: type[AnswerT],
    check: Check[AnswerT] | None,
    narrower_type: type[BaseModel],
) -> AnswerT:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    form = _form(answer_type)
    rules = system if mode in ("json_schema", _WITHOUT_LENGTHS, "function_calling") else f"{system}\n\n{form}"
    messages: list[BaseMessage] = [SystemMessage(rules), prompt]
    answer, problem, reply = await _ask_once(llm, mode, messages, answer_type, check, answer_type)
    if answer is None:
        messages += [
            AIMessage(reply[:_LONGEST_SHOWN] or "(nothing)"),
            HumanMessage(f"That answer can't be used: {problem}. Answer again.\n{_form(narrower_type)}"),
        ]
        answer, problem, reply = await _ask_once(llm, mode, messages, answer_type, check, narrower_type)
    if answer is None:
        raise ModelAnswerError(
            f"model {find_address(llm)[0]} answered twice what can't be used: {problem}; its last answer was "
            f"{reply[:300]!r}"
        )
    return answer


def _form(answer_type: type[BaseModel]) -> str:
    schema = json.dumps(answer_type.model_json_schema(), ensure_ascii=False)
    return f"Answer with one JSON object that fits this JSON schema, and with nothing else:\n{schema}"


async def _ask_once(
    llm: "BaseChatModel",
    mode: str,
    messages: "Sequence[BaseMessage]",
    answer_type: type[AnswerT],
    check: Check[AnswerT] | None,
    asked_type: type[BaseModel],
) -> tuple[AnswerT | None, str, str]:
    """Return the answer (None if it is unusable), a sentence about its fault, and the model's text. ``asked_type`` is
    the requested type.
    """
    if mode == _TEXT:
        raw = await invoke(llm, messages)
    else:
        try:
            is_strict = type(llm).__name__ in OPENAI_CLASSES and mode.startswith("json_schema")
            strict = {"strict": True} if is_strict else {}
            schema = asked_type.model_json_schema()
            if mode == _WITHOUT_LENGTHS:
                schema = _without_lengths(schema)
            method = "json_schema" if mode == _WITHOUT_LENGTHS else mode

            def prepared(llm: "BaseChatModel") -> Any:
                return _without_parser(llm.with_structured_output(schema, method=method, include_raw=True, **strict))

            raw = await invoke(llm, messages, prepared)
            if isinstance(raw, dict) and "raw" in raw:
                raw = raw["raw"]
        except Exception as error:
            # OpenAI's client raises on an answer that was cut off or filtered. That answer counts, as an unusable one.
            if type(error).__name__ in ANSWERS_RAISED:
                return None, str(error), ""
            raise
    reply = json_safe_text(_extract_text(raw))  # models and simulator refuse half a surrogate pair
    if len(reply) > MOST_CHARACTERS:
        return None, f"it has {len(reply):,} characters: answer with at most {MOST_CHARACTERS:,}", reply
    answer, problem_sentence = read_answer(reply, answer_type, check)
    return answer, problem_sentence, reply


def _without_lengths(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_lengths(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _without_lengths(value) for name, value in schema.items() if name not in _LENGTHS}


def _without_parser(runnable: Any) -> Any:
    """Return the model that LangChain has prepared for a format, without LangChain's parser of the answer.

    The parser tries every prefix of an answer that isn't JSON: a long answer would block the event loop for minutes.
    """
    steps = getattr(getattr(runnable, "first", None), "steps__", None)
    return steps["raw"] if isinstance(steps, dict) and "raw" in steps else runnable


def _extract_text(raw: Any) -> str:
    from langchain_core.messages import AIMessage

    if isinstance(raw, AIMessage):
        if raw.tool_calls:
            return json.dumps(raw.tool_calls[0]["args"], ensure_ascii=False)
        if raw.additional_kwargs.get("refusal"):
            return str(raw.additional_kwargs["refusal"])
        return str(raw.text)
    return str(raw)


def read_answer(
    text: str, answer_type: type[AnswerT], check: Check[AnswerT] | None = None
) -> tuple[AnswerT | None, str]:
    """Return the JSON object in a model's text, or None and a sentence about the fault. Text around the object is
    ignored.

    Two objects of the right shape aren't an answer, since untrusted text may have dictated one of them.
    """
    text = _THOUGHTS.sub("", text)
    problem = "there is no JSON object in it"
    fitting: list[AnswerT] = []
    for candidate in _find_objects(text):
        try:
            fitting.append(answer_type.model_validate(candidate))
        except ValidationError as error:
            problem = describe(error)
    if not fitting:
        return None, problem
    if len(fitting) > 1:
        return None, f"there are {len(fitting)} answers in it: give one JSON object"
    wrong = check(fitting[0]) if check else None
    return (fitting[0], "") if wrong is None else (None, wrong)


def _find_objects(text: str) -> list[dict[str, Any]]:
    decoder = json.JSONDecoder(strict=False)
    objects: list[dict[str, Any]] = []
    place, failed = text.find("{"), 0
    while place >= 0 and failed < _MOST_FAILED:
        try:
            value, end = decoder.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError):
            end, failed = place + 1, failed + 1
        else:
            objects.append({json_safe_text(name): json_safe(member) for name, member in value.items()})
        place = text.find("{", end)
    return objects
