"""Addresses of hosts: this machine's own, those that are forbidden to strangers, and how URLs write them."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

Address = IPv4Address | IPv6Address

_FORBIDDEN = [
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "::/128", "240.0.0.0/4"),  # no host's
        *("169.254.0.0/16", "fe80::/10"),  # link-local: most clouds' metadata
        *("224.0.0.0/4", "ff00::/8"),  # multicast
        "100.100.100.200/32",  # metadata of Alibaba Cloud
        "168.63.129.16/32",  # of Azure
        "192.0.0.192/32",  # of Oracle Cloud
        "fd00:ec2::/32",  # of Amazon's
        "fd20:ce::/32",  # of Google's
        "64:ff9b:1::/48",  # RFC 8215: stands for an IPv4 address that only the local translator knows
    )
]
"""Networks to which a stranger's word never leads, in any form of their addresses (``plain``)."""

_EMBEDDING = [ip_network(text) for text in ("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "::/96")]
"""IPv6 addresses that end with the IPv4 address they stand for: mapped, translated, NAT64's, and compatible ones."""


def plain(address: Address) -> Address:
    """The IPv4 address that is meant where one is written as, or reached through, an IPv6 address."""
    if isinstance(address, IPv4Address):
        return address
    if int(address) > 1 and any(address in network for network in _EMBEDDING):  # :: and ::1 are their own
        return IPv4Address(address.packed[12:])
    return address.sixtofour or (address.teredo[1] if address.teredo else address)


def is_forbidden(address: str | Address) -> bool:
    """Whether strangers may not have us connect to an IP address; also true of other texts."""
    try:
        meant = plain(ip_address(address.partition("%")[0]) if isinstance(address, str) else address)
    except ValueError:
        return True
    return any(meant in network for network in _FORBIDDEN)


def is_loopback(host: str) -> bool:
    """Whether a host, by name or address, is this machine for each machine that asks."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return plain(ip_address(name)).is_loopback
    except ValueError:
        return False


def in_url(host: str) -> str:
    """A host as a URL has it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def own_host(host: str) -> str:
    """The host at which this machine reaches a server of its own that listens at ``host``."""
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
