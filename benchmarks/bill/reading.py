"""Measurements during assessments: processes, folders, and the counters of Temporal's server."""

import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx

from benchmarks.bill.record import Stored

_SAMPLE = re.compile(r"^(action|service_requests)\{([^}]*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def requests_and_actions(metrics: str, namespace: str = "default") -> tuple[Counter[str], Counter[str]]:
    """What a Temporal server's front end counted in a namespace: gRPC requests by operation, and actions by type.

    The metrics are in Prometheus' text format. Actions are those by which Temporal Cloud bills.
    """
    requests, actions = Counter[str](), Counter[str]()
    for name, labels, value in _SAMPLE.findall(metrics):
        label = dict(_LABEL.findall(labels))
        if label.get("service_name") == "frontend" and label.get("namespace") == namespace:
            counted, key = (actions, "action_type") if name == "action" else (requests, "operation")
            counted[label[key]] += int(float(value))
    return requests, actions


async def read_counters(metrics_url: str) -> tuple[Counter[str], Counter[str]]:
    """``requests_and_actions`` of a server that is running."""
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        return requests_and_actions((await http.get(metrics_url)).text)


def stored_in(folder: Path) -> Stored:
    sizes = []
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):  # something that is being written under another name
            if file.is_file():
                sizes.append(file.stat().st_size)
    return Stored(objects=len(sizes), bytes=sum(sizes))
