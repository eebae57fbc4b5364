"""Ports: which are free, who has the others, and who may start a server at one."""

import os
import socket
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from purple_sdk.processes.ports import claim, free_ports, is_free, keep_port, listener_on
from purple_sdk.processes.serving import listen


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_free_ports_are_different_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(is_free("127.0.0.1", port) for port in ports)


def test_a_kept_port_is_given_to_nobody_and_a_server_can_listen_there() -> None:
    with patch("purple_sdk.processes.ports._NOT_FOR_OUTGOING", free_ports(2)):
        kept = keep_port()
        assert kept not in free_ports(1)
    with listen("127.0.0.1", kept, "a server") as listener:
        assert listener.getsockname()[1] == kept


def test_free_ports_are_none_that_an_outgoing_connection_may_take() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert max(ports) < 32_768


def test_a_taken_port_is_not_free_and_its_owner_is_known(taken: int) -> None:
    assert not is_free("127.0.0.1", taken)
    who = listener_on(taken)
    assert who is not None
    assert who.endswith(f"(pid {os.getpid()})")


def test_nobody_is_named_for_a_free_port() -> None:
    assert listener_on(free_ports(1)[0]) is None


def test_a_port_is_claimed_by_one_at_a_time() -> None:
    (port,) = free_ports(1)
    mine = claim(port)
    assert mine is not None
    assert claim(port) is None
    mine.close()
    again = claim(port)
    assert again is not None
    again.close()
