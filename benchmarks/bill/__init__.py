"""The bill of one assessment, measured: ``python -m benchmarks.bill``."""
