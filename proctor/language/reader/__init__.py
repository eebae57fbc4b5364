"""Read people's texts by rules: unify their typography, find the values they name, and decide how they are meant."""

VERSION = 2
"""The reader's version; results name it. Version 1 is ``proctor.language.moments`` with the kit of that time."""
