"""Whether a store can be written, read and cleaned up: by doing all three."""

import asyncio
import uuid

from proctor.storage.folder import Folder, StoreUnavailableError
from purple_sdk.protocol.problems import Problem

_CONTENT = b"proctor has tried whether this store can be written\n"


TRIED_WITHIN = 2.5
"""Seconds. Readiness looks for 3 s, and should get the store's own sentence."""


async def find_problem_of_store(url: str, name: str = "store", seconds: float = TRIED_WITHIN) -> Problem | None:
    """Why the store at an fsspec URL or in a folder can't be used, as a sentence that calls it ``name``; None where it
    can.
    """
    try:
        folder = await asyncio.to_thread(Folder, url, name)
        return await folder.within_time(lambda: _try(folder, name), "written", seconds=seconds)
    except StoreUnavailableError as problem:
        return Problem.of(problem)
    except FileNotFoundError:
        return Problem(
            f"The {name} at {url} has lost a file that was just written", "give all services one place that they share."
        )
    except Exception as problem:  # an unknown protocol, a package that is missing: fsspec has many
        return Problem(f"The {name} at {url} can't be used ({type(problem).__name__}: {problem}).")


def _try(folder: Folder, name: str) -> Problem | None:
    path = f"trying-{uuid.uuid4().hex}"  # at the top, where new folders come
    folder.write(path, _CONTENT)
    try:
        if folder.read(path) != _CONTENT:
            return Problem(f"The {name} at {folder.place} gives back other content than was written.")
    finally:
        folder.remove(path)
    return None
