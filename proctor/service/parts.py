"""The parts that the activities of one worker process share."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from proctor.activities.attempts.scrubbing import Scrubbing
from proctor.activities.models.configured import ConfiguredModels
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.activities.simulation.keys import list_keys
from proctor.activities.simulation.simulations import Simulations, connect_simulations
from proctor.observing import tracing
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from purple_sdk.processes.http_clients import make_http_client


@dataclass(frozen=True)
class Parts:
    config: GreenAgentConfig
    store: BlobStore
    scenarios: Scenarios
    models: ConfiguredModels
    simulations: Simulations

    def make_scrubbing(self) -> Scrubbing:
        """The guard that removes the deployment's and the simulations' keys from activities' results."""
        secret, host = self.config.secret.get_secret_value(), self.simulations.host
        return Scrubbing(
            secret, lambda simulation_id: list_keys(secret, simulation_id) | host.list_secrets(simulation_id)
        )


@asynccontextmanager
async def open_parts(config: GreenAgentConfig) -> AsyncIterator[Parts]:
    """Make the parts; at the end, close their connections and end their processes and simulations."""
    store = BlobStore(config.storage_url)
    async with make_http_client(
        timeout=httpx.Timeout(60.0, connect=config.connect_timeout),
        limits=httpx.Limits(max_connections=200, max_keepalive_connections=50),
        event_hooks=tracing.httpx_hooks(),
    ) as http:
        simulations = connect_simulations(config, http, store)
        parts = Parts(config, store, Scenarios(config, store), ConfiguredModels(config), simulations)
        try:
            yield parts
        finally:
            await parts.scenarios.aclose()
            await simulations.host.aclose()
