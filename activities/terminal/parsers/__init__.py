"""Parsers of what tests say, by name; ``PARSERS`` is where another one is added."""
