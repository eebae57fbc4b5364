"""Nights of assessments, simulated from the measured bill of one: ``python -m benchmarks.scale``."""
