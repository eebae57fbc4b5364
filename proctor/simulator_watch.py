"""The worker's look at its simulator: whoever started the worker is told what to mend, once for each trouble."""

import sys

from activities.simulation.hosts import SimulationHost
from proctor.state import secret_file
from proctor_settings.config import GreenAgentConfig
from purple_sdk.ues import (
    AuthenticationError,
    PermissionDeniedError,
    UESConnectionError,
    UESError,
    UESTimeoutError,
)


class SimulatorWatch:
    """Asks the simulator what stands there, and says when it can't be worked with and when it can again.

    The worker works on meanwhile: its steps are tried again until the simulator answers.
    """

    def __init__(self, config: GreenAgentConfig, host: SimulationHost) -> None:
        self._config = config
        self._host = host
        self._troubles: dict[str, str | None] = {}

    async def list_standing(self) -> dict[str, int]:
        """The names of the simulations that stand there, and the fences that hold them; none where the simulator gives
        no answer.
        """
        parts = await self._host.parts()
        if len(parts) > 1:
            for address, host in parts.items():
                await self._look_at(host, address)
        return await self._look_at(self._host, next(iter(parts)) if len(parts) == 1 else "")

    async def _look_at(self, host: SimulationHost, address: str) -> dict[str, int]:
        config = self._config.model_copy(update={"ues_url": address}) if address else self._config
        try:
            standing = await host.list_standing()
        except UESError as problem:
            self._note(config, trouble_with(config, problem))
            return {}
        self._note(config, None)
        return standing

    def _note(self, config: GreenAgentConfig, trouble: str | None) -> None:
        if trouble == self._troubles.get(config.ues_url):
            return
        self._troubles[config.ues_url] = trouble
        said = trouble or f"the simulator at {config.ues_url} answers now"
        print(f"proctor worker: {said}", file=sys.stderr, flush=True)


def trouble_with(config: GreenAgentConfig, problem: UESError) -> str:
    """A sentence on why the simulator can't be worked with, and which setting to mend."""
    if isinstance(problem, AuthenticationError | PermissionDeniedError):
        return (
            f"the simulator at {config.ues_url} refuses this worker's key ({problem.status}): both have to have the "
            f"same secret. This worker's is from {_where_the_secret_is_from(config)}; give the simulator that one, or "
            "set AGENTBEATS_GREEN_SECRET to the same text for both (or --state to the same folder)"
        )
    if isinstance(problem, UESConnectionError | UESTimeoutError):
        return (
            f"no simulator answers at {config.ues_url}: start one (`proctor ues`), or set AGENTBEATS_GREEN_UES_URL "
            "(--ues-url) to where it is"
        )
    return (
        f"what answers at {config.ues_url} is no simulator of ours ({problem}): set AGENTBEATS_GREEN_UES_URL "
        "(--ues-url) to a `proctor ues`, or AGENTBEATS_GREEN_UES_COMMAND for servers of another kind"
    )


def _where_the_secret_is_from(config: GreenAgentConfig) -> str:
    file = secret_file(config)
    is_the_files = file.is_file() and file.read_text().strip() == config.secret.get_secret_value()
    return str(file) if is_the_files else "AGENTBEATS_GREEN_SECRET"
