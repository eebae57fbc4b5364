"""How many cores this process may use."""

import os
from contextlib import suppress
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""The file with a container's share of the processors (cgroup v2): microseconds in a period, or ``max``."""


def usable_cores(quota: Path = _QUOTA) -> int:
    """The cores that it may run on, or less where its container may use less of them; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        share, period = quota.read_text().split()
        cores = min(cores, round(int(share) / int(period)))
    return max(cores, 1)
