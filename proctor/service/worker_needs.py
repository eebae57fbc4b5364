"""A worker is ready if Temporal, the simulator and the store answer, and the worker polls."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import Worker

from proctor.activities.scenario_code.manager import ScenarioError, ScenarioManager
from proctor.activities.simulation.addresses import known_addresses
from proctor.observing.readiness import Look, remember_success
from proctor.service.engine_wait import find_problem_of_engine
from proctor.service.simulator_watch import find_problem_of_public_address, find_problem_of_simulator
from proctor.settings.config import GreenAgentConfig
from proctor.storage.fleet import find_fleet_problem
from proctor.storage.namespaces import find_namespace_problem
from proctor.storage.trying import find_problem_of_store
from proctor.workflows.names import SEARCH_ATTRIBUTES

_STORE_TRIED_EVERY = 30.0
_SECONDS = 2


def worker_needs(config: GreenAgentConfig, client: Client, workers: Sequence[Worker]) -> dict[str, Look]:
    """The checks of a worker's ``/ready``, by name."""

    async def temporal() -> str | None:
        try:
            is_well = await client.service_client.check_health(timeout=timedelta(seconds=_SECONDS))
        except RPCError as error:
            return f"Temporal at {config.temporal_address} doesn't answer ({error.message})."
        if not is_well:
            return f"Temporal at {config.temporal_address} says that it is not serving."
        return await find_namespace_problem(client, SEARCH_ATTRIBUTES)

    async def simulator() -> str | None:
        addresses = await known_addresses(config)
        if not addresses:
            return f"The addresses of the simulators at {config.ues_url} are unknown."
        problems = [await find_problem_of_simulator(address, config) for address in addresses]
        if None not in problems:  # one simulator that answers is enough
            return problems[0]
        return await find_problem_of_public_address(config)

    async def polls() -> str | None:
        return None if all(worker.is_running for worker in workers) else "The worker asks for no more work."

    async def fleet() -> str | None:
        try:
            return await find_fleet_problem(client, config)
        except RPCError:
            return "It is not known whether the workers fit together, as Temporal is away."

    async def scenarios() -> str | None:
        try:
            await asyncio.to_thread(ScenarioManager(config.scenarios_dir).list_ids)
        except ScenarioError as error:
            return f"{error}."
        return None

    needs: dict[str, Look] = {
        "temporal": temporal,
        "polls": polls,
        "store": remember_success(_STORE_TRIED_EVERY, partial(find_problem_of_store, config.storage_url)),
        "archive": remember_success(_STORE_TRIED_EVERY, partial(find_problem_of_store, config.archive_url, "archive")),
        "fleet": fleet,
        "scenarios": scenarios,
    }
    if config.containers == "on":
        needs["engine"] = partial(find_problem_of_engine, config)
    return needs if config.ues_command or config.card_subject == "terminal-bench" else {**needs, "simulator": simulator}
