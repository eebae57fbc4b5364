"""The test of a store: write a file, read it and remove it."""

import asyncio
import uuid

from proctor.storage.folder import Folder, StoreUnavailableError
from purple_sdk.protocol.problems import Problem

_CONTENT = b"proctor has tried whether this store can be written\n"


TRIED_WITHIN = 2.5
"""Seconds. Readiness waits for 3 s, and should report the store's own sentence."""


async def find_problem_of_store(url: str, name: str = "store", seconds: float = TRIED_WITHIN) -> Problem | None:
    """Return why the store at an fsspec URL or in a folder can't be used; None if it can.

    ``name`` is the store's name in the sentence.
    """
    try:
        folder = await asyncio.to_thread(Folder, url, name)
        return await folder.within_time(lambda: _try(folder, name), "written", seconds=seconds)
    except StoreUnavailableError as error:
        return Problem.of(error)
    except FileNotFoundError:
        return Problem(
            f"The {name} at {url} has lost a file that was just written", "give all services one place that they share."
        )
    except Exception as error:  # an unknown protocol, a package that is missing: fsspec has many
        return Problem(f"The {name} at {url} can't be used ({type(error).__name__}: {error}).")


def _try(folder: Folder, name: str) -> Problem | None:
    path = f"trying-{uuid.uuid4().hex}"  # at the top, like new folders
    folder.write(path, _CONTENT)
    try:
        if folder.read(path) != _CONTENT:
            return Problem(f"The {name} at {folder.place} gives back other content than was written.")
    finally:
        folder.remove(path)
    return None
