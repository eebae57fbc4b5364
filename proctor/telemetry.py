"""What Temporal's SDK counts in a worker, where somebody wants to know it: it serves that on a loopback port."""

from dataclasses import dataclass
from typing import Self

from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from proctor_observing import metrics
from proctor_processes.ports import free_ports
from proctor_protocol.config import GreenAgentConfig

_TRIES = 5


@dataclass(frozen=True)
class Telemetry:
    """What the SDK runs in, and how all that is counted is told.

    Attributes:
        runtime: None for the SDK's usual one, which counts nothing.
        render: for ``/metrics``.
    """

    runtime: Runtime | None
    render: metrics.Render

    @classmethod
    def of(cls, config: GreenAgentConfig) -> Self:
        """As the settings have it: the SDK counts where there is an address to tell it at."""
        if config.observe_port is None:
            return cls(None, metrics.render)
        for _ in range(_TRIES):
            (port,) = free_ports(1)  # the SDK doesn't tell which port it took, and somebody may be quicker
            try:
                runtime = Runtime(telemetry=TelemetryConfig(metrics=_prometheus(f"127.0.0.1:{port}")))
            except (RuntimeError, ValueError, OSError):
                continue
            return cls(runtime, metrics.render_with(f"http://127.0.0.1:{port}"))
        return cls(None, metrics.render)


def _prometheus(address: str) -> PrometheusConfig:
    """Names by Prometheus's rules: ``…_total`` for what is counted, ``…_seconds`` for what takes time."""
    return PrometheusConfig(
        bind_address=address, counters_total_suffix=True, unit_suffix=True, durations_as_seconds=True
    )
