"""The rule by which a change of an agent's stays behind when its tests run in a fresh container."""

from pathlib import Path

import pytest

from proctor.terminal.agent_changes import Change, ImageCommands, TaskTexts, held_back
from proctor.terminal.process_needs import state_need
from proctor.terminal.tasks import load_task
from tests.terminal.writing import format_two

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
        ("/app/packaging", "added", _task(), False),
        ("/app/json.cpython-311-x86_64-linux-gnu.so", "added", _task(), True),
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


def test_a_folder_that_python_imports_in_place_of_a_module_stays_behind() -> None:
    changes = [
        Change(path=path, kind="added")
        for path in ("/app/json", "/app/json/__init__.py", "/app/packaging", "/app/packaging/box.txt", "/app/attr")
    ]
    assert set(held_back(changes, _task(), IMAGE, {})) == {"/app/json"}


@pytest.mark.parametrize(
    ("tests", "place"),
    [
        ("assert 'db' in open('/etc/hosts').read()", '"/etc/hosts"'),
        ("assert os.path.exists('/dev/shm/x')", '"/dev/shm"'),
        ("subprocess.run(['iptables', '-L'])", '"iptables"'),
        ("# as /etc/hosts\nassert open('/app/hosts').read()", None),
    ],
)
def test_tests_that_look_for_what_no_copy_of_files_has_run_in_the_agents_container(
    tmp_path: Path, tests: str, place: str | None
) -> None:
    task = load_task(format_two(tmp_path / "task"))
    said = state_need(task, _task(tests=tests))
    assert said is None if place is None else place in (said or "")
