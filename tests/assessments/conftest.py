"""One evaluator for all tests of assessments, with the tiny scenario and its broken relatives."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assessments.bad_packages import write_bad_packages
from tests.assessments.packages import write_package
from tests.stack import Stack, running_stack

_NOTES_ARE_READ = """
async def asked(ctx, params):
    return {"score": 0, "max_score": 1, "explanation": str(ctx.turn_notes)}

told = asked
"""


@pytest.fixture(scope="session")
def scenarios_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of scenarios."""
    directory = tmp_path_factory.mktemp("scenarios")
    write_package(directory, "tiny")
    write_package(directory, "notes_are_read", files={"evaluators.py": _NOTES_ARE_READ})
    write_package(directory, "half_hours", change=lambda scenario: scenario.update(default_time_step="PT30M"))
    write_bad_packages(directory)
    return directory


@pytest.fixture(scope="session")
def stack(scenarios_dir: Path) -> Iterator[Stack]:
    """An evaluator with no model at hand, whatever the machine's environment says."""
    with running_stack(
        scenarios_dir, environment={"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None, "OPENAI_API_BASE": None}
    ) as running:
        yield running
