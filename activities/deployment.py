"""What every activity of one worker shares: settings, storage, connections."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import httpx
from langchain_core.language_models.chat_models import BaseChatModel

from activities.judging.panel import Judge
from activities.models.factory import LLMFactory
from activities.packages.confinement import Limits
from activities.packages.manager import Fingerprint, ScenarioManager, ScenarioPackage, fingerprint
from activities.packages.processes import ScenarioCode
from activities.simulations.hosts import SimulationHost
from activities.simulations.own_servers import OwnServers
from activities.simulations.shared_host import SharedHost
from activities.simulations.simulations import Simulations
from proctor_protocol.config import GreenAgentConfig
from proctor_protocol.scenario import ScenarioConfig
from proctor_storage.blobs import BlobRef, BlobStore

_SCENARIOS_KEPT = 32
_VOTING_TEMPERATURE = 0.5
"""At temperature 0 a model that votes several times would say the same each time."""


class Deployment:
    """Settings and connections of a worker process; one for all its activities."""

    def __init__(self, config: GreenAgentConfig) -> None:
        self.config = config
        self.store = BlobStore(config.storage_url)
        self.scenarios = ScenarioManager(config.scenarios_dir)
        self.code = ScenarioCode(Limits(seconds=config.evaluator_timeout, memory_mb=config.evaluator_memory_mb))
        self._packages: dict[str, tuple[Fingerprint, ScenarioPackage]] = {}
        self._http = httpx.AsyncClient(
            timeout=httpx.Timeout(60.0, connect=config.connect_timeout),
            limits=httpx.Limits(max_connections=200, max_keepalive_connections=50),
        )
        host: SimulationHost = (
            OwnServers(config, config.ues_command, self._http) if config.ues_command else SharedHost(config, self._http)
        )
        self.simulations = Simulations(host, self.store)
        self._scenarios: dict[BlobRef, ScenarioConfig] = {}

    async def aclose(self) -> None:
        """Let go of all simulations that are this worker's own, end scenarios' code, and close all connections."""
        await self.code.aclose()
        await self.simulations.host.aclose()
        await self._http.aclose()

    async def package(self, scenario_id: str) -> ScenarioPackage:
        """A scenario as its files are now; they are read once, and again whenever one of them has changed.

        Raises:
            activities.packages.manager.ScenarioError: there is none of that id, or it can't be played.
        """
        directory = self.scenarios.find(scenario_id)
        state = await asyncio.to_thread(fingerprint, directory)
        cached = self._packages.get(scenario_id)
        if cached is None or cached[0] != state:
            while len(self._packages) >= _SCENARIOS_KEPT:
                self._packages.pop(next(iter(self._packages)))
            cached = self._packages[scenario_id] = (state, await self.code.load(directory))
        return cached[1]

    async def code_of(self, scenario_id: str) -> tuple[Path, str]:
        """The folder with a scenario's code, and what tells its present state from others; raises as ``package``
        does.
        """
        directory = self.scenarios.find(scenario_id)
        state = await asyncio.to_thread(fingerprint, directory)
        return directory, sha256(repr(state).encode()).hexdigest()

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

    def judges(self, models: Sequence[str], votes: int, seed: int) -> list[Judge]:
        """The panel that judges: every model so many times; at temperature 0, unless it votes several times."""
        config = self.config
        return [
            Judge(
                model,
                LLMFactory.create(
                    model,
                    temperature=0.0 if votes == 1 else _VOTING_TEMPERATURE,
                    seed=(seed + vote) % 2**63,
                    base_url=config.evaluation_base_url,
                    timeout=config.judge_timeout,
                    max_tokens=config.judge_max_tokens,
                ),
            )
            for model in models
            for vote in range(votes)
        ]
