"""``python -m tests.terminal_bench.cli_agents [NAME…]``: a terminal task is played with each installed CLI agent.

The model is scripted: it runs the task's own solution. A Docker engine of its own is started, as root.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from purple_sdk.harness.clis import HARNESSES, find_harness
from purple_sdk.harness.declared import HarnessError
from purple_sdk.harness.installing import find_program
from tests.docker_engine import TASKS, own_engine
from tests.scripted_model import Calls, ScriptedModel

TASK = "hello-file"


def script_for(name: str) -> Calls:
    """The calls that solve the task."""
    solution = (TASKS / TASK / "solution.sh").read_text()
    if HARNESSES[name].has_mcp:
        return [("execute_bash_command", {"command": solution})]
    return [("bash", {"command": text}) for text in (solution, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")]


def play(names: Sequence[str]) -> int:
    """Play with each; the number that did not solve the task."""
    wrong = 0
    with own_engine() as engine, tempfile.TemporaryDirectory(prefix="proctor-terminal-") as folder:
        for name in names:
            began = time.monotonic()
            result = Path(folder, f"{name}.json")
            with ScriptedModel({1: script_for(name)}) as model:
                command = [
                    *(sys.executable, "-m", "proctor", "terminal-bench", "run", "--dataset", str(TASKS)),
                    *("--task-id", TASK, "--harness", name, "--model", "scripted-1", "--model-url", model.url),
                    *("--state", f"{folder}/state", "--output-path", f"{folder}/results", "--json", str(result)),
                ]
                ended = subprocess.run(
                    command, env={**os.environ, "DOCKER_HOST": engine.url}, capture_output=True, text=True, check=False
                )
            solved, tokens = 0, 0
            if result.exists():
                outcome = json.loads(result.read_text())
                solved = int(outcome["n_resolved"])
                for trial in outcome["results"]:
                    uses = trial.get("usage") or []
                    tokens += sum(use["input_tokens"] + use["output_tokens"] for use in uses)
            wrong += solved != 1
            print(f"{name:<15} {solved}/1 solved, {tokens:,} tokens, {time.monotonic() - began:.0f} s", flush=True)
            if solved != 1:
                print(ended.stdout[-3000:], ended.stderr[-3000:], flush=True)
    return wrong


def installed() -> list[str]:
    """The CLI agents that are on this machine."""
    found = []
    for name in HARNESSES:
        try:
            find_program(find_harness(name))
        except HarnessError:
            continue
        found.append(name)
    return found


if __name__ == "__main__":
    sys.exit(bool(play(sys.argv[1:] or installed())))
