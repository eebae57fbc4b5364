"""Values of the simulator as everybody reads them who judges or answers."""

import pytest

from proctor.ues.people import e164_like
from purple_sdk.protocol.readings import bare_phone


@pytest.mark.parametrize("written", ["+15552220001", "00 1 (555) 222-0001", "+1 555.222/0001", "555-0100"])
def test_a_phone_number_is_read_as_the_simulator_keeps_it(written: str) -> None:
    assert bare_phone(written) == e164_like(written)


def test_what_is_no_number_is_not_taken_for_one() -> None:
    assert bare_phone("00B") == "00B"
