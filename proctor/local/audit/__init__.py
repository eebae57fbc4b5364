"""The audit of families: checks that each instance must pass before it is played (``proctor scenarios audit``)."""
