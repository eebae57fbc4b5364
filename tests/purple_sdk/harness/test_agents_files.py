"""The harness works in folders of the CLI agent's without following what it left there, whatever that is."""

import ast
import inspect
import os
import resource
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import purple_sdk.harness
from purple_sdk.harness import agents_files
from purple_sdk.harness.declared import HarnessError
from purple_sdk.harness.folders import Folders
from tests.sentences import says

HARNESS = Path(purple_sdk.harness.__file__).parent
TOUCHES_FILES = {
    *("open", "read_text", "read_bytes", "write_text", "write_bytes", "touch", "unlink", "rmdir", "symlink_to"),
    *("hardlink_to", "chmod", "copyfile", "copytree", "rmtree", "move", "makedirs", "truncate", "listdir"),
    *("TemporaryDirectory", "mkdtemp"),
}
ALLOWED = {
    "agents_files.py": TOUCHES_FILES,
    "acp_client.py": {"read_text", "write_text"},  # runs in the CLI agent's confinement
    "launcher.py": {"open"},  # the null device
    "declared.py": {"read_text"},  # its own templates
    "prompts.py": {"read_text"},
    "clis/acp.py": {"read_text"},
    "folders.py": {"read_text"},  # /proc
}


def _calls(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Call):
            function = node.func
            yield function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def test_no_other_module_of_the_harness_touches_files() -> None:
    found = {}
    for module in (*HARNESS.rglob("*.py"), *HARNESS.parents[1].glob("proctor/*/harness_*.py")):
        name = module.relative_to(HARNESS if module.is_relative_to(HARNESS) else HARNESS.parents[1]).as_posix()
        calls = TOUCHES_FILES.intersection(_calls(module)) - ALLOWED.get(name, set())
        if calls:
            found[name] = calls
    assert found == {}, "work on files by purple_sdk.harness.agents_files, which follows no link"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "config.toml").write_text("the user's own")
    return tmp_path / "home"


def _leave_a_link(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").symlink_to(home.parent / "outside" / "config.toml")


def _leave_a_link_to_the_folder(home: Path) -> None:
    (home / ".codex").symlink_to(home.parent / "outside")


def _leave_a_pipe(home: Path) -> None:
    (home / ".codex").mkdir()
    os.mkfifo(home / ".codex" / "config.toml")


def _leave_a_hard_link(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").hardlink_to(home.parent / "outside" / "config.toml")


def _leave_a_folder(home: Path) -> None:
    (home / ".codex" / "config.toml" / "more").mkdir(parents=True)


def _leave_a_file(home: Path) -> None:
    os.mkfifo(home / ".codex")


@pytest.mark.parametrize(
    "leave",
    [
        *(_leave_a_link, _leave_a_link_to_the_folder, _leave_a_pipe, _leave_a_hard_link, _leave_a_folder),
        _leave_a_file,
    ],
)
def test_a_configuration_is_written_whatever_is_in_its_way(leave: object, home: Path) -> None:
    leave(home)  # type: ignore[operator]
    agents_files.write(home, ".codex/config.toml", "ours")
    file = home / ".codex" / "config.toml"
    assert file.read_text() == "ours"
    assert not file.is_symlink()
    assert not file.parent.is_symlink()
    assert os.listdir(file.parent) == ["config.toml"]
    assert (home.parent / "outside" / "config.toml").read_text() == "the user's own"


def test_a_result_is_read_only_if_it_is_a_plain_file_that_is_not_too_long(home: Path) -> None:
    (home.parent / "outside" / "short").write_text("x")
    (home / "link").symlink_to(home.parent / "outside" / "short")
    (home / "device").symlink_to("/dev/zero")
    os.mkfifo(home / "pipe")
    (home / "long").write_text("x" * 11)
    (home / "folder").mkdir()
    (home / "good").write_bytes(b"caf\xe9")
    already = os.listdir("/dev/fd")
    for name in ("link", "device", "pipe", "long", "folder", "missing"):
        with pytest.raises((OSError, ValueError)):
            agents_files.read(home, name, most=10)
    assert os.listdir("/dev/fd") == already
    assert agents_files.read(home, "good", most=10) == "caf\ufffd"


def test_a_copy_has_all_but_special_files(home: Path, tmp_path: Path) -> None:
    os.mkfifo(home / "pipe")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(home / "socket"))
    (home / "link").symlink_to(home.parent / "outside")
    (home / "sparse").touch()
    os.truncate(home / "sparse", 10**12)
    with (home / "sparse").open("r+b") as file:
        file.seek(10**11)
        file.write(b"in the middle")
    (home / os.fsdecode(b"caf\xe9")).write_text("a name that is not UTF-8")
    (home / "closed").mkdir()
    (home / "closed" / "file").write_text("x")
    (home / "closed" / "file").chmod(0o4755)
    os.utime(home / "closed" / "file", (1, 2))
    (home / "closed").chmod(0)

    left_out = agents_files.copy(home, tmp_path / "copy")
    assert (left_out.files, sorted(left_out.names)) == (2, ["pipe", "socket"])
    copied = tmp_path / "copy"
    assert os.readlink(copied / "link") == str(home.parent / "outside")
    assert (copied / os.fsdecode(b"caf\xe9")).read_text() == "a name that is not UTF-8"
    sparse = (copied / "sparse").stat()
    assert (sparse.st_size, sparse.st_blocks * 512 < 10**6) == (10**12, True)
    with (copied / "sparse").open("rb") as file:
        file.seek(10**11)
        assert file.read(14) == b"in the middle\0"
    assert stat.S_IMODE((copied / "closed").stat().st_mode) == 0
    (copied / "closed").chmod(0o700)
    about = (copied / "closed" / "file").stat()
    assert (stat.S_IMODE(about.st_mode), about.st_mtime) == (0o755, 2)


@pytest.mark.parametrize("bound", ["MOST_BYTES", "MOST_FILES", "MOST_DEPTH"])
def test_a_home_that_is_too_large_is_the_cli_agents_failure(
    bound: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "a" / "b" / "c").mkdir(parents=True)
    (home / "a" / "file").write_text("12345")
    monkeypatch.setattr(agents_files, bound, 1)
    with pytest.raises(HarnessError, check=says()):
        agents_files.copy(home, tmp_path / "copy")


def test_a_folder_of_any_depth_is_removed_and_nothing_outside(home: Path) -> None:
    (home / "link").symlink_to(home.parent / "outside")
    at = os.open(home, os.O_RDONLY)
    for _ in range(120):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.symlink(home.parent / "outside", "link", dir_fd=below)
        os.close(at)
        at = below
    os.fchmod(at, 0)
    os.close(at)
    most_frames, most_open = sys.getrecursionlimit(), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, most_open[1]))
    sys.setrecursionlimit(len(inspect.stack()) + 80)
    try:
        agents_files.remove(home)
    finally:
        sys.setrecursionlimit(most_frames)
        resource.setrlimit(resource.RLIMIT_NOFILE, most_open)
    assert os.listdir(home.parent) == ["outside"]
    assert os.listdir(home.parent / "outside") == ["config.toml"]


@pytest.fixture
def temporary_place() -> Iterator[Path]:
    """A folder for temporary files of a user that isn't root, as whom the test goes on."""
    is_root = os.geteuid() == 0
    place = Path(tempfile.mkdtemp(dir="/tmp" if is_root else None))
    if is_root:
        os.chown(place, 12345, -1)
        os.seteuid(12345)
    try:
        yield place
    finally:
        if is_root:
            os.seteuid(0)
        agents_files.remove(place)


def test_a_temporary_folder_goes_and_what_links_in_it_lead_to_stays_as_it_was(
    temporary_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary_place))
    victim = temporary_place / "victim"
    victim.touch(0o444)
    with agents_files.temporary_folder("proctor-test-") as folder:
        closed = folder / "closed"
        closed.mkdir()
        (closed / "link").symlink_to(victim)
        closed.chmod(0o500)
        (folder / "shut").mkdir(mode=0)
    assert list(temporary_place.iterdir()) == [victim]
    assert stat.S_IMODE(victim.stat().st_mode) == 0o444


def test_only_some_of_what_a_copy_leaves_out_is_kept_in_mind(home: Path, tmp_path: Path) -> None:
    (home / ("d" * 250)).mkdir()
    for number in range(9):
        os.mkfifo(home / ("d" * 250) / f"{number}")
    left_out = agents_files.copy(home, tmp_path / "copy")
    assert (left_out.files, left_out.names) == (9, ["d" * 200] * 5)


def test_special_files_in_a_home_are_no_fault_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folders = Folders(tmp_path, "one")
    folders.go_to(1)
    os.mkfifo(folders.home / os.fsdecode(b"caf\xe9"))
    (folders.home / "kept").write_text("x")
    folders.complete(1, "session")
    folders.go_to(2)
    assert says().within(caplog.text)
    folders.go_to(2)
    assert (os.listdir(folders.home), folders.session) == (["kept"], "session")
