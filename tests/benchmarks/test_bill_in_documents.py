"""docs/SCALE.md has the tables that ``benchmarks.scale`` makes of the measured bill and the settings."""

from pathlib import Path

import pytest

from benchmarks.bill.record import Bill
from benchmarks.scale import DOCUMENT, action_cost, money, number, plan, read_settings, walls, written

BILL, SETTINGS = Bill.load(), read_settings()


def test_the_document_has_the_current_tables() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert written(text, plan(BILL, SETTINGS)) == text, "python -m benchmarks.scale --write"


def test_a_figure_changed_by_hand_is_noticed() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    calls = f"| {BILL.play('email_triage_basic', 'baseline', with_models=True).judges.calls:,} |"
    assert calls in text
    assert written(text.replace(calls, "| 1 |"), plan(BILL, SETTINGS)) == text


def test_twice_as_many_a_night_need_twice_the_processes_and_meet_the_same_walls_of_others() -> None:
    one, two = (plan(BILL, read_settings(assessments=count)) for count in (100_000, 200_000))
    assert two.processes("worker") == pytest.approx(2 * one.processes("worker"), rel=0.1)
    tokens = [next(most for name, most, _ in walls(night) if name == "model provider: tokens") for night in (one, two)]
    assert tokens[0] == pytest.approx(tokens[1])


def test_a_fleet_of_the_settings_is_kept(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[fleet]\nworker_processes = 3\n[prices]\nvcpu_hour = 1.0\n")
    night = plan(BILL, read_settings(own, hours=4.0))
    assert (night.processes("worker"), night.settings.night.hours) == (3, 4.0)
    assert money(night)["processors"] == pytest.approx(night.vcpus * 4.0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[prices]\nvcpu_hours = 1.0", "prices.vcpu_hours is unknown"),
        ("night = 3", "night is not a table"),
        ("[night]\nassessments = 0", "night.assessments"),
        ("[night]\nparticipant = 'stranger'", "'stranger' was not measured"),
        ("[fleet]\nmemory_gb = 'much'", "fleet.memory_gb is 'much'"),
    ],
)
def test_a_bad_setting_is_named(tmp_path: Path, text: str, problem: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises((ValueError, LookupError), match=problem):
        plan(BILL, read_settings(own))


def test_actions_are_billed_by_steps() -> None:
    """The example of Temporal's own page: 11.25 million are 250 + 225 + 50 dollars."""
    assert action_cost(SETTINGS.prices, 11.25e6) == pytest.approx(525.0)


def test_numbers_have_three_significant_digits() -> None:
    numbers = [number(value) for value in (0.0123, 1.26, 34.5, 12_345, 987_654)]
    assert numbers == ["0.012", "1.3", "34", "12,300", "988,000"]
