"""Recognise this machine's own addresses and those closed to strangers, and write hosts in URLs."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

Address = IPv4Address | IPv6Address

_FORBIDDEN = [
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "::/128", "240.0.0.0/4"),  # addresses of no host
        *("169.254.0.0/16", "fe80::/10"),  # link-local: most clouds' metadata
        *("224.0.0.0/4", "ff00::/8"),  # multicast
        "100.100.100.200/32",  # metadata of Alibaba Cloud
        "168.63.129.16/32",  # metadata of Azure
        "192.0.0.192/32",  # metadata of Oracle Cloud
        "fd00:ec2::/32",  # metadata of Amazon's cloud
        "fd20:ce::/32",  # metadata of Google's cloud
        "64:ff9b:1::/48",  # RFC 8215: an IPv4 address that only the local translator knows
    )
]
"""Networks to which strangers must not make us connect, in any form of their addresses (``plain``)."""

_EMBEDDING = [ip_network(text) for text in ("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "::/96")]
"""Networks of IPv6 addresses that end with an IPv4 address: mapped, translated, NAT64's, and compatible ones."""


def plain(address: Address) -> Address:
    """Return the IPv4 address inside an IPv6 address that embeds one; return other addresses as they are."""
    if isinstance(address, IPv4Address):
        return address
    if int(address) > 1 and any(address in network for network in _EMBEDDING):  # :: and ::1 embed no address
        return IPv4Address(address.packed[12:])
    return address.sixtofour or (address.teredo[1] if address.teredo else address)


def is_forbidden(address: str | Address) -> bool:
    """Return whether strangers must not make us connect to an IP address. Also true for text that isn't an address."""
    try:
        meant = plain(ip_address(address.partition("%")[0]) if isinstance(address, str) else address)
    except ValueError:
        return True
    return any(meant in network for network in _FORBIDDEN)


def is_loopback(host: str) -> bool:
    """Return whether a host's name or address always means the machine itself."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return plain(ip_address(name)).is_loopback
    except ValueError:
        return False


def in_url(host: str) -> str:
    """Return a host as it is written in a URL: an IPv6 address gets brackets."""
    return f"[{host}]" if ":" in host else host


def own_host(host: str) -> str:
    """Return the host at which this machine reaches its own server that listens at ``host``."""
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
