"""Days of families on a campaign's page: one row for a family, and each day named among its runs."""

from itertools import product

from proctor.protocol.archive import EntrySummary
from proctor.viewer.campaigns import of_entries


def entry(difficulty: int | None, seed: int) -> EntrySummary:
    family = None if difficulty is None else "clear_the_day"
    return EntrySummary.model_validate(
        {
            "id": f"{difficulty}-{seed}",
            "status": "completed",
            "scenario_id": family or "reschedule_day",
            "family": family,
            "difficulty": difficulty,
            "instance_seed": seed if family else None,
            "seed": seed,
            "role": "mine",
            "score": 50,
            "max_score": 100,
            "started_at": "2026-03-02T09:00:00Z",
            "ended_at": "2026-03-02T10:00:00Z",
        }
    )


def test_a_family_is_one_row_of_its_days() -> None:
    view = of_entries([entry(difficulty, seed) for difficulty, seed in product((1, 2), (7, 8))] + [entry(None, 7)])
    assert [row.scenario for row in view.grid] == [None, "clear_the_day", "reschedule_day"]
    (cell,) = view.grid[1].cells
    assert cell is not None
    assert [row.label for row in cell.rows] == [
        *("difficulty 1, seed 7", "difficulty 1, seed 8", "difficulty 2, seed 7", "difficulty 2, seed 8")
    ]
    (fixed,) = view.grid[2].cells
    assert fixed is not None
    assert [row.label for row in fixed.rows] == ["seed 7"]
