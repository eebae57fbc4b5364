"""Callers of an evaluator: the Python API, calls that are followed, archives that are opened."""
