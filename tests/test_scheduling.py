"""Which process of a run plays what, and in which order it imports (``tests.scheduling``, ``tests.importing``)."""

from tests.importing import modules
from tests.scheduling import LONG, ROOT, TOGETHER, group_of, rank_of, shares_the_evaluator


def test_every_place_that_is_named_is_there() -> None:
    assert [place for place in (*LONG, *TOGETHER) if not list(ROOT.glob(f"{place}*"))] == []


def test_a_room_with_services_of_its_own_stays_together_and_elsewhere_a_file() -> None:
    assert group_of("tests/chaos/test_freezes.py::test_x[a::b]") == "tests/chaos/"
    assert group_of("tests/proctor/test_up.py::test_x[a::b]") == "tests/proctor/test_up.py"
    assert group_of("tests/workflows/test_runs.py::test_x") == "tests/workflows/test_run"
    assert group_of("tests/workflows/test_story.py::test_x") == "tests/workflows/"
    assert rank_of("tests/workflows/") == rank_of("tests/workflows/test_run") == 0
    assert rank_of("tests/proctor_settings/test_config.py") == len(LONG)


def test_who_asks_for_the_shared_evaluator_is_known() -> None:
    assert shares_the_evaluator("tests/assessments/test_cancel.py")
    assert shares_the_evaluator("tests/assessments/test_deployments.py")  # by a fixture of the file's own
    assert shares_the_evaluator("tests/assessments/test_replay.py")
    assert shares_the_evaluator("tests/foreign_ues/")
    assert shares_the_evaluator("tests/assessments/with_a_model/")  # beside which it starts one with a model
    assert not shares_the_evaluator("tests/workflows/")
    assert not shares_the_evaluator("tests/workflows/test_run")
    assert not shares_the_evaluator("tests/proctor/test_up.py")


def test_each_process_imports_everything_and_begins_elsewhere() -> None:
    files = sorted(ROOT.glob("tests/ues_sim/test_*.py"))
    first, second = (modules(files, process, 2) for process in range(2))
    assert first[:2] == ["tests.ues_sim.conftest", "tests.ues_sim.test_attachments"]
    assert second[1] == f"tests.ues_sim.{files[len(files) // 2].stem}"
    assert sorted(first) == sorted(second)
    assert len(first) == len(files) + 1
