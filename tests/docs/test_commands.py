"""Every command in the documents is one that there is: program, subcommand, options, arguments, targets, settings."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from click.testing import CliRunner
from pydantic import BaseModel

from proctor.cli.help_pages import texts
from proctor.cli.main import app
from proctor.settings.config import GreenAgentConfig
from purple_sdk.settings.config import HarnessConfig
from tests.docs.blocks import DOCUMENTS, Command, commands, document, of_language, spans
from tests.programs import ROOT

PROCTOR: Any = typer.main.get_command(app)
TARGETS = set(re.findall(r"^([a-z-]+):", document("Makefile"), re.MULTILINE))
SHELL = {"", "cat", "cd", "cp", "export", "mkdir", "sed", "tar", "pip", "python", "pytest", "python3"}

EXAMPLES = texts()["examples"]

ELSEWHERE = {
    "make demo": "tests/cli/test_demo.py",
    ".venv/bin/proctor up": "tests/cli/test_up.py",
    "temporal server start-dev": "tests/cli/test_by_hand.py",
    "curl http://127.0.0.1:8000/": "tests/cli/test_by_hand.py",
    ".venv/bin/proctor list": "tests/cli/test_archive_commands.py",
    ".venv/bin/proctor compare": "tests/cli/test_archive_commands.py",
    ".venv/bin/proctor run": "tests/cli/test_commands.py",
    ".venv/bin/proctor replay": "tests/cli/test_replay.py",
    ".venv/bin/proctor fork": "tests/cli/test_fork.py",
    "proctor fork": "tests/cli/test_fork.py",
    "python3 -m venv": "tests/cli/test_ten_minutes.py",
    "python agent.py": "tests/cli/test_ten_minutes.py",
    "proctor assess": "tests/cli/test_ten_minutes.py",
    ".venv/bin/proctor assess": "tests/cli/test_ten_minutes.py",
    "proctor scenarios show": "tests/audit/test_commands.py",
    "proctor new-family": "tests/audit/test_commands.py",
    "make check": "what lands is checked by it",
    "proctor up": "tests/cli/test_up.py",
    "AGENTBEATS_PURPLE_WIRE=gemini proctor assess": "tests/purple_sdk/harness/test_acp.py: with a program of its own",
    "proctor harness": "tests/purple_sdk/harness: the CLI agents themselves are played by make agents",
    "export OPENAI_API_KEY=": "a key of your own",
    "proctor prune": "tests/cli/test_archive_commands.py",
    "proctor replay": "tests/cli/test_replay.py",
    "proctor judge calibrate": "tests/cli/test_judge_commands.py",
    "proctor judge again": "tests/cli/test_judge_again.py",
    "export AGENTBEATS_GREEN_UES_COMMAND=": "tests/foreign_ues",
    "export AGENTBEATS_GREEN_PAYLOAD_KEYS=": "tests/storage/test_codec.py",
    "proctor token": "tests/a2a_gateway/test_auth.py",
    "tcld namespace search-attributes": "Temporal Cloud's own command",
    'mkdir -p -m 700 "$BACKUP"': "tests/cli/test_up.py: a backup, restored",
    'tar -C "$STATE" -xf': "tests/cli/test_up.py: a backup, restored",
    "proctor check-agent": "tests/local/test_agent_check.py",
    "proctor terminal-bench": "tests/terminal_bench: needs a Docker engine",
    "curl http://localhost:9999/agent/messages": "tests/workflows/test_terminal_runs.py",
    "python -m benchmarks.": "tests/benchmarks: figures are measured by people, on machines that do nothing else",
    "temporal workflow show": "tests/assessments/test_replay.py: a reset by the CLI",
    "tb run": "tests/terminal_bench: needs Python 3.12 and a harness",
}
"""How a console block begins that is not replayed, and what tests it: a file, or the reason why none does here."""


def read_as_typed(words: list[str]) -> None:
    """Have the command line read some words: it raises for what it doesn't know, and for what is missing."""
    command, path = PROCTOR, "proctor"
    while (subcommands := getattr(command, "commands", None)) is not None:
        assert words, f"{path} needs a subcommand"
        name, *words = words
        assert name in subcommands, f"{path} has no command {name!r}: {', '.join(subcommands)}"
        command, path = subcommands[name], f"{path} {name}"
    command.make_context(path, list(words))


@pytest.mark.parametrize("command", commands(), ids=str)
def test_a_command_is_understood(command: Command) -> None:
    program, *words = command.words
    match Path(program).name:
        case "proctor":
            read_as_typed(words)
        case "make":
            assert set(words) <= TARGETS
        case "temporal":
            options = [word for word in words if word.startswith("--")]
            program = str(Path(sys.executable).with_name("temporal"))
            done = subprocess.run([program, *words[:2], "--help"], capture_output=True, text=True, check=True)
            assert set(options) <= set(re.findall(r"--[a-z-]+", done.stdout)), options
        case name:
            assert name in SHELL | {"curl", "harbor", "tb", "tcld"}, f"what runs {name}?"


@pytest.mark.parametrize("command", EXAMPLES)
def test_each_example_of_a_help_page_is_understood_and_printed_on_that_page(command: str) -> None:
    for example in EXAMPLES[command]:
        assert command == "proctor" or example.startswith(command)
        read_as_typed(example.split()[1:])
    shown = CliRunner().invoke(PROCTOR, [*command.split()[1:], "--help"], prog_name="proctor", terminal_width=80)
    assert shown.output.partition("Examples:")[2].split("\n\n")[0].strip().split("\n  ") == EXAMPLES[command]


def test_the_help_lists_each_command_in_one_group() -> None:
    named = [name for names in texts()["groups"].values() for name in names]
    assert sorted(named) == sorted(PROCTOR.commands)


@pytest.mark.parametrize("block", of_language("console", "sh"), ids=str)
def test_a_block_of_commands_is_run_by_a_test(block: Any) -> None:
    if block.note == "replayed":
        return
    reasons = [where for begins, where in ELSEWHERE.items() if block.text.startswith(f"$ {begins}")]
    assert reasons, f"{block}: mark it <!-- replayed -->, or say in ELSEWHERE what runs it"
    for path in (reason for reason in reasons if reason.startswith("tests/")):
        assert (ROOT / path.partition(":")[0]).exists(), path


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_the_text_says_of_commands_is_so(name: str) -> None:
    for span in spans(name):
        words = span.removeprefix(".venv/bin/").split()
        if words[:1] == ["make"]:
            assert {word for word in words[1:] if "=" not in word} <= TARGETS, span
        if words[:1] != ["proctor"] or "…" in span:
            continue
        command: Any = PROCTOR
        for word in words[1:]:
            subcommands = getattr(command, "commands", None)
            if subcommands is not None and re.fullmatch(r"[a-z][a-z-]*", word):
                assert word in subcommands, f"{name}: {span}: there is no command {word!r}"
                command = subcommands[word]
            elif word.startswith("--"):
                options = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
                assert word.partition("=")[0].rstrip(",;") in {*options, "--help"}, f"{name}: {span}: no such option"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_setting_that_is_named_is_one(name: str) -> None:
    models: dict[str, type[BaseModel]] = {"GREEN": GreenAgentConfig, "PURPLE": HarnessConfig}
    for kind, setting in re.findall(r"AGENTBEATS_(GREEN|PURPLE)_([A-Z][A-Z_]*[A-Z])\b", document(name)):
        assert setting.lower() in models[kind].model_fields, f"{name}: AGENTBEATS_{kind}_{setting}"
