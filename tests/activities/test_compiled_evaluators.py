"""A scenario's code is compiled once, and used wherever its source is still the same."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from proctor.activities.scenario_code import evaluator_modules
from proctor.activities.scenario_code.evaluator_modules import (
    code_digest,
    compile_modules,
    import_evaluators,
    take_compiled,
)


@pytest.fixture
def compiled_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that an import has to compile by itself."""
    names: list[str] = []

    def compiling(_loader: Any, source: bytes, path: str) -> Any:
        names.append(Path(path).name)
        return compile(source, path, "exec")

    monkeypatch.setattr(evaluator_modules, "_compiled", {})
    monkeypatch.setattr(evaluator_modules._ScenarioModuleLoader, "source_to_code", compiling)
    return names


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "evaluators.py").write_text("from points import POINTS\n")
    (tmp_path / "points.py").write_text("POINTS = 3\n")
    return tmp_path


def test_what_was_compiled_before_is_not_compiled_again(folder: Path, compiled_here: list[str]) -> None:
    take_compiled(compile_modules(folder))
    assert import_evaluators(folder).POINTS == 3
    assert compiled_here == []


def test_days_with_the_same_code_share_what_was_compiled(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, compiled_here: list[str]
) -> None:
    (folder / "points.py").write_text("def points(): return 1 / 0\n")
    (folder / "evaluators.py").write_text("from points import points\n")
    other = tmp_path_factory.mktemp("other") / "day"
    shutil.copytree(folder, other)
    (other / "scenario.json").write_text("{}")
    assert code_digest(other) == code_digest(folder)
    take_compiled(compile_modules(folder))
    with pytest.raises(ZeroDivisionError) as problem:
        import_evaluators(other).points()
    assert compiled_here == []
    assert problem.traceback[-1].path == other / "points.py"


def test_what_has_changed_since_is(folder: Path, compiled_here: list[str]) -> None:
    compiled = compile_modules(folder)
    (folder / "points.py").write_text("POINTS = 4\n")
    take_compiled(compiled)
    assert import_evaluators(folder).POINTS == 4
    assert compiled_here == ["points.py"]


def test_what_is_not_python_fails_where_it_is_imported(folder: Path, compiled_here: list[str]) -> None:
    (folder / "points.py").write_text("POINTS = \n")
    take_compiled(compile_modules(folder))
    with pytest.raises(SyntaxError):
        import_evaluators(folder)


def test_nothing_is_run_by_compiling(folder: Path) -> None:
    (folder / "points.py").write_text("raise SystemExit\n")
    compile_modules(folder)
