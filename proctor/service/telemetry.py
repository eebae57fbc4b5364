"""Metrics and logs of Temporal's SDK in a worker.

The SDK serves its metrics on a loopback port. Our export reads them there, and adds our own metrics. The SDK's logs
have the form of our logs.
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
    """Return the SDK's runtime, and the export of all metrics.

    If metrics are served, the runtime counts; if the worker logs JSON, so does the runtime. None is the SDK's default
    runtime, which counts nothing and logs in the SDK's own form.
    """
    if config.observe_port is None:
        is_json = logs.is_json(config.log_format)
        return Runtime(telemetry=TelemetryConfig(logging=_logging())) if is_json else None, metrics.render
    for _ in range(_TRIES):
        (port,) = free_ports(1)  # the SDK doesn't report its port, and another process may take this one first
        counting = PrometheusConfig(  # names follow Prometheus's rules: …_total for counters, …_seconds for times
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
    """Settings that send the logs of the SDK's core to Python's logging, like all other logs."""
    return LoggingConfig(
        filter=TelemetryFilter(core_level="WARN", other_level="ERROR"),
        forwarding=LogForwardingConfig(logger=logging.getLogger("temporalio.core")),
    )
