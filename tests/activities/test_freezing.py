"""A scenario's files as one blob: the same content has the same name, wherever and whenever it was written."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.activities.scenario_code import freezing, manager
from proctor.activities.scenario_code.evaluator_modules import (
    KIT,
    READER,
    import_evaluators,
    installed_kit,
    installed_reader,
)
from proctor.activities.scenario_code.freezing import packed, unpack
from proctor.activities.scenario_code.manager import ScenarioValidationError
from proctor.protocol.evaluation import AgentBeatsEvalContext
from tests.sentences import says

Write = Callable[..., Path]


def test_the_same_content_has_the_same_name(write_scenario: Write, tmp_path: Path) -> None:
    one = write_scenario("small", {"evaluators.py": "X = 1", "data/words.txt": "lunch"}) / "small"
    other = tmp_path / "elsewhere" / "renamed"
    shutil.copytree(one, other)
    os.utime(other / "scenario.json", (0, 0))
    (other / "__pycache__").mkdir()
    (other / "__pycache__" / "evaluators.pyc").write_bytes(b"x")
    assert packed(one) == packed(other)
    (other / "data" / "words.txt").write_text("dinner")
    assert packed(one) != packed(other)


def test_what_is_packed_is_unpacked(write_scenario: Write, tmp_path: Path) -> None:
    one = write_scenario("small", {"evaluators.py": "X = 1", "data/words.txt": "lunch"}) / "small"
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "left_over.py").write_text("of an unpacking that was interrupted")
    unpack(packed(one), copy)
    assert packed(copy) == packed(one)


READS_BY_THE_KIT = """
import proctor.scenarios.kit.mailbox as boxes
from proctor.scenarios.kit import messages
from proctor.scenarios.kit.times import FROZEN

async def judged(ctx, params):
    return boxes.folder_of({"folder": "Spam"}), messages.done(ctx), FROZEN
"""


async def test_the_kit_is_frozen_with_the_scenario(
    write_scenario: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kit = tmp_path / "kit"
    shutil.copytree(installed_kit(), kit, ignore=shutil.ignore_patterns("__pycache__"))
    (kit / "times.py").write_text("FROZEN = 'as it was'")
    monkeypatch.setattr(freezing, "installed_kit", lambda: kit)
    one = write_scenario("reads", {"evaluators.py": READS_BY_THE_KIT}) / "reads"
    frozen, copy = packed(one), tmp_path / "copy"
    unpack(frozen, copy)
    (kit / "times.py").write_text("FROZEN = 'as it became'")
    assert packed(one) != frozen, "another kit may judge otherwise"
    assert packed(copy) == frozen
    nothing_done = AgentBeatsEvalContext(None, {}, [], {}, {}, "")
    assert await import_evaluators(copy).judged(nothing_done, {}) == ("spam", [], "as it was")


async def test_the_reader_is_frozen_with_the_kit(
    write_scenario: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reader = tmp_path / "reader"
    shutil.copytree(installed_reader(), reader, ignore=shutil.ignore_patterns("__pycache__"))
    (reader / "__init__.py").write_text("VERSION = 'as it was'")
    monkeypatch.setattr(freezing, "installed_reader", lambda: reader)
    code = """
import proctor.scenarios.kit.checks
from proctor.language.reader import VERSION

async def judged(ctx, params):
    return VERSION, proctor.scenarios.kit.checks.VERSION
"""
    copy = tmp_path / "copy"
    unpack(packed(write_scenario("reads", {"evaluators.py": code}) / "reads"), copy)
    nothing_done = AgentBeatsEvalContext(None, {}, [], {}, {}, "")
    assert await import_evaluators(copy).judged(nothing_done, {}) == ("as it was", "as it was")


def test_a_scenario_without_the_kit_is_frozen_without_it(write_scenario: Write, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    unpack(packed(write_scenario("small", {"evaluators.py": "X = 1"}) / "small"), copy)
    assert not (copy / KIT).exists()


def test_too_much_is_a_sentence(write_scenario: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    one = write_scenario("small", {"video.bin": "x" * 3000}) / "small"
    monkeypatch.setattr(freezing, "MOST_BYTES", 2000)
    with pytest.raises(ScenarioValidationError, check=says()):
        packed(one)
    monkeypatch.setattr(manager, "_MOST_FILES", 1)
    with pytest.raises(ScenarioValidationError, check=says()):
        packed(one)


@pytest.mark.parametrize("name", [KIT, READER])
def test_a_file_with_the_name_of_a_frozen_folder_is_refused(name: str, write_scenario: Write) -> None:
    one = write_scenario("small", {name: "x"}) / "small"
    with pytest.raises(ScenarioValidationError, check=says(name)):
        packed(one)
