"""Addresses that are forbidden to participants and webhooks alike, however they are written."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from a2a.types import TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError

from proctor.a2a_gateway.webhooks import checked
from proctor.activities.participant.addresses import Destinations, GuardedBackend, RefusedAddressError
from purple_sdk.processes.addresses import is_forbidden
from tests.sentences import says

_METADATA = int(IPv4Address("169.254.169.254"))


def _holding(prefix: str, shift: int = 0, mask: int = 0) -> str:
    return str(IPv6Address(int(IPv6Address(prefix)) | (_METADATA ^ mask) << shift))


FORMS = {
    "itself": "169.254.169.254",
    "mapped": _holding("::ffff:0:0"),
    "compatible": _holding("::"),
    "translated": _holding("::ffff:0:0:0"),
    "NAT64": _holding("64:ff9b::"),
    "a local NAT64, /48": "64:ff9b:1:a9fe:a9:fe00::",
    "a local NAT64, /96": _holding("64:ff9b:1::"),
    "6to4": _holding("2002::", 80),
    "Teredo": _holding("2001::", 0, 0xFFFFFFFF),
}
OTHERS = [
    *("fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "100.100.100.200", "168.63.129.16"),
    *("192.0.0.192", "224.0.0.1", "ff02::1", "255.255.255.255", "0.1.2.3", "::ffff:100.100.100.200", "nonsense"),
]


@pytest.mark.parametrize("form", FORMS)
async def test_neither_a_participant_nor_a_webhook_leads_to_a_forbidden_address(form: str) -> None:
    address = FORMS[form]
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(InvalidParamsError, check=says()):
        await checked(TaskPushNotificationConfig(url=f"http://{host}/"), "1.0")
    destinations = Destinations("0.0.0.0/0, ::/0")
    for home in (f"http://{host}", "http://agent.example"):
        with pytest.raises(RefusedAddressError, check=says()):
            await GuardedBackend(destinations, home).connect_tcp(address, 80)


@pytest.mark.parametrize("address", OTHERS)
def test_forbidden_addresses(address: str) -> None:
    assert is_forbidden(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.1.2.3", "fd12::1", "93.184.216.34", "2606:2800:220:1::1"])
def test_addresses_that_depend(address: str) -> None:
    assert not is_forbidden(address)
