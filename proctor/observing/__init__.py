"""Metrics, traces, logs and readiness.

* ``metrics``: the process's counters, rendered for Prometheus
* ``address``: a small HTTP server for services without a public one: ``/health``, ``/ready``, ``/metrics``
* ``readiness``: whether a service can serve, and which problems prevent it
* ``tracing``: OpenTelemetry, if the environment asks for it
* ``logs``: log lines, as text for people or as JSON for programs
"""
