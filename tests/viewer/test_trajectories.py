"""A page says what is missing in a turn's transcript."""

from types import SimpleNamespace
from typing import Any

import pytest

from proctor.protocol.archive import trajectory_file
from proctor.viewer.trajectories import trajectory_of


@pytest.mark.parametrize(
    ("steps", "notes", "shown"),
    [
        (2, None, ""),
        (2, "Shortened from 5 bytes.", "Shortened from 5 bytes."),
        (301, "Shortened.", "Shortened. The first 300 of 301 steps are shown."),
    ],
)
def test_a_transcript_that_is_not_whole_says_so(steps: int, notes: str | None, shown: str) -> None:
    kept = {"steps": [{"source": "agent", "message": "m"}] * steps, **({"notes": notes} if notes else {})}
    archive: Any = SimpleNamespace(read_json=lambda entry, name: kept)
    entry: Any = SimpleNamespace(files=[trajectory_file(1)])
    view = trajectory_of(archive, entry, 1)
    assert view is not None
    assert (view.notes, len(view.steps), view.summary.split()[0]) == (shown, min(steps, 300), str(steps))
