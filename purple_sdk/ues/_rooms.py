"""The simulator's endpoints, by subject, from ``_rooms.json``; ``_rooms.pyi`` has their types. Both are generated."""

from importlib.resources import files

from pydantic_core import from_json

from purple_sdk.ues._call import declared

globals().update(declared(from_json(files(__package__).joinpath("_rooms.json").read_bytes()), __name__))
