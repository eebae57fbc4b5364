"""Models by name."""

import sys
import warnings
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from proctor.activities.models.factory import (
    LLMConfig,
    LLMFactory,
    LLMProvider,
    MissingExtraError,
    ModelSettingsError,
    UnsupportedModelError,
    missing_setting,
)
from proctor.activities.models.structured import ask
from tests.openai_endpoint import OpenAIEndpoint
from tests.sentences import says
from tests.work import only_nightly, some_of

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

VARIABLES = [
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_URL",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_AD_TOKEN",
    "AZURE_OPENAI_ENDPOINT",
    "OPENAI_API_VERSION",
]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("gpt-4o", LLMProvider.OPENAI),
        ("GPT-4o-mini", LLMProvider.OPENAI),
        ("chatgpt-4o-latest", LLMProvider.OPENAI),
        ("o1", LLMProvider.OPENAI),
        ("o3-mini", LLMProvider.OPENAI),
        ("O4-mini", LLMProvider.OPENAI),
        ("openai/qwen2.5-7b", LLMProvider.OPENAI),
        ("azure/my-gpt", LLMProvider.AZURE),
        ("claude-sonnet-4-5", LLMProvider.ANTHROPIC),
        ("anthropic/claude-sonnet-4-5", LLMProvider.ANTHROPIC),
        ("Claude-3-haiku", LLMProvider.ANTHROPIC),
        ("gemini-2.0-flash", LLMProvider.GOOGLE),
        ("ollama/llama3.2", LLMProvider.OLLAMA),
    ],
)
def test_the_prefix_says_who_serves_a_model(name: str, provider: LLMProvider) -> None:
    assert LLMFactory.detect_provider(name) == provider


@pytest.mark.parametrize(
    "name", ["", "llama3", "o2", "o12", "ollama/", "openai/", "azure/", "gpt-", "mygpt-4", "claude"]
)
def test_other_names_are_refused_with_what_is_known(name: str) -> None:
    with pytest.raises(UnsupportedModelError, check=says()):
        LLMFactory.detect_provider(name)


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("gpt-4o", "OPENAI_API_KEY"),
        ("openai/x", "OPENAI_API_KEY"),
        ("claude-x", "ANTHROPIC_API_KEY"),
        ("gemini-x", "GOOGLE_API_KEY"),
    ],
)
def test_a_missing_key_is_named(model: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_setting(model, None) == variable
    assert missing_setting(model, "http://127.0.0.1:1/v1") is None
    with pytest.raises(ModelSettingsError, check=says(variable)):
        LLMFactory.create(model)
    monkeypatch.setenv(variable, "")
    assert missing_setting(model, None) == variable
    monkeypatch.setenv(variable, "key")
    assert missing_setting(model, None) is None


def test_what_else_stands_for_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_setting("ollama/x", None) is None
    monkeypatch.setenv("GEMINI_API_KEY", "key")
    assert missing_setting("gemini-x", None) is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert missing_setting("gpt-4o", None) is None


def _openai(model: str, **settings: object) -> "ChatOpenAI":
    from langchain_openai import ChatOpenAI

    llm = LLMFactory.create(model, base_url="http://127.0.0.1:1/v1", **settings)  # type: ignore[arg-type]
    assert isinstance(llm, ChatOpenAI)
    return llm


def test_openai_gets_name_temperature_seed_and_address() -> None:
    llm = _openai("openai/Qwen/Qwen2.5", temperature=0.2, seed=7, top_p=0.5)
    assert (llm.model_name, llm.temperature, llm.seed, llm.openai_api_base) == (
        "Qwen/Qwen2.5",
        0.2,
        7,
        "http://127.0.0.1:1/v1",
    )
    assert llm.top_p == 0.5
    assert llm.max_retries == 0


@pytest.mark.parametrize("model", ["o1", "o3-mini", "o4-mini", "gpt-5", "gpt-5-mini", "openai/o3"])
def test_reasoning_models_get_no_temperature_and_a_warning(model: str) -> None:
    with pytest.warns(UserWarning) as warned:  # noqa: PT030
        llm = _openai(model, temperature=0.2)
    assert str(warned[0].message) == says("0.2")
    assert llm.temperature != 0.2


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5-chat-latest"])
def test_other_models_get_their_temperature_without_a_warning(model: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert _openai(model, temperature=0.2).temperature == 0.2


@pytest.mark.parametrize(
    ("model", "kind"),
    some_of(  # each imports a large package
        [
            ("ollama/llama3.2", "ChatOllama"),
            ("claude-sonnet-4-5", "ChatAnthropic"),
            ("gemini-2.0-flash", "ChatGoogleGenerativeAI"),
        ],
        1,
    ),
)
def test_the_other_providers_models_are_made(model: str, kind: str) -> None:
    config = LLMConfig(model, temperature=0.1, seed=5, base_url="http://127.0.0.1:1")
    llm = LLMFactory.create_from_config(config)
    assert type(llm).__name__ == kind
    assert getattr(llm, "temperature", None) == 0.1
    assert getattr(llm, "seed", None) == (5 if kind == "ChatOllama" else None)
    assert model.removeprefix("ollama/") in str(getattr(llm, "model", ""))


def test_azure_needs_a_key_and_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_setting("azure/judge", "https://mine.openai.azure.com") == "AZURE_OPENAI_API_KEY"
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "key")
    assert missing_setting("azure/judge", None) == "AZURE_OPENAI_ENDPOINT"
    assert missing_setting("azure/judge", "https://mine.openai.azure.com") is None
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com")
    assert missing_setting("azure/judge", None) is None


class Colour(BaseModel):
    name: str


async def test_azure_is_asked_at_its_deployment(endpoint: OpenAIEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name says nothing about the model: one that refuses ``max_tokens`` gets ``max_completion_tokens``."""
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "key")
    endpoint.refused = {"max_tokens", "temperature"}
    endpoint.answer("which colour", {"name": "red"})
    llm = LLMFactory.create(
        "azure/my-judge", temperature=0.0, seed=7, base_url=endpoint.base_url.removesuffix("/v1"), max_tokens=50
    )
    assert (await ask(llm, "You paint.", "Which colour?", Colour)).name == "red"
    assert endpoint.paths[-1] == "/openai/deployments/my-judge/chat/completions?api-version=2024-10-21"
    last = endpoint.requests[-1]
    assert (last["max_completion_tokens"], last["seed"], "temperature" in last) == (50, 7, False)
    assert last["response_format"]["type"] == "json_schema"


@only_nightly  # by default: test_a_missing_extra_is_named, as its package takes more than a second to import
async def test_anthropic_is_asked_through_its_own_package(endpoint: OpenAIEndpoint) -> None:
    endpoint.answer("which colour", {"name": "red"})
    llm = LLMFactory.create("anthropic/claude-x", base_url=endpoint.base_url.removesuffix("/v1"), max_tokens=50)
    assert (await ask(llm, "You paint.", "Which colour?", Colour)).name == "red"
    assert endpoint.paths == ["/v1/messages"]
    assert (endpoint.requests[0]["model"], endpoint.requests[0]["max_tokens"]) == ("claude-x", 50)


@pytest.mark.parametrize(
    ("model", "package", "extra"),
    [
        ("claude-x", "langchain_anthropic", "anthropic"),
        ("gemini-x", "langchain_google_genai", "google"),
        ("ollama/x", "langchain_ollama", "ollama"),
    ],
)
def test_a_missing_extra_is_named(model: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, check=says(f"proctor[{extra}]")):
        LLMFactory.create(model, base_url="http://127.0.0.1:1")
