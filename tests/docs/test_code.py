"""The documents' code: Python that runs, JSON that a model takes, TOML that is read, tables that have every field."""

import ast
import contextlib
import dataclasses
import io
import json
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from proctor.activities.judging.cases import CalibrationCase
from proctor.activities.scenario_code.paraphrases import read_paraphrases
from proctor.language.facts import Fact
from proctor.language.text_tests import TextTest
from proctor.protocol.evaluation import AgentBeatsEvalContext, EvalResult
from proctor.protocol.scenario import (
    CharacterProfile,
    EvaluationCriterion,
    ResponseTiming,
    RubricCheck,
    RubricItem,
    ScenarioConfig,
    ScriptedReply,
)
from purple_sdk.protocol.actions import USER_ACTIONS
from purple_sdk.protocol.messages import parse_from_participant, parse_to_participant
from purple_sdk.protocol.request import AssessmentRequest
from purple_sdk.protocol.results import ActionLogEntryWithTurn
from purple_sdk.protocol.terminal import TerminalRequest
from tests.docs.blocks import DOCUMENTS, Block, Table, document, headings, of_language, tables
from tests.docs.test_howto import ALL_PAGES as HOWTO_PAGES
from tests.programs import ROOT
from tests.work import NIGHTLY

MODELS: dict[str, type[Any]] = {
    model.__name__: model
    for model in (
        ActionLogEntryWithTurn,
        AgentBeatsEvalContext,
        AssessmentRequest,
        CalibrationCase,
        CharacterProfile,
        EvalResult,
        EvaluationCriterion,
        Fact,
        ResponseTiming,
        RubricCheck,
        RubricItem,
        ScenarioConfig,
        ScriptedReply,
        TerminalRequest,
        TextTest,
    )
}
LANGUAGES = {"", "console", "sh", "json", "python", "toml", "text"}


def fields_of(model: type[Any]) -> dict[str, bool]:
    """A model's fields, and whether each is needed."""
    if issubclass(model, BaseModel):
        fields = model.model_fields.items()
        return {name: field.is_required() for name, field in fields if name != "message_type"}
    missing = dataclasses.MISSING
    return {
        field.name: field.default is missing and field.default_factory is missing for field in dataclasses.fields(model)
    }


def test_every_block_is_in_a_language_that_is_tested() -> None:
    assert {block.language for block in of_language(*LANGUAGES)} <= LANGUAGES
    assert all(block.note or "message_type" in block.text for block in of_language("json", "text"))


@pytest.mark.parametrize("block", of_language("python"), ids=str)
def test_python_does_what_it_says(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    if block.note.startswith(("file ", "insert ", "replace ")):  # test_howto.py follows these
        assert block.document in HOWTO_PAGES
        return
    code = compile(textwrap.dedent(block.text), str(block), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if block.note in ("run", "typed"):
        monkeypatch.chdir(ROOT)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, {"__name__": "__main__"})
    else:  # the guide's name what only its reader has: test_guide.py and test_ten_minutes.py have it
        assert block.document == "docs/PURPLE_AGENT_GUIDE.md", f"{block}: mark it <!-- run -->"


@pytest.mark.skipif(not NIGHTLY, reason="mypy takes long: make nightly")
@pytest.mark.parametrize("block", [b for b in of_language("python") if b.note in ("run", "typed")], ids=str)
def test_python_is_typed(block: Block, tmp_path: Path) -> None:
    (tmp_path / "block.py").write_text(block.text)
    command = [sys.executable, "-m", "mypy", "--strict", "block.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("block", of_language("json"), ids=str)
def test_json_is_what_it_says(block: Block) -> None:
    data = json.loads(block.text)
    if (kind := data.get("message_type")) is not None:
        read: Any = parse_to_participant if kind.startswith(("assessment", "turn_start")) else parse_from_participant
        read(data)
        return
    model = MODELS[block.note.removeprefix("model ")]
    assert set(data) <= set(fields_of(model))
    model.model_validate(data)


@pytest.mark.parametrize("block", of_language("toml"), ids=str)
def test_toml_is_read(block: Block) -> None:
    assert tomllib.loads(block.text)


def test_paraphrases_are_read(tmp_path: Path) -> None:
    (block,) = [block for block in of_language("text") if block.note == "paraphrases"]
    (tmp_path / "paraphrases").mkdir()
    (tmp_path / "paraphrases" / "said.txt").write_text(block.text)
    assert [(paraphrase.mark, paraphrase.is_right) for paraphrase in read_paraphrases(tmp_path)] == [
        ("", True),
        ("", False),
        ("?", True),
        ("!", False),
    ]


@pytest.mark.parametrize(
    "table", [candidate for candidate in tables() if candidate.note.startswith("fields of ")], ids=str
)
def test_a_table_has_every_field(table: Table) -> None:
    name, _, other = table.note.removeprefix("fields of ").partition(" beside ")
    fields = fields_of(MODELS[name])
    for inherited in fields_of(MODELS[other]) if other else ():
        del fields[inherited]
    assert [row[0].strip("`") for row in table.rows] == list(fields)
    if table.columns[1] == "needed":
        assert {row[0].strip("`"): row[1] == "yes" for row in table.rows} == fields


def test_the_table_of_actions_has_them_all() -> None:
    (table,) = [candidate for candidate in tables() if candidate.note == "actions"]
    named = [re.findall(r"`([^`]+)`", row[1]) for row in table.rows]
    assert sorted(action for row in named for action in row) == sorted(USER_ACTIONS)
    for row, actions in zip(table.rows, named, strict=True):
        assert {action.partition(".")[0] for action in actions} == {row[0]}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", document(name)):
        path = (ROOT / name).parent / target if target else ROOT / name
        assert path.exists(), f"{name}: {target}"
        if anchor:
            assert anchor in headings(path), f"{name}: {target}#{anchor}"
