"""Scenario packages: one directory each, with a README that states its ground truth."""
