"""Metrics and logs of Temporal's SDK in a worker: it serves its metrics on a loopback port, to which our export adds
ours, and logs as we do.
"""

import logging

from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    PrometheusConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

from proctor.observing import logs, metrics
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.ports import free_ports

_TRIES = 5


def make_telemetry(config: GreenAgentConfig) -> tuple[Runtime | None, metrics.Render]:
    """The SDK's runtime, and the export of all metrics: the SDK counts if metrics are served, and logs JSON if we do.
    None stands for the SDK's default runtime, which counts nothing and writes its own lines.
    """
    if config.observe_port is None:
        is_json = logs.is_json(config.log_format)
        return Runtime(telemetry=TelemetryConfig(logging=_logging())) if is_json else None, metrics.render
    for _ in range(_TRIES):
        (port,) = free_ports(1)  # the SDK doesn't report its port, and another process may take this one first
        counting = PrometheusConfig(  # names by Prometheus's rules: …_total for counters, …_seconds for times
            bind_address=f"127.0.0.1:{port}",
            counters_total_suffix=True,
            unit_suffix=True,
            durations_as_seconds=True,
        )
        try:
            runtime = Runtime(telemetry=TelemetryConfig(logging=_logging(), metrics=counting))
        except (RuntimeError, ValueError, OSError):
            continue
        return runtime, metrics.add_sdk_metrics(f"http://127.0.0.1:{port}")
    return None, metrics.render


def _logging() -> LoggingConfig:
    """The log of the SDK's core goes through Python's logging, like all else."""
    return LoggingConfig(
        filter=TelemetryFilter(core_level="WARN", other_level="ERROR"),
        forwarding=LogForwardingConfig(logger=logging.getLogger("temporalio.core")),
    )
