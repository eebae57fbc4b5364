"""What every activity of one worker shares: settings, storage, connections."""

import httpx
from langchain_core.language_models.chat_models import BaseChatModel

from activities.keys import admin_key, host_key, participant_key, reader_key
from activities.models import LLMFactory
from activities.scenario_packages import ScenarioManager
from protocol.config import GreenAgentConfig
from protocol.scenario import ScenarioConfig
from purple_sdk.ues import AsyncUESClient, AsyncUESHost
from storage.blobs import BlobRef, BlobStore

_SCENARIOS_KEPT = 32


class Deployment:
    """Settings and connections of a worker process; one for all its activities."""

    def __init__(self, config: GreenAgentConfig) -> None:
        self.config = config
        self.store = BlobStore(config.storage_url)
        self.scenarios = ScenarioManager(config.scenarios_dir)
        self._http = httpx.AsyncClient(
            timeout=httpx.Timeout(60.0, connect=config.connect_timeout),
            limits=httpx.Limits(max_connections=200, max_keepalive_connections=50),
        )
        self._scenarios: dict[BlobRef, ScenarioConfig] = {}

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    @property
    def secret(self) -> str:
        """The deployment's secret."""
        return self.config.secret.get_secret_value()

    @property
    def host(self) -> AsyncUESHost:
        """The simulator's server."""
        return AsyncUESHost(self.config.ues_url, host_key(self.secret), http=self._http)

    def simulation_url(self, simulation_id: str) -> str:
        """Where a participant finds its simulation."""
        base = (self.config.ues_public_url or self.config.ues_url).rstrip("/")
        return f"{base}/simulations/{simulation_id}"

    def admin(self, simulation_id: str) -> AsyncUESClient:
        """A client that may do everything in a simulation."""
        return self._client(simulation_id, admin_key(self.secret, simulation_id))

    def reader(self, simulation_id: str) -> AsyncUESClient:
        """A client that may look at everything in a simulation and change nothing."""
        return self._client(simulation_id, reader_key(self.secret, simulation_id))

    def participant_key(self, simulation_id: str) -> str:
        """The key that the participant gets."""
        return participant_key(self.secret, simulation_id)

    async def scenario(self, ref: BlobRef) -> ScenarioConfig:
        """The scenario as it was when its assessment was admitted; later edits of its files don't touch it."""
        if ref not in self._scenarios:
            while len(self._scenarios) >= _SCENARIOS_KEPT:
                self._scenarios.pop(next(iter(self._scenarios)))
            self._scenarios[ref] = ScenarioConfig.model_validate_json(await self.store.get(ref))
        return self._scenarios[ref]

    def character_model(self, seed: int) -> BaseChatModel:
        """The model that speaks for characters."""
        config = self.config
        return LLMFactory.create(
            config.response_generator_model, temperature=0.7, seed=seed, base_url=config.response_generator_base_url
        )

    def judge_model(self, seed: int) -> BaseChatModel:
        """The model that judges; at temperature 0."""
        config = self.config
        return LLMFactory.create(
            config.evaluation_model, temperature=0.0, seed=seed, base_url=config.evaluation_base_url
        )

    def _client(self, simulation_id: str, key: str) -> AsyncUESClient:
        url = f"{self.config.ues_url.rstrip('/')}/simulations/{simulation_id}"
        return AsyncUESClient(url, key, http=self._http)
