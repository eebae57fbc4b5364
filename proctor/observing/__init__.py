"""Metrics, traces, logs and readiness.

* ``metrics``: what is counted, rendered for Prometheus
* ``address``: the small HTTP address of a service that has none for strangers: ``/health``, ``/ready``, ``/metrics``
* ``readiness``: whether a service can serve, and what keeps it from that
* ``tracing``: OpenTelemetry, where the environment asks for it
* ``logs``: lines for people and lines for machines
"""
