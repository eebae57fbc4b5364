"""Language models by name, from whichever LangChain package serves them.

=======================================================  ======================================================
name                                                     package, and the key that it reads
=======================================================  ======================================================
``gpt-*``, ``o1*`` ..., ``openai/NAME``                  ``langchain-openai``, ``OPENAI_API_KEY``
``claude-*``                                             ``langchain-anthropic``, ``ANTHROPIC_API_KEY``
``gemini-*``                                             ``langchain-google-genai``, ``GOOGLE_API_KEY``
``ollama/NAME``                                          ``langchain-ollama``
``PROVIDER/NAME`` of any other ``langchain-PROVIDER``    its own
=======================================================  ======================================================

``openai/NAME`` with ``AGENTBEATS_PURPLE_MODEL_BASE_URL`` is any server that speaks OpenAI's protocol, and needs no key.
"""

import os
import re
from importlib import import_module
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel

from purple_sdk.settings.config import PurpleAgentConfig

_KNOWN = {
    "openai": ("langchain_openai", "ChatOpenAI"),
    "anthropic": ("langchain_anthropic", "ChatAnthropic"),
    "google": ("langchain_google_genai", "ChatGoogleGenerativeAI"),
    "ollama": ("langchain_ollama", "ChatOllama"),
}
_BY_NAME = (("gpt-|chatgpt-|o[134](-|$)", "openai"), ("claude-", "anthropic"), ("gemini-", "google"))
_REASONING = re.compile(r"o[134](-.*)?|gpt-5(?!.*chat).*", re.IGNORECASE)
_LONGEST_ANSWER = {"ollama": "num_predict", "google": "max_output_tokens"}


class ModelNotUsableError(Exception):
    """The model can't be made: its name, its package or its key is missing; the text says which."""


def provider_and_name(model: str) -> tuple[str, str]:
    """Who serves a model, and its name there. Raises ModelNotUsableError (the name has an unknown provider)."""
    provider, slash, name = model.strip().partition("/")
    if slash and provider and name:
        return provider.lower(), name
    for pattern, known in _BY_NAME:
        if re.match(pattern, model.strip(), re.IGNORECASE):
            return known, model.strip()
    raise ModelNotUsableError(f"AGENTBEATS_PURPLE_MODEL is {model!r}: write PROVIDER/NAME, such as openai/{model}")


def make_model(config: PurpleAgentConfig) -> BaseChatModel:
    """The model that the settings name, with their temperature and the longest answer that they allow. Raises
    ModelNotUsableError (no such provider, package or key).
    """
    provider, name = provider_and_name(config.model)
    module, kind = _KNOWN.get(provider, (f"langchain_{provider}", f"Chat{provider.capitalize()}"))
    settings: dict[str, Any] = {"model": name, _LONGEST_ANSWER.get(provider, "max_tokens"): config.answer_tokens}
    if not (provider == "openai" and _REASONING.fullmatch(name)):  # these take no temperature
        settings["temperature"] = config.temperature
    if config.model_base_url:
        settings["base_url"] = config.model_base_url
        if provider == "openai" and not os.environ.get("OPENAI_API_KEY"):
            settings["api_key"] = "not-needed"
    try:
        made: BaseChatModel = getattr(import_module(module), kind)(**settings)
    except ImportError as problem:
        package = module.replace("_", "-")
        raise ModelNotUsableError(f"{config.model} needs {package} ({problem}): pip install {package}") from None
    except Exception as problem:  # each provider has its own class for a missing key
        raise ModelNotUsableError(f"{config.model} can't be used: {problem}") from None
    return made
