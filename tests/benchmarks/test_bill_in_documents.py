"""docs/SCALE.md says what was measured and simulated; its walls, sizes and money follow from settings."""

from pathlib import Path

import pytest

from benchmarks.bill.record import Bill
from benchmarks.scale.document import DOCUMENT, money, number, written
from benchmarks.scale.outcome import Simulated, check, contents
from benchmarks.scale.picture import PICTURE, picture
from benchmarks.scale.settings import Settings
from benchmarks.scale.walls import liveliness, size

BILL, SETTINGS = Bill.load(), Settings.load()
RENEW = "python -m benchmarks.scale --write renews it"


def test_the_document_says_what_is_kept() -> None:
    simulated = Simulated.load()
    assert simulated.of == contents(), f"scale.json is of another bill or of other settings: {RENEW}"
    sized = size(BILL, SETTINGS)
    text = DOCUMENT.read_text(encoding="utf-8")
    assert written(text, BILL, SETTINGS, sized, simulated) == text, RENEW
    assert PICTURE.read_text(encoding="utf-8") == picture(SETTINGS, sized, simulated), RENEW


def test_a_figure_that_is_changed_by_hand_is_noticed() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    play = BILL.play("email_triage_basic", "baseline", with_models=True)
    assert f"{play.judges.calls:,}" in text
    changed = text.replace(f"| {play.judges.calls:,} |", "| 1 |")
    assert written(changed, BILL, SETTINGS, size(BILL, SETTINGS), Simulated.load()) == text != changed


def test_what_was_simulated_comes_out_again() -> None:
    smallest = min(BILL.together, key=lambda played: played.assessments * played.turns)
    assert check(BILL, SETTINGS, smallest) in Simulated.load().checks


def test_twice_as_many_a_night_need_twice_the_processes_and_meet_the_same_walls_of_others() -> None:
    one, two = (size(BILL, Settings.load(assessments=count)) for count in (100_000, 200_000))
    assert two.workers == pytest.approx(2 * one.workers, rel=0.1)
    theirs = "model provider: tokens"
    most = [next(each.most(8 * 3600) for each in sized.resources if each.name == theirs) for sized in (one, two)]
    assert most[0] == pytest.approx(most[1])


def test_at_a_wall_all_of_it_is_used() -> None:
    seconds = SETTINGS.night.seconds
    for wall in size(BILL, SETTINGS).walls(seconds):
        assert wall.used(wall.most(seconds) / seconds) == pytest.approx(1.0, rel=1e-3)


def test_the_more_wait_in_a_worker_the_rarer_each_gives_signs_of_life() -> None:
    lively = BILL.model_copy(update={"waiting": BILL.waiting.model_copy(update={"heartbeats": 2.0})})
    few, many, crowd = (liveliness(lively, SETTINGS, 1, a_second) for a_second in (1e-6, 1.0, 1_000.0))
    assert 1.0 == few > many >= crowd
    assert crowd * lively.waiting.heartbeats == pytest.approx(1 / SETTINGS.fleet.longest_pause)


def test_a_fleet_that_is_given_stays_as_it_is(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[fleet]\nworker_processes = 3\n[prices]\nvcpu_hour = 1.0\n")
    settings = Settings.load(own, hours=4.0)
    sized = size(BILL, settings)
    assert (sized.workers, settings.night.hours, settings.limits) == (3, 4.0, SETTINGS.limits)
    assert money(BILL, settings, sized)["processors"] == pytest.approx(sized.vcpus * 4.0)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[prices]\nvcpu_hours = 1.0", "prices.vcpu_hours"),
        ("night = 3", "night"),
        ("[night]\nassessments = 0", "night.assessments"),
        ("[night]\nturn_seconds = [20.0, 5.0]", "shortest"),
        ("[night]\nparticipant = 'nobody'", "'nobody' was not measured"),
        ("[fleet]\nmemory_gb = 0.01", "fleet.memory_gb is 0.01"),
    ],
)
def test_what_can_not_be_is_named(tmp_path: Path, text: str, named: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises((ValueError, LookupError), match=named):
        size(BILL, Settings.load(own))


def test_actions_are_billed_step_by_step() -> None:
    """The example of Temporal's own page: 11.25 million are 250 + 225 + 50 dollars."""
    assert SETTINGS.prices.of_actions(11.25e6) == pytest.approx(525.0)


def test_numbers_are_told_with_as_many_digits_as_mean_something() -> None:
    assert [number(value) for value in (0.0123, 1.26, 34.5, 12_345, 987_654)] == [
        "0.012",
        "1.3",
        "34",
        "12,300",
        "988,000",
    ]
