"""One set of services for all that is done to it, and how an assessment goes on it in peace."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.chaos.rehearsals import Outcome, undisturbed
from tests.chaos.services import USUAL, WORKERS, Services, running_services
from tests.stack import Stack
from tests.work import NIGHTLY


@pytest.fixture(scope="session")
def services(stack: Stack) -> Iterator[Services]:
    """By default only what dies by default is started, and no model is asked; all else is the evaluator that tests
    share.
    """
    with running_services() if NIGHTLY else running_services(WORKERS[:1], beside=stack) as running:
        if not NIGHTLY:  # a worker spends more on the library for models than on the whole assessment
            running.case = replace(USUAL, conditions={"offline": True})
        yield running


@pytest.fixture(scope="session")
def reference(services: Services) -> Outcome:
    """What every disturbed assessment is compared with: good morning, two mails, one answer read and passed on."""
    outcome = asyncio.run(undisturbed(services))
    assert outcome.results["actions_taken"] == 5
    return outcome
