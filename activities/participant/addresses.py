"""Decide to which addresses connections to participants may go. A card or a name could lead to services that only the
evaluator reaches. The rules are:

* Link-local and similar addresses, and the evaluator's own services, are never allowed.
* The host from which the card was fetched is always allowed, at the addresses that its name had then.
* Any other host is allowed if ``AGENTBEATS_GREEN_PARTICIPANTS_ALLOWED`` names the host or the network of its address.
"""

import asyncio
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

import httpcore

from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.addresses import Address, in_url, is_forbidden, plain

Service = tuple[str, int]
"""Host and port."""

_SETTING = "AGENTBEATS_GREEN_PARTICIPANTS_ALLOWED"

_resolver = ThreadPoolExecutor(max_workers=8, thread_name_prefix="participant-names")
"""A separate pool of threads for name look-ups: a slow name server delays only the participants with such names."""


class RefusedAddressError(Exception):
    """A connection that was refused; the message is a sentence for users."""


class Destinations:
    """The destinations that a deployment allows.

    Args:
        allowed: hosts and networks, separated by commas or spaces.
        own: the evaluator's own services.
    """

    def __init__(self, allowed: str = "", own: Iterable[Service] = ()) -> None:
        words = allowed.replace(",", " ").lower().split()
        self._hosts = {word.rstrip(".") for word in words if "/" not in word}
        self._networks = [ip_network(word, strict=False) for word in words if "/" in word]
        self._own = sorted(set(own))

    def allows_host(self, host: str) -> bool:
        return host.lower().rstrip(".") in self._hosts

    def allows_address(self, address: Address) -> bool:
        return any(address in network for network in self._networks)

    async def forbids(self, address: Address, port: int) -> str | None:
        """Return why connections to an address are never allowed; None if the host decides."""
        if is_forbidden(address) and not address.is_unspecified:  # the unspecified address is this machine
            return "which is a link-local or another special address, to which the evaluator doesn't connect"
        for own_host, own_port in self._own:
            if own_port == port and any(_are_same(address, own) for own in await _known_addresses(own_host)):
                return "which is one of the evaluator's own services"
        return None


def own_services(config: GreenAgentConfig) -> list[Service]:
    host, _, port = config.temporal_address.rpartition(":")
    services = [(host.strip("[]"), int(port))] if port.isdecimal() else []
    gateway = "localhost" if config.host in ("0.0.0.0", "::", "") else config.host
    services.append((gateway, config.port))
    simulators = f"{config.ues_url} {config.ues_public_url or ''}".replace(",", " ").replace("dns+", "").split()
    for url in (config.temporal_ui_url, *simulators, config.card_url):
        if url and "{port}" not in url and "{host}" not in url:
            parts = urlsplit(url)
            services.append((parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)))
    return [(host, port) for host, port in services if host and port]


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Makes the allowed connections to one participant.

    Args:
        destinations: the allowed destinations.
        url: the participant's address, from which its card is fetched. The addresses of its host are looked up once.
    """

    def __init__(self, destinations: Destinations, url: str) -> None:
        self._destinations = destinations
        self._url = url
        parts = urlsplit(url)
        self._home = (parts.hostname or "").lower()
        self._home_port = parts.port or (443 if parts.scheme == "https" else 80)
        self._home_addresses: list[Address] | None = None
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a host's first address that is allowed and answers.

        Raises:
            RefusedAddressError: no address is allowed.
            httpcore.ConnectError, httpcore.ConnectTimeout: no address answers.
        """
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._allowed_addresses(host, port)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"the name {host} was not found in time") from None
        share = None if timeout is None else timeout / len(addresses)
        for place, address in enumerate(addresses):
            try:
                return await self._inner.connect_tcp(str(address), port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if place == len(addresses) - 1:
                    raise
        raise AssertionError("there is an address, or the host was refused")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    async def _allowed_addresses(self, host: str, port: int) -> list[Address]:
        addresses = await self._addresses(host)
        allowed, reasons = [], []
        for address in addresses:
            reason = await self._destinations.forbids(address, port) or self._reason_against(host, address)
            if reason:
                reasons.append(reason)
            else:
                allowed.append(address)
        if not allowed:
            raise RefusedAddressError(self._sentence(host, port, reasons[0]))
        return allowed

    async def _addresses(self, host: str) -> list[Address]:
        if host.lower() != self._home:
            return await _look_up(host)
        if self._home_addresses is None:
            self._home_addresses = await _look_up(host)
        return self._home_addresses

    def _reason_against(self, host: str, address: Address) -> str | None:
        if host.lower() == self._home or self._destinations.allows_host(host):
            return None
        if self._destinations.allows_address(address):
            return None
        if any(_are_same(address, home) for home in self._home_addresses or ()):
            return None
        return (
            f"which is not the host of the card: have the card say where the participant was found, or allow the host "
            f"with {_SETTING}"
        )

    def _sentence(self, host: str, port: int, reason: str) -> str:
        if (host.lower(), port) == (self._home, self._home_port):
            return f"The participant's address {self._url} leads to {in_url(host)}:{port}, {reason}."
        return f"The participant's agent card at {self._url} points to {in_url(host)}:{port}, {reason}."


async def _look_up(host: str) -> list[Address]:
    """Return the addresses of a host in the order of trying. Raises ``httpcore.ConnectError`` if the host has none."""
    try:
        return [plain(ip_address(host))]
    except ValueError:
        pass
    loop = asyncio.get_running_loop()
    try:
        resolved = await loop.run_in_executor(
            _resolver, lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        )
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"the name {host} can't be found: {error}") from None
    addresses = dict.fromkeys(plain(ip_address(str(sockaddr[0]))) for *_, sockaddr in resolved)
    return sorted(addresses, key=lambda address: address.version)


async def _known_addresses(host: str) -> list[Address]:
    try:
        return await _look_up(host)
    except httpcore.ConnectError:
        return []


def _are_same(one: Address, other: Address) -> bool:
    """Return whether two addresses belong to the same host, as far as this machine knows."""
    return one == other or (_is_here(one) and _is_here(other))


def _is_here(address: Address) -> bool:
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True
