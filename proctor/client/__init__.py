"""The callers' side: the Python API, calls to an evaluator, and archives to read."""
