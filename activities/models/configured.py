"""The models that a worker's settings name."""

from typing import TYPE_CHECKING

from proctor.activities.models.endpoint_queue import set_requests_at_once
from proctor.activities.models.factory import LLMFactory
from proctor.activities.models.usage import Meter
from proctor.settings.config import GreenAgentConfig
from purple_sdk.settings.prices import read_prices

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

_CHARACTERS_TEMPERATURE = 0.7


class ConfiguredModels:
    """Makes models with the settings' addresses, limits and prices. A meter counts each call."""

    def __init__(self, config: GreenAgentConfig) -> None:
        self.judge_window = config.judge_window
        self.judge_name = config.evaluation_model
        self.prices = read_prices(config.prices)
        self._config = config
        set_requests_at_once(config.model_requests_at_once)

    def for_characters(self, seed: int, meter: Meter, prompt_version: str) -> "BaseChatModel":
        config = self._config
        name, address = config.response_generator_model, config.response_generator_base_url
        return self._make(name, address, _CHARACTERS_TEMPERATURE, seed, meter, prompt_version)

    def for_checking(self, seed: int, meter: Meter, prompt_version: str) -> "BaseChatModel | None":
        """Return the model that checks the characters' answers; None if none is configured."""
        name, address = self._config.response_checker_model, self._config.response_generator_base_url
        return self._make(name, address, 0.0, seed, meter, prompt_version) if name else None

    def for_judging(
        self, name: str, temperature: float, seed: int, meter: Meter, prompt_version: str | None
    ) -> "BaseChatModel":
        """Return a model that judges, by its name in the settings. ``prompt_version`` is noted in results; it is None
        for a scenario's own prompts. Raises ``ModelSettingsError`` if the name, the key or the address is wrong.
        """
        return self._make(name, self._config.evaluation_base_url, temperature, seed, meter, prompt_version)

    def _make(
        self, name: str, address: str | None, temperature: float, seed: int, meter: Meter, prompt_version: str | None
    ) -> "BaseChatModel":
        config = self._config
        model = LLMFactory.create(
            name,
            temperature=temperature,
            seed=seed,
            base_url=address,
            timeout=config.judge_timeout,
            max_tokens=config.judge_max_tokens,
        )
        return meter.on(model, name, prompt_version)
