"""Language models by name (seed 000, section 3.3), and what can go wrong with them.

========================================  =========  ============================================================
name (in any case)                        provider   needs
========================================  =========  ============================================================
gpt-*, chatgpt-*, o1*, o3*, o4*           OpenAI     OPENAI_API_KEY
openai/NAME (any OpenAI-compatible one)   OpenAI     OPENAI_API_KEY, or a base_url
azure/DEPLOYMENT                          Azure      AZURE_OPENAI_API_KEY (or AZURE_OPENAI_AD_TOKEN);
                                                     AZURE_OPENAI_ENDPOINT, or a base_url;
                                                     OPENAI_API_VERSION, else 2024-10-21
claude-*, anthropic/NAME                  Anthropic  ANTHROPIC_API_KEY; ``pip install proctor[anthropic]``
gemini-*                                  Google     GOOGLE_API_KEY; ``pip install proctor[google]``
ollama/NAME                               Ollama     ``pip install proctor[ollama]``
========================================  =========  ============================================================

Retries are Temporal's: the providers' clients make one attempt a call. LangChain takes a second to import: nothing does
before a model is needed (``prepare``).
"""

import asyncio
import importlib
import os
import re
import warnings
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

REQUEST_TIMEOUT = 120.0
"""Seconds that one call to a model may take, unless ``timeout`` is given."""

MAX_TOKENS = 8_000
"""Tokens of one answer, unless ``max_tokens`` is given: without a limit a small model may ramble until the timeout."""

_NO_KEY_NEEDED = "not-needed"
_OPENAI_PREFIX, _AZURE_PREFIX, _ANTHROPIC_PREFIX, _OLLAMA_PREFIX = "openai/", "azure/", "anthropic/", "ollama/"
_AZURE_API_VERSION = "2024-10-21"
_AZURE_ENDPOINT = "AZURE_OPENAI_ENDPOINT"
_REASONING = re.compile(r"o[134](-.*)?|gpt-5(?!.*chat).*")


class ModelError(Exception):
    """A model didn't do what it was asked for."""


class ModelSettingsError(ModelError):
    """The model's settings are wrong (name, key, address, a prompt too long for it): trying again can't help."""


class UnsupportedModelError(ModelSettingsError):
    """A name that belongs to no known provider."""


class MissingExtraError(ModelSettingsError):
    """The provider's package isn't installed; the message names the extra."""


class ModelUnavailableError(ModelError):
    """The model can't be reached, is overloaded or failed: worth trying again."""


class ModelAnswerError(ModelError):
    """The model's answer couldn't be used, even after it was asked again: worth trying again."""


class LLMProvider(Enum):
    OPENAI = "openai"
    AZURE = "azure"
    ANTHROPIC = "anthropic"
    GOOGLE = "google"
    OLLAMA = "ollama"


_PREFIXES: tuple[tuple[re.Pattern[str], LLMProvider], ...] = (
    (re.compile(r"openai/.+|gpt-.+|chatgpt-.+|o[134](-.*)?"), LLMProvider.OPENAI),
    (re.compile(r"azure/.+"), LLMProvider.AZURE),
    (re.compile(r"claude-.+|anthropic/.+"), LLMProvider.ANTHROPIC),
    (re.compile(r"gemini-.+"), LLMProvider.GOOGLE),
    (re.compile(r"ollama/.+"), LLMProvider.OLLAMA),
)
_KEYS: dict[LLMProvider, tuple[str, ...]] = {
    LLMProvider.OPENAI: ("OPENAI_API_KEY",),
    LLMProvider.AZURE: ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
    LLMProvider.ANTHROPIC: ("ANTHROPIC_API_KEY",),
    LLMProvider.GOOGLE: ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    LLMProvider.OLLAMA: (),
}
_BASE_URLS: dict[LLMProvider, tuple[str, ...]] = {
    LLMProvider.OPENAI: ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    LLMProvider.AZURE: (),
    LLMProvider.ANTHROPIC: ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"),
    LLMProvider.GOOGLE: (),
    LLMProvider.OLLAMA: (),
}


@dataclass(frozen=True)
class LLMConfig:
    """What a model is made from.

    ``timeout`` is seconds for one call, ``max_tokens`` the longest answer, reasoning included; ``extra_kwargs`` go to
    the provider's LangChain class as they are.
    """

    model: str
    temperature: float = 0.7
    seed: int | None = None
    base_url: str | None = None
    timeout: float = REQUEST_TIMEOUT
    max_tokens: int = MAX_TOKENS
    extra_kwargs: dict[str, Any] = field(default_factory=dict)


class LLMFactory:
    @classmethod
    def detect_provider(cls, model: str) -> LLMProvider:
        """Say who serves a model.

        Raises:
            UnsupportedModelError: no known prefix.
        """
        name = model.strip().lower()
        for pattern, provider in _PREFIXES:
            if pattern.fullmatch(name):
                return provider
        raise UnsupportedModelError(
            f"unknown model {model!r}: names start with gpt-, chatgpt-, o1, o3, o4, azure/, claude-, anthropic/, "
            "gemini- or ollama/; write openai/NAME for a model of an OpenAI-compatible server"
        )

    @classmethod
    def create(
        cls,
        model: str,
        temperature: float = 0.7,
        seed: int | None = None,
        base_url: str | None = None,
        timeout: float = REQUEST_TIMEOUT,
        max_tokens: int = MAX_TOKENS,
        **extra_kwargs: Any,
    ) -> "BaseChatModel":
        """Make a model (``LLMConfig``). ``seed`` is passed on where the provider takes one (OpenAI, Azure,
        Ollama).

        Raises:
            UnsupportedModelError, MissingExtraError, ModelSettingsError (no API key).
        """
        return cls.create_from_config(LLMConfig(model, temperature, seed, base_url, timeout, max_tokens, extra_kwargs))

    @classmethod
    def create_from_config(cls, config: LLMConfig) -> "BaseChatModel":
        """Make a model from a configuration; raises as ``create`` does."""
        provider = cls.detect_provider(config.model)
        missing = missing_setting(config.model, config.base_url)
        if missing is not None and not {
            "api_key",
            "azure_ad_token",
            "google_api_key",
            "anthropic_api_key",
        } & set(config.extra_kwargs):
            raise ModelSettingsError(f"model {config.model!r} needs the environment variable {missing}: set it")
        return _MAKERS[provider](config)


async def prepare() -> None:
    """Import what models are made of, away from the event loop, which would stand still meanwhile; once a process."""
    await asyncio.to_thread(importlib.import_module, "langchain_openai")


def missing_setting(model: str, base_url: str | None) -> str | None:
    """The environment variable that a model needs and that isn't set, for example ``OPENAI_API_KEY``; else None.

    A server of one's own (``base_url``, or the provider's variable for it) needs no key. Azure's address belongs to the
    deployment, so that its key is needed in any case.

    Raises:
        UnsupportedModelError: an unknown name.
    """
    provider = LLMFactory.detect_provider(model)
    keys = _KEYS[provider]
    if provider == LLMProvider.AZURE:
        has_endpoint = bool(base_url or _first_set((_AZURE_ENDPOINT,)))
        return (None if has_endpoint else _AZURE_ENDPOINT) if _first_set(keys) else keys[0]
    if not keys or base_url or _first_set(_BASE_URLS[provider]) or _first_set(keys):
        return None
    return keys[0]


def _first_set(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _key(config: LLMConfig, provider: LLMProvider, parameter: str = "api_key") -> dict[str, str]:
    if _first_set(_KEYS[provider]) or parameter in config.extra_kwargs:
        return {}
    return {parameter: _NO_KEY_NEEDED}


def _openai(config: LLMConfig) -> "BaseChatModel":
    from langchain_openai import ChatOpenAI

    settings = _openai_settings(config, _OPENAI_PREFIX)
    if config.base_url:
        settings["base_url"] = config.base_url
    return ChatOpenAI(**{**settings, **_key(config, LLMProvider.OPENAI), **config.extra_kwargs})


def _azure(config: LLMConfig) -> "BaseChatModel":
    """A deployment in Azure; its name says nothing about the model, which may refuse fields (``dialects``)."""
    from langchain_openai import AzureChatOpenAI

    settings = _openai_settings(config, _AZURE_PREFIX)
    settings["azure_deployment"] = settings.pop("model")
    settings["api_version"] = _first_set(("OPENAI_API_VERSION",)) or _AZURE_API_VERSION
    if config.base_url:
        settings["azure_endpoint"] = config.base_url
    return AzureChatOpenAI(**{**settings, **config.extra_kwargs})


def _openai_settings(config: LLMConfig, prefix: str) -> dict[str, Any]:
    name = _without_prefix(config.model, prefix)
    settings: dict[str, Any] = {
        "model": name,
        "max_retries": 0,
        "timeout": config.timeout,
        "max_tokens": config.max_tokens,
    }
    if _REASONING.fullmatch(name.lower()):
        if config.temperature != 1.0:
            warnings.warn(
                f"{name} is a reasoning model and takes no temperature: {config.temperature} is not sent", stacklevel=5
            )
    else:
        settings["temperature"] = config.temperature
    if config.seed is not None:
        settings["seed"] = config.seed
    return settings


def _without_prefix(model: str, prefix: str) -> str:
    name = model.strip()
    return name[len(prefix) :] if name.lower().startswith(prefix) else name


def _anthropic(config: LLMConfig) -> "BaseChatModel":
    settings: dict[str, Any] = {
        "model": _without_prefix(config.model, _ANTHROPIC_PREFIX),
        "temperature": config.temperature,
        "max_retries": 0,
        "timeout": config.timeout,
        "max_tokens": config.max_tokens,
    }
    if config.base_url:
        settings["base_url"] = config.base_url
    make = _class_of_extra("langchain_anthropic", "ChatAnthropic", "anthropic")
    return make(**{**settings, **_key(config, LLMProvider.ANTHROPIC), **config.extra_kwargs})


def _google(config: LLMConfig) -> "BaseChatModel":
    # One attempt is written max_retries=1 there; 0 means the SDK's own default.
    settings: dict[str, Any] = {
        "model": config.model.strip(),
        "temperature": config.temperature,
        "max_retries": 1,
        "timeout": config.timeout,
        "max_output_tokens": config.max_tokens,
    }
    if config.base_url:
        settings["base_url"] = config.base_url
    make = _class_of_extra("langchain_google_genai", "ChatGoogleGenerativeAI", "google")
    return make(**{**settings, **_key(config, LLMProvider.GOOGLE), **config.extra_kwargs})


def _ollama(config: LLMConfig) -> "BaseChatModel":
    settings: dict[str, Any] = {
        "model": config.model.strip()[len(_OLLAMA_PREFIX) :],
        "temperature": config.temperature,
        "client_kwargs": {"timeout": config.timeout},
        "num_predict": config.max_tokens,
    }
    if config.seed is not None:
        settings["seed"] = config.seed
    if config.base_url:
        settings["base_url"] = config.base_url
    return _class_of_extra("langchain_ollama", "ChatOllama", "ollama")(**{**settings, **config.extra_kwargs})


_MAKERS = {
    LLMProvider.OPENAI: _openai,
    LLMProvider.AZURE: _azure,
    LLMProvider.ANTHROPIC: _anthropic,
    LLMProvider.GOOGLE: _google,
    LLMProvider.OLLAMA: _ollama,
}


def _class_of_extra(module: str, name: str, extra: str) -> "type[BaseChatModel]":
    try:
        model_class: type[BaseChatModel] = getattr(importlib.import_module(module), name)
    except ImportError as problem:
        raise MissingExtraError(
            f"{name} is not installed ({problem}): run pip install 'proctor[{extra}]' where the worker runs"
        ) from problem
    return model_class
