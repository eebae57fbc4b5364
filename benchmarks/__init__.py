"""Measurements: ``python -m benchmarks.NAME`` prints one JSON line, and its progress to standard error."""
