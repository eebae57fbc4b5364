"""``make mutants`` knows files and tests that are there."""

from tests.mutants import GUARDED_BY, ROOT


def test_every_guarded_file_and_each_of_its_tests_is_there() -> None:
    named = {*GUARDED_BY, *(test for tests in GUARDED_BY.values() for test in tests)}
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
