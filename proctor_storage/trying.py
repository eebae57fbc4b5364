"""Whether a store can be written, read and cleaned up: by doing all three."""

import asyncio
import uuid

from proctor_protocol.problems import Problem
from proctor_storage.folder import Folder, StoreUnavailableError

_CONTENT = b"proctor has tried whether this store can be written\n"


async def find_problem_of_store(url: str, name: str = "store") -> Problem | None:
    """Why the store at an fsspec URL or in a folder can't be used, as a sentence; None where it can."""
    try:
        return await asyncio.to_thread(_try, url, name)
    except Exception as problem:  # an unknown protocol, a package that is missing: fsspec has many
        return Problem(f"The {name} at {url} can't be used ({type(problem).__name__}: {problem}).")


def _try(url: str, name: str) -> Problem | None:
    path = f"trying/{uuid.uuid4().hex}"
    try:
        folder = Folder(url, name)
        folder.write(path, _CONTENT)
        try:
            if folder.read(path) != _CONTENT:
                return Problem(f"The {name} at {folder.place} gives back other content than was written.")
        finally:
            folder.remove(path)
    except StoreUnavailableError as problem:
        return Problem.of(problem)
    except FileNotFoundError:
        return Problem(
            f"The {name} at {url} has lost what was written just now", "give all services one place that they share."
        )
    return None
