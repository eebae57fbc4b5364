"""``python -m tests.terminal_bench.official``: the same agents in the official harnesses and in ours, side by side.

    python -m tests.terminal_bench.official --tb VENV --harbor VENV [--agents solver half …]
    python -m tests.terminal_bench.official … --dataset FOLDER --agents oracle null beginning
    python -m tests.terminal_bench.official … --attacks --agents attacker

Each agent is a real A2A agent that gets in by ``docker exec``. It plays the tasks of ``scenarios/terminal_bench``:
those of version 1 with ``tb run`` and our adapter, the others with ``harbor run``, our adapter and our environment
class, and all of them with ``proctor terminal-bench run``. The table has the verdicts side by side, and the exit code
says whether they are the same. ``oracle`` and ``null`` are the harnesses' own agents.

``--dataset`` plays another folder of tasks, ``--attacks`` tasks with the attacks of
``tests.terminal.tampering``. ``--verifiers separate same-container`` has a column for each of these.

The harnesses are installed in environments of their own, with Python 3.12 or newer and our adapters beside them:

    python3.12 -m venv VENV && VENV/bin/pip install terminal-bench==0.2.18 -e packaging/purple
    python3.12 -m venv VENV && VENV/bin/pip install 'harbor==0.24.*' -e packaging/purple

It starts an engine of its own, without a bridge (see ``tests.docker_engine``), or uses the one in
``PROCTOR_TEST_ENGINE``: the copies of the tasks that ``tb`` gets say ``network_mode: host``. Its compose is Debian's
``docker-compose`` 1.29 behind a plugin.
"""

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, get_args

import yaml

from proctor.terminal.task_model import TaskFormat, TerminalTask
from proctor.terminal.tasks import find_tasks, load_task
from purple_sdk.examples.terminal_agent.shell import Shell
from purple_sdk.protocol.terminal import TerminalResults, TerminalTaskMessage, VerifierKind
from tests.docker_engine import TASKS, own_engine
from tests.terminal.tampering import write_attacks
from tests.terminal_bench.agents import attack, give_up, go_on, idle, play_beginning, play_half, play_solution
from tests.terminal_bench.asking import ScriptedTerminalAgent, serving

ROOT = Path(__file__).parent.parent.parent

PLUGIN = """#!/bin/sh
# Debian's docker-compose 1.29 as the plugin that `docker compose` looks for.
if [ "$1" = docker-cli-plugin-metadata ]; then
    echo '{"SchemaVersion":"0.1.0","Vendor":"Debian","Version":"1.29","ShortDescription":"Docker Compose"}'
    exit
fi
[ "$1" = compose ] && shift
exec docker-compose "$@"
"""

Solve = Callable[[list[TerminalTask], TerminalTaskMessage, Shell], Awaitable[str]]

Verdicts = dict[str, str]
"""By task: ``resolved``, ``not``, or ``none`` where the tests said nothing, and how it failed."""


@dataclass(frozen=True)
class Part:
    """An agent's part in a comparison: what it does, to which tasks, and in how many seconds.

    ``own`` is, in place of what it does, the name of such an agent in our harness, and in the two others.
    """

    solve: Solve = idle
    tasks: tuple[str, ...] = ()
    agent_seconds: float | None = None
    own: tuple[str, str] | None = None


@dataclass(frozen=True)
class Harnesses:
    """Where everything is: environments of the official harnesses, tasks, results, variables of the processes."""

    tb: Path | None
    harbor: Path | None
    work: Path
    environment: Mapping[str, str] = field(default_factory=dict)


PARTS = {
    "solver": Part(play_solution),
    "half": Part(play_half),
    "idle": Part(idle),
    "failing": Part(give_up, ("hello-file", "sort-table")),
    "endless": Part(go_on, ("hello-file", "sort-table"), agent_seconds=30),
    "attacker": Part(attack),
    "beginning": Part(play_beginning),
    "oracle": Part(own=("oracle", "oracle")),
    "null": Part(own=("null", "nop")),
}


# Harnesses


async def in_ours(
    harnesses: Harnesses, name: str, part: Part, tasks: list[TerminalTask], url: str, verifier: str
) -> Verdicts:
    """``proctor terminal-bench run``."""
    file = harnesses.work / f"{name}.{verifier}.json"
    chosen = [word for task in tasks for word in ("--task-id", task.id)]
    seconds = {"EVALUATION_AGENT_TIMEOUT_SEC": str(part.agent_seconds)} if part.agent_seconds else {}
    await done(
        harnesses,
        f"{name}.{verifier}",
        *(sys.executable, "-m", "proctor", "terminal-bench", "run", "--dataset", str(tasks[0].folder.parent)),
        *("--agent", part.own[0] if part.own else url),
        *("--state", str(harnesses.work / "state"), "--json", str(file), "--quiet", *chosen),
        EVALUATION_ACCESS="docker",
        EVALUATION_VERIFIER=verifier,
        **seconds,
    )
    results = TerminalResults.model_validate_json(file.read_bytes())
    return {
        result.task_id: in_words(result.is_resolved, str(result.failure_mode)) + (", doubtful" if result.doubts else "")
        for result in results.results
    }


async def in_tb(harnesses: Harnesses, name: str, part: Part, tasks: list[TerminalTask], url: str) -> Verdicts:
    """``tb run``, of the package ``terminal-bench``."""
    seconds = part.agent_seconds
    limit = ("--global-agent-timeout-sec", f"{seconds}", "--agent-kwarg", f"agent_timeout_sec={seconds}")
    await done(
        harnesses,
        f"{name}.tb",
        *(f"{harnesses.tb}/bin/tb", "run", "--dataset-path", str(harnesses.work / "one"), "--no-upload-results"),
        *(
            ("--agent", part.own[1])
            if part.own
            else (
                *("--agent-import-path", "purple_sdk.adapters.terminal_bench:A2AWhiteAgent"),
                *("--agent-kwarg", f"agent_url={url}"),
            )
        ),
        *("--n-concurrent", "2", "--run-id", name),
        *("--output-path", str(harnesses.work / "tb"), *(limit if seconds else ())),
        *(word for task in tasks for word in ("--task-id", task.id)),
    )
    found = json.loads((harnesses.work / "tb" / name / "results.json").read_text())["results"]
    return {result["task_id"]: in_words(result["is_resolved"], result["failure_mode"]) for result in found}


async def in_harbor(harnesses: Harnesses, name: str, part: Part, tasks: list[TerminalTask], url: str) -> Verdicts:
    """``harbor run``."""
    limit = part.agent_seconds / max(task.agent_timeout for task in tasks) if part.agent_seconds else 1.0
    await done(
        harnesses,
        f"{name}.harbor",
        *(f"{harnesses.harbor}/bin/harbor", "run", "--path", str(harnesses.work / "two"), "--yes", "--quiet"),
        *(
            ("--agent", part.own[1])
            if part.own
            else ("--agent", "purple_sdk.adapters.harbor:A2AAgent", "--agent-kwarg", f"agent_url={url}")
        ),
        *("--env", "purple_sdk.adapters.harbor:DockerEnvironment", "--n-concurrent", "2"),
        *("--agent-timeout-multiplier", f"{limit:.4f}"),
        *("--jobs-dir", str(harnesses.work / "harbor"), "--job-name", name),
        *(word for task in tasks for word in ("--include-task-name", task.id)),
    )
    verdicts = {}
    for file in (harnesses.work / "harbor" / name).glob("*/result.json"):
        trial = json.loads(file.read_text())
        rewards = (trial.get("verifier_result") or {}).get("rewards") or {}
        reward = rewards.get("reward")
        failed = (trial.get("exception_info") or {}).get("exception_type", "none")
        verdicts[trial["task_name"].rpartition("/")[2]] = in_words(None if reward is None else reward >= 1, failed)
    return verdicts


async def done(harnesses: Harnesses, name: str, *command: str, **environment: str) -> None:
    """Run a harness to its end; its output is kept. Its exit code says nothing: an agent that fails is no failure."""
    with (harnesses.work / f"{name}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=harnesses.work, env={**harnesses.environment, **environment}, stdout=log, stderr=log,
            stdin=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        await process.wait()


def in_words(is_resolved: bool | None, failure_mode: str) -> str:
    """A verdict, and how the trial failed, if it did."""
    verdict = {True: "resolved", False: "not", None: "none"}[is_resolved]
    failed = "" if failure_mode in ("none", "unset") else f" ({failure_mode})"
    return f"{verdict}{failed}"


# The comparison


def write_tasks(work: Path, dataset: Path) -> list[TerminalTask]:
    """The tasks for the harnesses: version 1 in ``one``, its successor in ``two``."""
    tasks = [load_task(folder) for folder in find_tasks(dataset)]
    for task in tasks:
        copy = work / ("one" if task.format == TaskFormat.ONE else "two") / task.id
        shutil.copytree(task.folder, copy)
        if task.format == TaskFormat.ONE:
            file = copy / "docker-compose.yaml"
            document: dict[str, Any] = yaml.safe_load(file.read_text())
            for service in document["services"].values():
                service["network_mode"] = "host"
                service["build"] = {"context": ".", "network": "host"}
            file.write_text(yaml.safe_dump({"version": "3.4", **document}))
    return tasks


async def compare(
    harnesses: Harnesses, tasks: list[TerminalTask], names: list[str], verifiers: list[str]
) -> list[tuple[str, ...]]:
    """Rows of the table: agent, task, harness, its verdict, ours with each verifier."""
    rows: list[tuple[str, ...]] = []
    for name in names:
        part = PARTS[name]
        chosen = [
            task
            for task in tasks
            if task.id in (part.tasks or {task.id}) and (task.solution is not None or name != "oracle")
        ]
        async with serving(ScriptedTerminalAgent(partial(part.solve, tasks))) as url:
            ours = [await in_ours(harnesses, name, part, chosen, url, verifier) for verifier in verifiers]
            theirs: dict[str, tuple[str, Verdicts]] = {}
            for form, harness, play, is_there in (
                (TaskFormat.ONE, "tb", in_tb, harnesses.tb),
                (TaskFormat.TWO, "harbor", in_harbor, harnesses.harbor),
            ):
                played = [task for task in chosen if task.format == form]
                if is_there and played:
                    verdicts = await play(harnesses, name, part, played, url)
                    theirs |= {task.id: (harness, verdicts) for task in played}
        for task in chosen:
            harness, verdicts = theirs.get(task.id, ("none", {}))
            found = [column.get(task.id, "no result") for column in (verdicts, *ours)]
            rows.append((name, task.id, harness, *found))
            print(*rows[-1], sep="\t", flush=True)
    return rows


@contextmanager
def engine_address() -> Iterator[str]:
    """An engine of our own, or the one in ``PROCTOR_TEST_ENGINE``."""
    if named := os.environ.get("PROCTOR_TEST_ENGINE"):
        yield named
    else:
        with own_engine() as engine:
            yield engine.url


def main() -> int:
    """Read the command line, compare, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.terminal_bench.official")
    parser.add_argument("--tb", type=Path, help="an environment with terminal-bench and proctor-purple")
    parser.add_argument("--harbor", type=Path, help="an environment with harbor and proctor-purple")
    parser.add_argument("--agents", nargs="*", default=list(PARTS)[:5], choices=PARTS)
    parser.add_argument("--tasks", nargs="*", default=["*"], metavar="PATTERN", help="those of each agent's tasks")
    parser.add_argument("--dataset", type=Path, default=TASKS, help="the folder of tasks")
    parser.add_argument("--attacks", action="store_true", help="play attacks in place of the dataset's tasks")
    parser.add_argument("--verifiers", nargs="*", default=["separate"], choices=get_args(VerifierKind))
    parser.add_argument("--work", type=Path, help="where everything is kept; otherwise nothing is")
    chosen = parser.parse_args()
    work = (chosen.work or Path(tempfile.mkdtemp(prefix="proctor-official-"))).absolute()
    plugins = work / "docker" / "cli-plugins"
    plugins.mkdir(parents=True)
    (plugins / "docker-compose").write_text(PLUGIN)
    (plugins / "docker-compose").chmod(0o755)
    if chosen.attacks:
        chosen.dataset = work / "attacks"
        write_attacks(chosen.dataset)
    try:
        with engine_address() as engine:
            os.environ.update(DOCKER_HOST=engine, DOCKER_CONFIG=str(work / "docker"))
            environment = {**os.environ, "PYTHONPATH": str(ROOT), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
            tb, harbor = (venv and venv.absolute() for venv in (chosen.tb, chosen.harbor))
            tasks = [
                task
                for task in write_tasks(work, chosen.dataset.absolute())
                if any(fnmatchcase(task.id, pattern) for pattern in chosen.tasks)
            ]
            harnesses = Harnesses(tb, harbor, work, environment)
            rows = asyncio.run(compare(harnesses, tasks, chosen.agents, chosen.verifiers))
    finally:
        if chosen.work is None:
            shutil.rmtree(work, ignore_errors=True)
    heads = ["agent", "task", "harness", "its verdict", *chosen.verifiers]
    for row in (heads, ["---"] * len(heads), *rows):
        print(f"| {' | '.join(row)} |")
    same = [row for row in rows if len({verdict.split()[0].rstrip(",") for verdict in row[3:]}) == 1]
    print(f"\n{len(same)} of {len(rows)} verdicts are the same")
    return int(len(same) < len(rows))


if __name__ == "__main__":
    sys.exit(main())
