"""Assessments on UES servers that aren't the embedded simulator: one process for each assessment."""
