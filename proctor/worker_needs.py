"""What a worker needs so that it can play: Temporal, the simulator, the store, and that it still asks for work."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import httpx
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import Worker

from activities.scenario_code.manager import ScenarioError, ScenarioManager
from activities.simulation.addresses import known_addresses
from proctor_observing.readiness import Look, kept_for
from proctor_settings.config import GreenAgentConfig
from proctor_storage.fleet import find_fleet_problem
from proctor_storage.trying import find_problem_of_store
from purple_sdk.ues.tls import tls

_STORE_TRIED_EVERY = 30.0
_SECONDS = 2


def worker_needs(config: GreenAgentConfig, client: Client, workers: Sequence[Worker]) -> dict[str, Look]:
    """What ``/ready`` of a worker looks at, by name."""

    async def temporal() -> str | None:
        try:
            is_well = await client.service_client.check_health(timeout=timedelta(seconds=_SECONDS))
        except RPCError as problem:
            return f"Temporal at {config.temporal_address} doesn't answer ({problem.message})."
        return None if is_well else f"Temporal at {config.temporal_address} says that it is not serving."

    async def simulator() -> str | None:
        problems = await asyncio.gather(*map(find_problem_of_simulator, await known_addresses(config)))
        if not problems:
            return f"Nobody knows where the simulators at {config.ues_url} are."
        return problems[0] if None not in problems else None  # one that answers is enough

    async def polls() -> str | None:
        return None if all(worker.is_running for worker in workers) else "The worker asks for no more work."

    async def store() -> str | None:
        return await find_problem_of_store(config.storage_url)

    async def fleet() -> str | None:
        return await find_fleet_problem(client, config)

    async def scenarios() -> str | None:
        try:
            await asyncio.to_thread(ScenarioManager(config.scenarios_dir).list_ids)
        except ScenarioError as problem:
            return f"{problem}."
        return None

    needs: dict[str, Look] = {
        "temporal": temporal,
        "polls": polls,
        "store": kept_for(_STORE_TRIED_EVERY, store),
        "fleet": fleet,
        "scenarios": scenarios,
    }
    return needs if config.ues_command or config.card_subject == "terminal-bench" else {**needs, "simulator": simulator}


async def find_problem_of_simulator(url: str) -> str | None:
    """Why the simulator at an address can't be used, as a sentence; None while it answers."""
    try:
        async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False, verify=tls()) as http:
            answer = await http.get(f"{url.rstrip('/')}/health")
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        said = str(problem) or type(problem).__name__
        return (
            f"The simulator at {url} doesn't answer ({said}): start it (`proctor ues`) or set AGENTBEATS_GREEN_UES_URL."
        )
    if answer.status_code != 200:
        return f"What answers at {url}/health is no simulator, or an ill one (status {answer.status_code})."
    return None
