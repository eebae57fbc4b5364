"""The tools behind a relay, which answer a CLI agent's MCP messages."""

from collections.abc import Mapping
from typing import Protocol

import httpx


class Tools(Protocol):
    """Answers MCP messages.

    Attributes:
        owner: the owner of the tools, for errors.
    """

    owner: str

    async def answer(
        self, http: httpx.AsyncClient, method: str, headers: Mapping[str, str], body: bytes
    ) -> httpx.Response:
        """Answer a request to ``/mcp``. ``http`` is a client for the tools' own requests. Raises httpx.HTTPError if the
        tools can't be reached.
        """


class SimulationTools:
    """The tools of a simulation."""

    owner = "simulation"

    def __init__(self, mcp_url: str, api_key: str) -> None:
        self._mcp_url = mcp_url
        self._api_key = api_key

    async def answer(
        self, http: httpx.AsyncClient, method: str, headers: Mapping[str, str], body: bytes
    ) -> httpx.Response:
        """See ``Tools``."""
        return await http.request(method, self._mcp_url, content=body, headers={**headers, "X-API-Key": self._api_key})
