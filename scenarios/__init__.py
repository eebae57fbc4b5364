"""Scenario packages, each a directory with a README that states its ground truth."""
