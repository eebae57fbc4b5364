"""A whole run of tasks and agents that do an evaluator harm: each is its own trial's failure, and the run goes on."""

import asyncio
from collections import Counter
from pathlib import Path

from purple_sdk.examples.terminal_agent.shell import Shell
from purple_sdk.protocol.terminal import TerminalTaskMessage
from tests.cli.commands import Sandbox
from tests.docker_engine import BASE_IMAGE
from tests.sentences import says
from tests.stack import running_stack
from tests.terminal.writing import COMPOSE, DONE, format_one, format_two
from tests.terminal_bench.asking import ScriptedTerminalAgent, left_on, ran, run, serving
from tests.work import only_nightly

SLOW = f"sleep 1\nif {DONE}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\nsleep 1\n"
MEDDLERS = (
    "while :; do echo 1 > /logs/verifier/reward.txt; sleep 0.01; done",
    "while [ ! -e /tests/test.sh ]; do sleep 0.01; done; touch /app/done",
)
BOMB = "bomb() { bomb | bomb & }; bomb; setsid sh -c 'while :; do sleep 1 & done' &"

EXPECTED = {
    # What the agent does
    "honest": (True, "none", None),
    "fills-disk": (None, "unknown_agent_error", "participant"),
    "fork-bomb": (False, "none", None),
    "eats-memory": (True, "none", None),
    "silences-tests": (False, "parse_error", "participant"),
    "ignores-its-time": (False, "agent_timeout", "participant"),
    "prints-100-mb": (True, "none", None),
    "reads-early": (False, "none", None),
    "leaves-processes": (False, "none", None),
    # What the task is
    "broken-dockerfile": (None, "unknown", "task"),
    "broken-yaml": (None, "unknown", "task"),
    "broken-toml": (None, "unknown", "task"),
    "tests-say-nothing": (None, "parse_error", "task"),
    "tests-never-end": (None, "test_timeout", "task"),
    "tests-print-100-mb": (True, "none", None),
}


def write_tasks(folder: Path) -> None:
    format_two(folder / "honest")
    format_two(folder / "fills-disk", toml="[environment]\nstorage_mb = 50")
    format_one(folder / "fork-bomb", {"docker-compose.yaml": f"{COMPOSE}    pids_limit: 100\n    cpus: 0.5\n"})
    format_two(folder / "eats-memory", toml="[environment]\nmemory_mb = 64")
    format_two(folder / "prints-100-mb")
    unreadable = f"[ -e /app/quiet ] && exit\nif {DONE}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
    format_two(folder / "silences-tests", {"tests/test.sh": unreadable})
    format_two(folder / "ignores-its-time", toml="[agent]\ntimeout_sec = 15")
    format_one(folder / "reads-early", {"Dockerfile": f"FROM {BASE_IMAGE}\nWORKDIR /app\nCOPY . /app\n"})
    format_two(folder / "leaves-processes", {"tests/test.sh": SLOW})
    format_two(folder / "broken-dockerfile", {"environment/Dockerfile": f"FROM {BASE_IMAGE}\nRUN ls /nowhere\n"})
    format_one(folder / "broken-yaml", {"task.yaml": "instruction: [\n"})
    format_two(folder / "broken-toml", toml="x = [")
    format_one(folder / "tests-say-nothing", {"run-tests.sh": "echo everything is fine\n"})
    endless = "trap '' TERM INT HUP; echo 1 > /logs/verifier/reward.txt; while :; do sleep 1; done\n"
    format_two(folder / "tests-never-end", {"tests/test.sh": endless}, "[verifier]\ntimeout_sec = 3")
    loud = "yes | head -c 100000000; echo 1 > /logs/verifier/reward.txt\n"
    format_two(folder / "tests-print-100-mb", {"tests/test.sh": loud})


@only_nightly
async def test_each_fails_alone_and_the_run_goes_on(docker_engine: str, tmp_path: Path) -> None:
    found: dict[str, str] = {}

    async def solve(task: TerminalTaskMessage, shell: Shell) -> str:
        match task.task_id:
            case "fills-disk":
                await ran(shell, "head -c 150000000 /dev/zero > /app/big; sleep 50")
            case "eats-memory":
                await ran(shell, "python3 -c 'bytearray(500_000_000)'; touch /app/done")
            case "silences-tests":
                await ran(shell, "touch /app/done /app/quiet")
            case "fork-bomb":
                await shell.run(BOMB, 2)
            case "ignores-its-time":
                await shell.run("trap '' TERM INT HUP; (trap '' TERM; sleep 1000) & while :; do sleep 1; done", 300)
            case "prints-100-mb":
                found["printed"] = (await ran(shell, "touch /app/done; yes | head -c 100000000")).output
            case "reads-early":
                looked = await ran(shell, "ls /app; cat /tests/* /solution/* /oracle/* /app/solution.sh /app/tests/*")
                found["early"] = looked.output
            case "leaves-processes":
                for way in MEDDLERS:
                    await ran(shell, f"setsid nohup bash -c '{way}' >/dev/null 2>&1 & disown")
            case _:
                await ran(shell, "touch /app/done")
        return "done"

    write_tasks(tmp_path / "hostile")
    agent = ScriptedTerminalAgent(solve)
    environment = {
        "DOCKER_HOST": docker_engine,
        "AGENTBEATS_GREEN_CONTAINERS": "on",
        "AGENTBEATS_GREEN_DATASETS_DIR": str(tmp_path),
    }
    with running_stack(environment=environment) as stack:
        async with serving(agent) as url:
            ended = await run(
                stack.gateway_url, "*", url=url, access="endpoint", dataset="hostile", leave_running="services"
            )
        done = await asyncio.to_thread(
            Sandbox(tmp_path).run,  # `call` would need an event loop of its own
            *("terminal-bench", "run", "--gateway", stack.gateway_url, "--dataset", "hostile", "--agent", "null"),
            *("--task-id", "broken-dockerfile"),
        )
    assert done.returncode == 1
    assert "ls: cannot access '/nowhere'" in done.stderr
    assert says().within(done.stderr)
    results = ended.results
    for trial in results.results:
        print(trial.task_id, trial.is_resolved, trial.failure_mode, trial.blame, trial.failure, sep=" | ")
    assert ended.state == "completed"
    trials = {trial.task_id: trial for trial in results.results}
    said = {name: (trial.is_resolved, trial.failure_mode.value, trial.blame) for name, trial in trials.items()}
    assert said == EXPECTED
    limits = {name: [str(limit) for limit in trial.details.get("limits_reached", [])] for name, trial in trials.items()}  # type: ignore[union-attr]
    assert limits["eats-memory"] == [says()]
    assert limits["fork-bomb"][0].startswith("processes: ")
    assert says("50").within(trials["fills-disk"].failure or "")
    assert [name for name, said in limits.items() if said] == ["eats-memory", "fork-bomb"]
    assert all(trial.tries == 1 for trial in trials.values())
    told = Counter(task.task_id for task in agent.told)
    assert set(told.values()) == {1}, f"somebody was told twice: {told}"
    assert len(found["printed"]) < 100_000
    assert "No such file" in found["early"]
    assert "verdict" not in found["early"], "the tests' script was nowhere to be read"
    assert left_on(docker_engine, results.run_id) == []
