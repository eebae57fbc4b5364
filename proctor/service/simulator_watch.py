"""The worker's check of its simulator. The worker logs each problem once, with the remedy."""

import sys

from proctor.activities.simulation.addresses import known_addresses, public_address
from proctor.activities.simulation.hosts import SimulationHost
from proctor.activities.simulation.keys import host_key
from proctor.common.state import secret_file
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.announcing import announce
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.protocol.problems import Problem
from purple_sdk.ues import (
    AsyncUESHost,
    AuthenticationError,
    PermissionDeniedError,
    UESConnectionError,
    UESError,
    UESTimeoutError,
    UnexpectedAnswerError,
)

_SECONDS = 2
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"


class SimulatorWatch:
    """Polls the simulator's state, and reports when it becomes unusable and usable again.

    During an outage the worker continues, and tries its steps again until the simulator answers.
    """

    def __init__(self, config: GreenAgentConfig, host: SimulationHost) -> None:
        self._config = config
        self._host = host
        self._troubles: dict[str, Problem | None] = {}

    async def list_standing(self) -> dict[str, int]:
        """The simulator's simulations: names to fences. Empty if the simulator doesn't answer."""
        parts = await self._host.parts()
        if len(parts) > 1:
            for address, host in parts.items():
                await self._count_standing(host, address)
        return await self._count_standing(self._host, next(iter(parts)) if len(parts) == 1 else "")

    async def _count_standing(self, host: SimulationHost, address: str) -> dict[str, int]:
        config = self._config.model_copy(update={"ues_url": address}) if address else self._config
        try:
            standing = await host.list_standing()
        except UESError as error:
            self._note(config, explain_problem(config, error))
            return {}
        self._note(config, None)
        return standing

    def _note(self, config: GreenAgentConfig, trouble: Problem | None) -> None:
        if trouble == self._troubles.get(config.ues_url):
            return
        self._troubles[config.ues_url] = trouble
        sentence = f"{trouble}" if trouble else f"the simulator at {config.ues_url} answers now"
        announce(f"proctor worker: {sentence}", "WARNING" if trouble else "INFO", sys.stderr)


async def find_problem_of_simulator(url: str, config: GreenAgentConfig) -> Problem | None:
    """The reason why the simulator at an address can't be used; None if it answers and accepts our key."""
    try:
        await _list(url, config)
    except UESError as error:
        return explain_problem(config.model_copy(update={"ues_url": url}), error)
    return None


async def find_problem_of_public_address(config: GreenAgentConfig, *, must_answer: bool = False) -> Problem | None:
    """The reason why participants can't use the simulator's public address (``ues_public_url``); None if none is found.

    Args:
        must_answer: whether it is a problem if the address doesn't answer this machine. In some networks only
            participants can reach the address.
    """
    if not config.ues_public_url or config.ues_command:
        return None
    for address in await known_addresses(config):
        public = public_address(config, address)
        if public == address:
            continue
        try:
            await _list(public, config)
        except (UESConnectionError, UESTimeoutError) as error:
            if must_answer:
                return Problem(
                    f"Participants are sent to {public}, where no simulator answers from here ({error})",
                    "see whether participants reach it, or set AGENTBEATS_GREEN_UES_PUBLIC_URL",
                )
        except UESError:
            return Problem(
                f"Participants are sent to {public}, and what answers there is not this deployment's simulator",
                f"set AGENTBEATS_GREEN_UES_PUBLIC_URL to the address by which participants reach {address}",
            )
    return None


async def _list(url: str, config: GreenAgentConfig) -> int:
    """The number of simulations at a simulator.

    Raises:
        UESError: no simulator answers, or it refuses the deployment's key.
    """
    async with make_http_client(timeout=_SECONDS) as http:
        answer = await AsyncUESHost(url.rstrip("/"), host_key(config.secret.get_secret_value()), http=http).list()
    try:
        return len(answer["simulations"])
    except (KeyError, TypeError):
        raise UnexpectedAnswerError("GET /simulations: the answer lists none") from None


def explain_problem(config: GreenAgentConfig, problem: UESError) -> Problem:
    """The reason why the simulator can't be used, and the setting to change."""
    if isinstance(problem, AuthenticationError | PermissionDeniedError):
        return Problem(
            f"the simulator at {config.ues_url} refuses this deployment's key ({problem.status})",
            f"give simulator and workers the same secret. The one here is from {_name_secret_source(config)}; "
            "set AGENTBEATS_GREEN_SECRET to the same text for both (or --state to the same folder)",
        )
    if _UNTRUSTED in str(problem):
        return Problem(
            f"the certificate of the simulator at {config.ues_url} is not trusted here ({problem})",
            "give it one for that name, or name its authority's certificate in SSL_CERT_FILE",
        )
    if isinstance(problem, UESConnectionError | UESTimeoutError):
        return Problem(
            f"no simulator answers at {config.ues_url} ({problem})",
            "start one (`proctor ues`), or set AGENTBEATS_GREEN_UES_URL (--ues-url) to where it is",
        )
    return Problem(
        f"the server at {config.ues_url} isn't a proctor simulator ({problem})",
        "set AGENTBEATS_GREEN_UES_URL (--ues-url) to a `proctor ues`, or AGENTBEATS_GREEN_UES_COMMAND for servers of "
        "another kind",
    )


def _name_secret_source(config: GreenAgentConfig) -> str:
    file = secret_file(config)
    is_the_files = file.is_file() and file.read_text().strip() == config.secret.get_secret_value()
    return str(file) if is_the_files else "AGENTBEATS_GREEN_SECRET"
