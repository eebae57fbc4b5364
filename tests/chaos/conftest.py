"""One set of services for all that is done to it, and how an assessment goes on it in peace."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.chaos.rehearsals import Outcome, undisturbed
from tests.chaos.services import Services, running_services


@pytest.fixture(scope="session")
def services() -> Iterator[Services]:
    with running_services() as running:
        yield running


@pytest.fixture(scope="session")
def reference(services: Services) -> Outcome:
    """What every disturbed assessment is compared with: good morning, two mails, one answer read and passed on."""
    outcome = asyncio.run(undisturbed(services))
    assert outcome.results["actions_taken"] == 5
    return outcome
