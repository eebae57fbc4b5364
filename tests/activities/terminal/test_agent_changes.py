"""The rule by which a change of an agent's stays behind when its tests run in a fresh container."""

import pytest

from activities.terminal.agent_changes import Change, ImageCommands, TaskTexts, held_back

IMAGE = ImageCommands(
    folders=frozenset(["/usr/local/bin", "/usr/bin"]),
    names=frozenset(["bash", "python3", "grep", "report"]),
    real=frozenset(["/usr/bin/bash", "/usr/bin/python3.11"]),
)


def _task(instruction: str = "", solution: str = "", tests: str = "python3 -m pytest /tests/test_x.py") -> TaskTexts:
    return TaskTexts(
        script=tests,
        tests=f"{tests}\nimport pytest\nimport requests\n",
        instruction=instruction,
        solution=solution,
        folders=frozenset(["/app"]),
        modules=frozenset(["pytest", "requests"]),
    )


@pytest.mark.parametrize(
    ("path", "kind", "task", "is_held"),
    [
        ("/usr/bin/python3.11", "modified", _task(), True),
        ("/usr/local/bin/python3", "added", _task("Install python3 as /usr/local/bin/python3"), True),
        ("/usr/bin/grep", "modified", _task(), True),
        ("/usr/bin/report", "modified", _task(), True),
        ("/usr/bin/report", "modified", _task("Mend the command report."), False),
        ("/usr/local/bin/mine", "added", _task(), False),
        ("/etc/ld.so.preload", "added", _task(), True),
        ("/etc/ld.so.preload", "added", _task(solution="echo /x.so > /etc/ld.so.preload"), True),
        ("/etc/ld.so.preload", "added", _task("Preload /x.so with /etc/ld.so.preload"), False),
        ("/conftest.py", "added", _task("Write /app/conftest.py"), True),
        ("/app/conftest.py", "added", _task("Write /app/conftest.py"), False),
        ("/app/pytest.py", "added", _task("Write /app/main.py"), True),
        ("/app/main.py", "added", _task(), False),
        ("/usr/lib/python3.11/json/__init__.py", "modified", _task(), True),
        ("/usr/lib/python3.11/sitecustomize.py", "added", _task(), True),
        ("/usr/lib/python3/dist-packages/requests/api.py", "modified", _task(), True),
        ("/usr/lib/python3/dist-packages/requests/api.py", "modified", _task("Mend requests."), False),
        ("/usr/lib/python3/dist-packages/pluggy/hooks.py", "modified", _task("Mend pluggy."), True),
        ("/root/.bashrc", "modified", _task(), False),
        ("/root/.bashrc", "modified", _task(tests="bash -lc pytest"), True),
    ],
)
def test_what_could_move_a_verdict_stays_behind(path: str, kind: str, task: TaskTexts, is_held: bool) -> None:
    held = held_back([Change.model_validate({"path": path, "kind": kind})], task, IMAGE, {})
    assert (path in held) == is_held, held
