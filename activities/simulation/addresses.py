"""Addresses of the simulator's servers: one address, several, or a DNS name with several addresses."""

import asyncio
import socket
from urllib.parse import urlsplit, urlunsplit

from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.addresses import in_url

BY_NAME = "dns+"
"""Prefix of an address: each machine with this DNS name is a simulator's server."""


def named_addresses(config: GreenAgentConfig) -> list[str]:
    """Return the addresses in ``ues_url``, one by one."""
    return [word.rstrip("/") for word in config.ues_url.replace(",", " ").split()]


def are_several(config: GreenAgentConfig) -> bool:
    named = named_addresses(config)
    return len(named) > 1 or named[0].startswith(BY_NAME)


async def known_addresses(config: GreenAgentConfig) -> list[str]:
    """Return all current addresses. A DNS name with several addresses is resolved each time, and left out if it is
    unknown.
    """
    addresses: list[str] = []
    for named in named_addresses(config):
        if not named.startswith(BY_NAME):
            addresses.append(named)
            continue
        parts = urlsplit(named.removeprefix(BY_NAME))
        port = parts.port or 80
        try:
            known = await asyncio.get_running_loop().getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
        except OSError:
            continue
        hosts = sorted({str(address[0]) for *_, address in known})
        addresses += [urlunsplit((parts.scheme, f"{in_url(host)}:{port}", parts.path, "", "")) for host in hosts]
    return list(dict.fromkeys(addresses))


def public_address(config: GreenAgentConfig, address: str) -> str:
    """Return the address at which participants find a simulator's server.

    ``ues_public_url`` has as many addresses in the same order, or one with ``{host}``. If it is not set, participants
    use our address.
    """
    public = (config.ues_public_url or "").replace(",", " ").split()
    named = named_addresses(config)
    if len(public) > 1:
        return (public[named.index(address)] if address in named else address).rstrip("/")
    if not public:
        return address
    return public[0].replace("{host}", in_url(urlsplit(address).hostname or "")).rstrip("/")
