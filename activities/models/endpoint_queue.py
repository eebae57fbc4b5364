"""A queue before each model endpoint, which limits how many requests this process sends at once. Without a limit, a
slow server would work on many requests until all have timed out. A request's time limit begins when the request leaves
the queue.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from proctor.activities.models.usage import find_endpoint
from purple_sdk.processes.addresses import is_loopback

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

REQUESTS_AT_ONCE = 4
"""Requests at once to one endpoint, unless the setting ``model_requests_at_once`` says otherwise."""

LOCAL_REQUESTS_AT_ONCE = 1
"""Requests at once to an endpoint on this machine: a local model usually answers one request at a time."""

_Places = dict[tuple[str, int], asyncio.Semaphore]

_places: WeakKeyDictionary[asyncio.AbstractEventLoop, _Places] = WeakKeyDictionary()
_setting: list[int | None] = [None]


def set_requests_at_once(most: int | None) -> None:
    """Set how many requests this process sends to one endpoint at once; None for the defaults."""
    _setting[0] = most


def requests_at_once(endpoint: str) -> int:
    """Return the limit of simultaneous requests for one endpoint (``host`` or ``host:port``)."""
    if _setting[0] is not None:
        return _setting[0]
    return LOCAL_REQUESTS_AT_ONCE if is_loopback(urlsplit(f"//{endpoint}").hostname or "") else REQUESTS_AT_ONCE


@asynccontextmanager
async def place_at_endpoint(llm: "BaseChatModel") -> AsyncIterator[None]:
    """Wait for a place in the queue before a model's endpoint, then limit the request's time (``TimeoutError``)."""
    endpoint = find_endpoint(llm) or type(llm).__name__
    most = requests_at_once(endpoint)
    places = _places.setdefault(asyncio.get_running_loop(), {})
    place = places.setdefault((endpoint, most), asyncio.Semaphore(most))
    async with place, asyncio.timeout(_seconds(llm)):
        yield


def _seconds(llm: "BaseChatModel") -> float | None:
    """Return a model's own limit for one request, in seconds. The model's client applies it only to each read, so a
    slow server could take longer.
    """
    for name in ("request_timeout", "default_request_timeout", "timeout"):
        limit = getattr(llm, name, None)
        if isinstance(limit, int | float):
            return float(limit)
    return None
