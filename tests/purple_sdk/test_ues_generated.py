"""The client's generated files are those that the generator makes of the simulator as it is now."""

from tests.purple_sdk.ues_generator import generated


def test_the_generated_files_are_current() -> None:
    outdated = [path.name for path, source in generated().items() if path.read_text() != source]
    assert not outdated, "run python -m tests.purple_sdk.ues_generator"
