"""Where the simulator's servers are: one address, several, or a name in the DNS that stands for several."""

import asyncio
import socket
from urllib.parse import urlsplit, urlunsplit

from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.addresses import in_url

BY_NAME = "dns+"
"""Before an address: every machine that its name stands for is a simulator's."""


def named_addresses(config: GreenAgentConfig) -> list[str]:
    """What ``ues_url`` names, one by one."""
    return [word.rstrip("/") for word in config.ues_url.replace(",", " ").split()]


def are_several(config: GreenAgentConfig) -> bool:
    named = named_addresses(config)
    return len(named) > 1 or named[0].startswith(BY_NAME)


async def known_addresses(config: GreenAgentConfig) -> list[str]:
    """All current ones; names that stand for several are looked up each time, and an unknown one is left out."""
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
    """Where participants find the simulator's server at an address: ``ues_public_url`` names as many in the same order,
    or one with ``{host}`` in it; where it is not set, they find it where we do.
    """
    public = (config.ues_public_url or "").replace(",", " ").split()
    named = named_addresses(config)
    if len(public) > 1:
        return (public[named.index(address)] if address in named else address).rstrip("/")
    if not public:
        return address
    return public[0].replace("{host}", in_url(urlsplit(address).hostname or "")).rstrip("/")
