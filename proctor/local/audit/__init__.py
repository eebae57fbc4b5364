"""The audit of families: what each instance must pass before anybody plays it (``proctor scenarios audit``)."""
