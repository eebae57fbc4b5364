"""Callers of an evaluator: the Python API, followed calls, opened archives."""
