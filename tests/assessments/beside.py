"""Services beside an evaluator of the tests: with other settings, on its Temporal server, in a folder of their own."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from proctor.service.supervisor import Supervisor
from purple_sdk.processes.ports import free_ports
from tests.stack import Stack
from tests.waiting import PATIENCE


@contextmanager
def evaluator_beside(
    stack: Stack, name: str, folder: Path, settings: Mapping[str, str | None], services: Collection[str]
) -> Iterator[Stack]:
    """Start some services of an evaluator again, on task queues of their own, and end them afterwards.

    Args:
        stack: whose Temporal server is used, and whose other services.
        name: the task queue's.
        folder: for logs, storage and archive.
        settings: are added to the services' environment; None empties a variable.
        services: which: ``worker`` and ``gateway``, or these and ``ues``.
    """
    gateway, ues = free_ports(2)
    ports = replace(stack.local.ports, gateway=gateway, **({"ues": ues} if "ues" in services else {}))
    config = stack.local.config.model_copy(update={"task_queue": name})
    local = replace(stack.local, config=config, ports=ports, state=folder)
    added = {"AGENTBEATS_GREEN_MODELS_TASK_QUEUE": f"{name}-models", **{k: v or "" for k, v in settings.items()}}
    chosen = [
        replace(service, environment={**service.environment, **added}, after=())
        for service in local.list_services()
        if service.name in services
    ]
    supervisor = Supervisor(chosen, local.logs, say=print)
    stack.run(supervisor.__aenter__())
    try:
        with patch("proctor.service.supervisor.START_SECONDS", 2 * PATIENCE):
            stack.run(supervisor.start())
        yield Stack(local, supervisor, stack._loop)
    finally:
        stack.run(supervisor.stop())
