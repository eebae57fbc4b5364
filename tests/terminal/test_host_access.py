"""What tasks get of the host: their own files, copied for each trial. Anything else needs the operator's permission."""

import asyncio
import shutil
from functools import partial
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from proctor.terminal import compose, environments, shell
from proctor.terminal.copying import copy_out
from proctor.terminal.engine import labelled
from proctor.terminal.failures import TaskError
from proctor.terminal.task_files import TaskFolders, packed
from proctor.terminal.tasks import find_problems, load_task
from tests.sentences import says
from tests.terminal.conftest import Trials
from tests.terminal.writing import COMPOSE, format_one, format_two

MOUNTED = COMPOSE + "      - ./:/app\n      - ./settings.json:/etc/settings.json:ro\n"
SCRIPT = """verdict=FAILED
test -f /app/done && test -f /app/tests/test_outputs.py && verdict=PASSED
echo "=== short test summary info ==="
echo "$verdict ../t.py::t"
"""


def asking(**settings: str) -> str:
    """A compose file whose service has further settings, each on a line of its own from line 14 on."""
    return COMPOSE + "".join(f"    {key}: {value}\n" for key, value in settings.items())


@pytest.mark.parametrize(
    ("compose", "line", "place", "name"),
    [
        (asking(privileged="true"), 14, "services.client.privileged", "privileged"),
        (asking(pid="host"), 14, "services.client.pid", "host-pid"),
        (asking(network_mode="host"), 14, "services.client.network_mode", "host-network"),
        (asking(network_mode="container:other"), 14, "services.client.network_mode", "host-network"),
        (asking(ipc="host"), 14, "services.client.ipc", "host-ipc"),
        (asking(cap_add="[SYS_ADMIN]"), 14, "services.client.cap_add", "capabilities"),
        (asking(devices='["/dev/sda:/dev/sda"]'), 14, "services.client.devices", "devices"),
        (asking(security_opt='["seccomp:unconfined"]'), 14, "services.client.security_opt", "security-options"),
        (asking(sysctls='{"kernel.shm_rmid_forced": 1}'), 14, "services.client.sysctls", "kernel-settings"),
        (asking(volumes_from="[container:x]"), 14, "services.client.volumes_from", "host-mounts"),
        (asking(env_file="/etc/environment"), 14, "services.client.env_file", "host-files"),
        (COMPOSE + "      - /etc:/host\n", 14, "services.client.volumes.2", "host-mounts"),
        (COMPOSE + "      - ../:/up\n", 14, "services.client.volumes.2", "host-mounts"),
        (COMPOSE + "      - ~/.ssh:/keys:ro\n", 14, "services.client.volumes.2", "host-mounts"),
        (COMPOSE + "      - {type: bind, source: /root, target: /r}\n", 14, "services.client.volumes.2", "host-mounts"),
        (COMPOSE + "      - /var/run/docker.sock:/s\n", 14, "services.client.volumes.2", "engine-socket"),
        (
            COMPOSE + "volumes:\n  all:\n    driver_opts: {type: none, o: bind, device: /}\n",
            16,
            "volumes.all.driver_opts",
            "host-mounts",
        ),
        (COMPOSE + "secrets:\n  shadow:\n    file: /etc/shadow\n", 16, "secrets.shadow.file", "host-files"),
    ],
)
def test_access_to_the_host_is_refused_with_its_line_unless_it_is_allowed(
    tmp_path: Path, compose: str, line: int, place: str, name: str
) -> None:
    folder = format_one(tmp_path / "greedy", {"docker-compose.yaml": compose})
    [fatal] = [problem.sentence for problem in find_problems(folder) if problem.is_fatal]
    assert fatal.startswith(f"docker-compose.yaml line {line}: {place} is ")
    assert fatal.endswith(f"or allow {name} in AGENTBEATS_GREEN_CONTAINERS_ALLOW")
    assert [problem for problem in find_problems(folder, None, {name}) if problem.is_fatal] == []
    with pytest.raises(TaskError, check=says()):
        load_task(folder)


def test_the_second_format_is_held_to_the_same(tmp_path: Path) -> None:
    compose = "services:\n  main:\n    privileged: true\n"
    folder = format_two(tmp_path / "greedy", {"environment/docker-compose.yaml": compose})
    assert "environment/docker-compose.yaml line 3: services.main.privileged" in find_problems(folder)[0].sentence


def test_a_link_in_the_tasks_folder_leads_nowhere(tmp_path: Path) -> None:
    folder = format_one(tmp_path / "linked", {"docker-compose.yaml": COMPOSE + "      - ./out:/out\n"})
    (folder / "out").symlink_to("/etc")
    assert any("allow host-mounts" in problem.sentence for problem in find_problems(folder))


def test_names_that_cannot_be_allowed_are_refused() -> None:
    assert GreenAgentConfig(containers_allow="privileged, devices").containers_allow == "privileged, devices"
    with pytest.raises(ValueError, check=says("everything")):
        GreenAgentConfig(containers_allow="everything")


async def test_files_that_were_changed_on_the_workers_disk_are_unpacked_again(tmp_path: Path) -> None:
    folder = format_one(tmp_path / "task")
    store = BlobStore(str(tmp_path / "store"))
    ref = await store.put(packed(folder))
    folders = TaskFolders(store)
    ours = await folders.checked_folder("task", ref)
    test = ours / "tests" / "test_outputs.py"
    original = test.read_bytes()
    for change in (partial(test.write_text, "forged"), test.unlink, (ours / "conftest.py").touch):
        change()
        assert (await folders.checked_folder("task", ref) / "tests" / "test_outputs.py").read_bytes() == original
        assert not (ours / "conftest.py").exists()
    folders.close()


async def test_each_trial_has_its_own_copy_of_what_a_task_mounts(trials: Trials, tmp_path: Path) -> None:
    """All 599 tasks of livecodebenchpro mount their folder. No trial may see or change what another one wrote."""
    files = {"docker-compose.yaml": MOUNTED, "run-tests.sh": SCRIPT, "settings.json": '{"a": 1}'}
    folder = format_one(tmp_path / "mounted", files)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    remarks = [problem.sentence for problem in find_problems(folder)]
    assert says("compose.yaml", "services.client").within(remarks[0])

    first = await trials.of(folder, "first")
    seen = (await first.act("ls -A /app; cat /etc/settings.json")).output.split()
    assert {"Dockerfile", "task.yaml"} <= set(seen)
    assert not {"tests", "solution.sh", "run-tests.sh"} & set(seen)
    assert '{"a":' in seen
    await first.act(
        "mkdir /app/tests; echo forged > /app/tests/test_outputs.py; echo forged > /app/run-tests.sh; touch /app/done"
    )
    solved = await first.test()
    assert solved.is_resolved, solved.log
    tests = await copy_out(trials.engine, first.ref, "/app/tests")
    assert tests == {"test_outputs.py": (folder / "tests/test_outputs.py").read_bytes()}

    second = await trials.of(folder, "second")
    assert (await second.act("ls /app/done /app/tests")).exit_code != 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    for trial in (first, second):
        await environments.remove(trials.engine, trials.run, trial.name)
        left = await trials.engine.ask("GET", "volumes", {"filters": labelled(trials.run, trial.name)})
        assert not left["Volumes"]


async def test_tasks_that_ask_at_once_how_compose_is_called_get_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(*_: object) -> object:
        await asyncio.sleep(0)
        return MagicMock(exit_code=0)

    monkeypatch.setattr(shell, "run", run)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(compose, "_known", [])
    asked = await asyncio.gather(*(compose._command("unix:///docker.sock") for _ in range(3)))
    assert asked == [["docker", "compose"]] * 3
