"""An evaluator with the tiny scenario."""

from collections.abc import Iterator

import pytest

from tests.assessments.packages import write_package
from tests.stack import Stack, running_stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The evaluator; its Temporal dev server has the UI."""
    directory = tmp_path_factory.mktemp("scenarios")
    write_package(directory, "tiny")
    with running_stack(directory) as running:
        yield running
