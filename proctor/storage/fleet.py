"""The check that all services of a deployment use the same store, archive, secret and payload keys.

A worker's identity at Temporal (``PID@HOST store=… archive=… secret=… keys=…``) contains fingerprints of these.
Workers, gateways and ``proctor doctor`` compare the fingerprints of active workers with their own.
"""

import asyncio
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Self

from temporalio.api.enums.v1 import TaskQueueType, WorkerVersioningMode
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest, DescribeWorkerDeploymentRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from proctor.settings.config import GreenAgentConfig
from proctor.storage.codec import read_keys
from proctor.storage.folder import Folder, StoreUnavailableError
from purple_sdk.processes.together import do_all
from purple_sdk.protocol.problems import Problem

_ID_FILE = "deployment/id"
_SECONDS = timedelta(seconds=2)
_UNKNOWN = "-"
_DIGITS = 8
_WRITTEN = re.compile(r" store=(\S+) archive=(\S+) secret=(\S+) keys=(\S+)$")
_SETTINGS = {
    "store": ("another store", "AGENTBEATS_GREEN_STORAGE_URL"),
    "archive": ("another archive", "AGENTBEATS_GREEN_ARCHIVE_URL"),
    "secret": ("another secret", "AGENTBEATS_GREEN_SECRET"),
    "keys": ("other payload keys", "AGENTBEATS_GREEN_PAYLOAD_KEYS"),
}
"""By field of ``Fingerprint``: the description of a difference, and the setting to change."""

_ids: dict[str, str] = {}
"""The ids of the stores that this process uses, cached: they never change."""


@dataclass(frozen=True)
class Fingerprint:
    """Fingerprints of a service's settings; "-" for unknown ones.

    Attributes:
        store: the id of the service's store, which is kept in the store.
        archive: the id of its archive.
        secret: the fingerprint of the deployment's secret.
        keys: the fingerprints of the payload keys, separated by commas. The first key encrypts.
    """

    store: str
    archive: str
    secret: str
    keys: str

    @classmethod
    async def of(cls, config: GreenAgentConfig) -> Self:
        """Compute the fingerprints of these settings. An unreadable store counts as unknown."""
        store, archive = await do_all(_read_id(config.storage_url), _read_id(config.archive_url))
        keys = read_keys(config.payload_keys.get_secret_value()) if config.payload_keys else {}
        secret = config.secret.get_secret_value()
        return cls(
            store=store,
            archive=archive,
            secret=_digest(secret.encode()) if secret else _UNKNOWN,
            keys=",".join(_digest(key) for key in keys.values()) or "none",
        )

    @classmethod
    def read(cls, identity: str) -> Self | None:
        match = _WRITTEN.search(identity)
        return cls(*match.groups()) if match else None

    def __str__(self) -> str:
        return " ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))

    def differences(self, other: Self) -> list[str]:
        """Return the names of the fields in which two services don't fit together.

        Payload keys fit if each service has the key with which the other one encrypts.
        """
        differing = [
            name
            for name in ("store", "archive", "secret")
            if _UNKNOWN not in (ours := getattr(self, name), theirs := getattr(other, name)) and ours != theirs
        ]
        our_keys, their_keys = self.keys.split(","), other.keys.split(",")
        is_readable = our_keys[0] in their_keys and their_keys[0] in our_keys
        return differing if is_readable else [*differing, "keys"]


def missing_worker_problem(queue: str) -> Problem:
    return Problem(
        f"No worker polls the task queue {queue!r}",
        "start one (`proctor worker`), or give workers and gateway the same AGENTBEATS_GREEN_TASK_QUEUE.",
    )


async def find_fleet_problem(client: Client, config: GreenAgentConfig, timeout: timedelta = _SECONDS) -> Problem | None:
    """Return why the workers at the deployment's task queue can't work together; None if they can.

    Raises the errors of ``find_stranger``.
    """
    stranger = await find_stranger(client, config, timeout)
    return stranger or await _find_version_problem(client, config, timeout)


async def _find_version_problem(client: Client, config: GreenAgentConfig, timeout: timedelta) -> Problem | None:
    if not await are_versioned(client, config.task_queue, timeout):
        return None
    request = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=config.task_queue)
    try:
        described = await client.workflow_service.describe_worker_deployment(request, timeout=timeout)
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:  # Temporal knows it only some moments after the first worker
            return None
        raise
    deployment = described.worker_deployment_info
    if deployment.routing_config.current_deployment_version.build_id:
        return None
    ids = ", ".join(sorted(version.deployment_version.build_id for version in deployment.version_summaries))
    return Problem(
        f"All workers at the task queue {config.task_queue!r} have a build id ({ids}), and none of them is the current "
        "version, so new assessments wait",
        f"run `temporal worker deployment set-current-version --deployment-name {config.task_queue} --build-id ID`.",
    )


async def find_stranger(client: Client, config: GreenAgentConfig, timeout: timedelta = _SECONDS) -> Problem | None:
    """Return a problem if a worker at the deployment's task queue has other settings than this process, else None.

    Raises ``RPCError`` if Temporal doesn't answer within ``timeout``.
    """
    own = await Fingerprint.of(config)
    for identity in await polling_now(client, config.task_queue, WORKFLOWS, timeout):
        other = Fingerprint.read(identity)
        if other is not None and (differing := own.differences(other)):
            what = " and ".join(_SETTINGS[name][0] for name in differing)
            remedies = ", ".join(f"give all services the same {_SETTINGS[name][1]}" for name in differing)
            return Problem(
                f"The worker {identity.split()[0]} at the task queue {config.task_queue!r} uses {what}", f"{remedies}."
            )
    return None


def _digest(content: bytes) -> str:
    """Hash a secret. Secrets are long and random, so the digest reveals nothing about them."""
    return sha256(b"proctor fingerprint " + content).hexdigest()[:_DIGITS]


async def _read_id(url: str) -> str:
    """Return the id of a store. If the store has none, write a new one."""
    if url.startswith("memory://"):  # each process has its own
        return _UNKNOWN
    if url in _ids:
        return _ids[url]
    try:
        new = secrets.token_hex(_DIGITS // 2).encode()
        folder = await asyncio.to_thread(Folder, url, "store")
        stored = await folder.within_time(
            lambda: folder.write_once(_ID_FILE, new), "written", seconds=_SECONDS.total_seconds()
        )
        _ids[url] = stored.decode()
    except (StoreUnavailableError, OSError, ImportError, ValueError):
        return _UNKNOWN
    return _ids[url]


WORKFLOWS = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
ACTIVITIES = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY

_POLLED_WITHIN = timedelta(seconds=90)
"""A worker's request for work stays open for a minute; this allows for some delay."""


async def are_versioned(client: Client, queue: str, timeout: timedelta) -> bool:
    """Tell whether all workers at a task queue have a build id. If so, only the current version gets work."""
    pollers = await _pollers(client, queue, WORKFLOWS, timeout)
    versioned = WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED
    return bool(pollers) and all(poller.deployment_options.worker_versioning_mode == versioned for poller in pollers)


async def last_polls(
    client: Client, queue: str, kind: TaskQueueType.ValueType, timeout: timedelta
) -> dict[str, datetime]:
    """Return each process's last request for work at a task queue, by its identity."""
    last: dict[str, datetime] = {}
    for poller in await _pollers(client, queue, kind, timeout):
        asked_at = poller.last_access_time.ToDatetime(tzinfo=UTC)
        last[poller.identity] = max(asked_at, last.get(poller.identity, asked_at))
    return last


async def polling_now(client: Client, queue: str, kind: TaskQueueType.ValueType, timeout: timedelta) -> list[str]:
    lately = datetime.now(UTC) - _POLLED_WITHIN
    return [identity for identity, at in (await last_polls(client, queue, kind, timeout)).items() if at > lately]


async def count_workers(client: Client, queue: str, kind: TaskQueueType.ValueType, timeout: timedelta) -> int:
    return len(await polling_now(client, queue, kind, timeout))


async def _pollers(
    client: Client, queue: str, kind: TaskQueueType.ValueType, timeout: timedelta
) -> Sequence[PollerInfo]:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind
    )
    return (await client.workflow_service.describe_task_queue(request, timeout=timeout)).pollers
