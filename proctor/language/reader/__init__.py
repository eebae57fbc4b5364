"""What people write, read by rules: one typography, one reader of values, and how a statement is meant."""

VERSION = 2
"""The reader's version; results name it. Version 1 is ``proctor.language.moments`` with the kit of its time."""
