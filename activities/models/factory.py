"""Language models by name (seed 000, section 3.3), and their errors.

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

Temporal retries; the providers' clients make one attempt per call. The import of LangChain takes a second, so it is
delayed until a model is needed (``prepare``).
"""

import asyncio
import importlib
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

REQUEST_TIMEOUT = 120.0
"""Seconds that one call to a model may take, unless ``timeout`` is given."""

MAX_TOKENS = 8_000
"""The most tokens of an answer, unless ``max_tokens`` is given. Without a limit, a small model may ramble until the
timeout.
"""

_NO_KEY_NEEDED = "not-needed"
_KEY_PARAMETERS = {"api_key", "azure_ad_token", "google_api_key", "anthropic_api_key"}
_AZURE_API_VERSION = "2024-10-21"
_AZURE_ENDPOINT = "AZURE_OPENAI_ENDPOINT"
_REASONING = re.compile(r"o[134](-.*)?|gpt-5(?!.*chat).*")


class ModelError(Exception):
    """A model failed to do its task."""


class ModelSettingsError(ModelError):
    """The model's settings are wrong (name, key, address, a prompt too long for it); a retry can't help."""


class UnsupportedModelError(ModelSettingsError):
    """A name that belongs to no known provider."""


class MissingExtraError(ModelSettingsError):
    """The provider's package isn't installed; the message names the extra."""


class ModelUnavailableError(ModelError):
    """The model can't be reached, is overloaded or failed; a retry may help."""


class ModelAnswerError(ModelError):
    """The model's answer couldn't be used, even after a second request; a retry may help."""


class LLMProvider(Enum):
    OPENAI = "openai"
    AZURE = "azure"
    ANTHROPIC = "anthropic"
    GOOGLE = "google"
    OLLAMA = "ollama"


@dataclass(frozen=True)
class _Provider:
    """A provider's names of models, and the parameters of its client.

    Attributes:
        names: its models, in small letters.
        prefix: the part that is removed from a name.
        made_by: LangChain's class, after its module.
        keys: the environment variables that may have a key.
        addresses: the environment variables that may have the address of the user's own server.
        base_url: its address, if the class doesn't know it.
        passes_key: whether we pass the key to the class. Otherwise the class finds the key itself, or needs none.
        takes_seed: whether requests may have a seed.
        renamed: the class's own names for parameters.
        max_retries: the value with which the client makes one attempt per call; None if the client has no such
            parameter.
    """

    names: str
    made_by: str
    prefix: str = ""
    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    base_url: str | None = None
    passes_key: bool = True
    takes_seed: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)
    max_retries: int | None = 0


_PROVIDERS = {
    LLMProvider.OPENAI: _Provider(
        r"openai/.+|gpt-.+|chatgpt-.+|o[134](-.*)?",
        "langchain_openai.ChatOpenAI",
        prefix="openai/",
        keys=("OPENAI_API_KEY",),
        addresses=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        takes_seed=True,
    ),
    LLMProvider.AZURE: _Provider(
        r"azure/.+",
        "langchain_openai.AzureChatOpenAI",
        prefix="azure/",
        keys=("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
        passes_key=False,
        takes_seed=True,
        renamed={"model": "azure_deployment", "base_url": "azure_endpoint"},
    ),
    LLMProvider.ANTHROPIC: _Provider(
        r"claude-.+|anthropic/.+",
        "langchain_anthropic.ChatAnthropic",
        prefix="anthropic/",
        keys=("ANTHROPIC_API_KEY",),
        addresses=("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"),
    ),
    LLMProvider.GOOGLE: _Provider(
        r"gemini-.+",
        "langchain_google_genai.ChatGoogleGenerativeAI",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        renamed={"max_tokens": "max_output_tokens"},
        max_retries=1,  # this SDK takes 0 for its own default
    ),
    LLMProvider.OLLAMA: _Provider(
        r"ollama/.+",
        "langchain_ollama.ChatOllama",
        prefix="ollama/",
        passes_key=False,
        takes_seed=True,
        renamed={"max_tokens": "num_predict"},
        max_retries=None,
    ),
}


@dataclass(frozen=True)
class LLMConfig:
    """The parameters of a model.

    ``timeout`` is seconds for one call, ``max_tokens`` the longest answer, reasoning included. ``extra_kwargs`` go to
    the provider's LangChain class unchanged.
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
        """Return the provider of a model. Raises ``UnsupportedModelError`` for a name without a known prefix."""
        name = model.strip().lower()
        for provider, known in _PROVIDERS.items():
            if re.fullmatch(known.names, name):
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
        """Make a model (``LLMConfig``). ``seed`` is passed on if the provider accepts one (OpenAI, Azure, Ollama).
        Raises ``ModelSettingsError`` if the name is unknown, or a package or a key is missing.
        """
        return cls.create_from_config(LLMConfig(model, temperature, seed, base_url, timeout, max_tokens, extra_kwargs))

    @classmethod
    def create_from_config(cls, config: LLMConfig) -> "BaseChatModel":
        provider = cls.detect_provider(config.model)
        missing = missing_setting(config.model, config.base_url)
        if missing is not None and not _KEY_PARAMETERS & config.extra_kwargs.keys():
            raise ModelSettingsError(f"model {config.model!r} needs the environment variable {missing}: set it")
        make = _load_class(provider)
        return make(**{**_settings(config, provider), **config.extra_kwargs})


async def prepare() -> None:
    """Import the model libraries once per process, in a thread: the import would block the event loop."""
    await asyncio.to_thread(importlib.import_module, "langchain_openai")


def missing_setting(model: str, base_url: str | None) -> str | None:
    """Return the environment variable that a model needs and that isn't set, for example ``OPENAI_API_KEY``. None if
    nothing is missing. Raises the errors of ``LLMFactory.detect_provider``.

    The user's own server needs no key: its address is in ``base_url`` or a variable of the provider. Azure always needs
    a key, since every deployment has its own address.
    """
    provider = LLMFactory.detect_provider(model)
    keys = _PROVIDERS[provider].keys
    if provider == LLMProvider.AZURE:
        has_endpoint = bool(base_url or _first_set((_AZURE_ENDPOINT,)))
        return (None if has_endpoint else _AZURE_ENDPOINT) if _first_set(keys) else keys[0]
    if not keys or base_url or _first_set(_PROVIDERS[provider].addresses) or _first_set(keys):
        return None
    return keys[0]


def _first_set(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _settings(config: LLMConfig, provider: LLMProvider) -> dict[str, Any]:
    known, name = _PROVIDERS[provider], config.model.strip()
    if name.lower().startswith(known.prefix):
        name = name[len(known.prefix) :]
    settings: dict[str, Any] = {
        "model": name,
        "temperature": config.temperature,
        "timeout": config.timeout,
        "max_tokens": config.max_tokens,
        "max_retries": known.max_retries,
        "seed": config.seed if known.takes_seed else None,
        "base_url": config.base_url or known.base_url,
    }
    if known.passes_key and not _KEY_PARAMETERS & config.extra_kwargs.keys():
        settings["api_key"] = _first_set(known.keys) or _NO_KEY_NEEDED
    if provider == LLMProvider.OLLAMA:
        settings["client_kwargs"] = {"timeout": settings.pop("timeout")}
    if provider == LLMProvider.AZURE:  # a deployment's name doesn't show the model, which may refuse fields
        settings["api_version"] = _first_set(("OPENAI_API_VERSION",)) or _AZURE_API_VERSION
    if "langchain_openai" in known.made_by and _REASONING.fullmatch(name.lower()):
        del settings["temperature"]
        if config.temperature != 1.0:
            warnings.warn(
                f"{name} is a reasoning model and takes no temperature: {config.temperature} is not sent", stacklevel=4
            )
    return {known.renamed.get(setting, setting): value for setting, value in settings.items() if value is not None}


def _load_class(provider: LLMProvider) -> "type[BaseChatModel]":
    module, _, name = _PROVIDERS[provider].made_by.partition(".")
    try:
        model_class: type[BaseChatModel] = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise MissingExtraError(
            f"{name} is not installed ({error}): run pip install 'proctor[{provider.value}]' where the worker runs"
        ) from error
    return model_class
