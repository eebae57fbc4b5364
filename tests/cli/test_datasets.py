"""``proctor terminal-bench datasets``: every kind of source, pins, and what bad input is told."""

import io
import json
import re
import shutil
import stat
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from proctor.cli import dataset_sources
from proctor.cli.known_datasets import configured_dataset
from proctor.cli.terminal_settings import DatasetSection
from proctor.common.errors import UsageError
from proctor.terminal.datasets import KnownDatasets, datasets_home
from tests.cli.commands import Sandbox
from tests.sentences import says
from tests.terminal.writing import format_one, format_two

OF_GIT = re.compile(r"(?<=failed \()[^()]+")
OF_PYTHON = re.compile(r"(?<=unpacked: ).+")
"""What Git and Python say, which differs between their versions."""


def call(folder: Path, *words: str) -> tuple[int, str]:
    """A datasets command's exit code, and everything that it prints."""
    done = Sandbox(folder).call("terminal-bench", "datasets", *words, "--state", "state")
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def known(folder: Path) -> KnownDatasets:
    return KnownDatasets(datasets_home(str(folder / "state")))


def tasks(folder: Path) -> Path:
    """A dataset of two tasks, one of each format."""
    format_one(folder / "one")
    format_two(folder / "two")
    return folder


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def repository(folder: Path) -> tuple[str, str]:
    """The URL and the first commit of a repository whose second commit changes a task, in ``sets/small``."""
    tasks(folder / "sets" / "small")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    first = git(folder, "rev-parse", "HEAD")
    with (folder / "sets" / "small" / "two" / "instruction.md").open("a") as instruction:
        instruction.write("And more.\n")
    git(folder, "commit", "--quiet", "-am", "second")
    return f"file://{folder}", first


def test_the_same_tasks_from_every_source_have_one_hash(tmp_path: Path) -> None:
    """A folder, a zip, a tar, and a commit of a repository; a run resolves each by name."""
    url, first = repository(tmp_path / "repo")
    folder = tasks(tmp_path / "folder")
    shutil.make_archive(str(tmp_path / "zipped"), "zip", tmp_path, "folder")
    shutil.make_archive(str(tmp_path / "tarred"), "gztar", folder)
    sources = (
        ("folder", "folder"),
        ("zipped", "zipped.zip"),
        ("tarred", "tarred.tar.gz"),
        ("git", url, "--name", "git", "--commit", first, "--path", "sets/small"),
    )
    for name, *words in sources:
        code, said = call(tmp_path, "add", *words)
        assert code == 0, said
        assert f"{name}@" in said
    found = known(tmp_path).all()
    assert len({dataset.sha256 for dataset in found}) == 1
    assert [sorted(dataset.tasks) for dataset in found] == [["one", "two"]] * 4
    assert {dataset.name: dataset.commit for dataset in found}["git"] == first
    code, said = call(tmp_path, "list")
    assert all(f"{name}@" in said for name, *_ in sources)
    done = Sandbox(tmp_path).call("terminal-bench", "validate", "zipped", "--state", "state")
    assert says().within(done.stdout)
    code, said = call(tmp_path, "show", "zipped")
    assert (found[0].sha256 or "") in said


def test_a_pin_holds_until_it_is_updated(tmp_path: Path) -> None:
    folder = tasks(tmp_path / "mine")
    assert call(tmp_path, "add", "mine")[0] == 0
    before = known(tmp_path).find("mine")
    (folder / "two" / "instruction.md").write_text("Something else.\n")
    code, said = call(tmp_path, "pull", "mine")
    assert code == 2
    assert f"The sha256 of mine@local must be {before.sha256}" in said
    assert "--update" in said
    assert known(tmp_path).find("mine") == before
    assert "Something else" not in (known(tmp_path).folder(before) / "two" / "instruction.md").read_text()
    assert call(tmp_path, "pull", "mine", "--update")[0] == 0
    after = known(tmp_path).find("mine")
    assert after.sha256 != before.sha256
    assert after.tasks["one"] == before.tasks["one"]
    code, said = call(tmp_path, "pull", "mine", "--sha256", "0" * 64)
    assert code == 2
    assert says(part="0" * 64, sha256=after.sha256).within(said)


def test_registries_of_both_harnesses(tmp_path: Path) -> None:
    """Their own fields, with repositories that are here."""
    url, first = repository(tmp_path / "repo")
    row = {"github_url": url, "dataset_path": "./sets/small", "branch": "main", "terminal_bench_version": ">=0.1"}
    (tmp_path / "registry.json").write_text(
        json.dumps(
            [
                {"name": "core", "version": "head", "commit_hash": "head", "task_id_subset": None, **row},
                {"name": "core", "version": "0.1.1", "commit_hash": first, "task_id_subset": ["two"], **row},
            ]
        )
    )
    listed = [
        {"name": "o/two", "git_url": url, "git_commit_id": first, "path": "sets/small/two"},
        {"name": "mine", "path": "local/mine"},
    ]
    (tmp_path / "harbor.json").write_text(
        json.dumps([{"name": "mixed", "version": "1.0", "description": "", "tasks": listed, "metrics": []}])
    )
    format_two(tmp_path / "local" / "mine")
    assert "2 datasets" in call(tmp_path, "add", "registry.json")[1]
    assert "1 datasets" in call(tmp_path, "add", "harbor.json")[1]
    code, said = call(tmp_path, "show", "core@0.1.1")
    assert code == 0
    assert "not pulled" in said
    for label in ("core@0.1.1", "core", "mixed"):
        code, said = call(tmp_path, "pull", label)
        assert code == 0, said
    assert [sorted(dataset.tasks) for dataset in known(tmp_path).all()] == [["two"], ["one", "two"], ["mine", "two"]]
    old, head, mixed = known(tmp_path).all()
    assert (old.version, head.version, head.commit != old.commit == first) == ("0.1.1", "head", True)
    assert mixed.tasks["two"] == old.tasks["two"] != head.tasks["two"]
    assert known(tmp_path).find("core") == head


def test_settings_may_name_a_dataset_of_a_registry(tmp_path: Path) -> None:
    """It is pulled the first time; a folder comes before it."""
    url, first = repository(tmp_path / "repo")
    row = {"github_url": url, "dataset_path": "sets/small", "branch": "main", "terminal_bench_version": ">=0.1"}
    registry = tmp_path / "registry.json"
    registry.write_text(json.dumps([{"name": "core", "version": "0.1.1", "commit_hash": first, **row}]))
    state = str(tmp_path / "state")
    chosen = DatasetSection(name="core", version="0.1.1", registry=str(registry))
    assert configured_dataset(chosen, state) == "core@0.1.1"
    assert sorted(known(tmp_path).find("core").tasks) == ["one", "two"]
    shutil.rmtree(tmp_path / "repo")
    assert configured_dataset(chosen, state) == "core@0.1.1"
    assert configured_dataset(chosen.model_copy(update={"path": "tasks"}), state) == "tasks"
    with pytest.raises(UsageError, check=says("dataset.version", "0.1.1")):
        configured_dataset(chosen.model_copy(update={"version": "9"}), state)


def test_tasks_that_a_dataset_has_as_archives(tmp_path: Path) -> None:
    tasks(tmp_path / "plain")
    (tmp_path / "set").mkdir()
    shutil.make_archive(str(tmp_path / "set" / "two"), "zip", tmp_path / "plain", "two")
    assert call(tmp_path, "add", "set")[0] == 0
    assert call(tmp_path, "add", "plain")[0] == 0
    assert known(tmp_path).find("set").tasks["two"] == known(tmp_path).find("plain").tasks["two"]


def bad_tar(path: Path, name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> None:
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, link
        archive.addfile(member, io.BytesIO())


def bad_zip(path: Path, name: str, mode: int = stat.S_IFREG | 0o644) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        member = zipfile.ZipInfo(name)
        member.external_attr = mode << 16
        archive.writestr(member, "/etc/passwd")


def test_archives_that_reach_out_of_their_folder(tmp_path: Path) -> None:
    bad_tar(tmp_path / "up.tar", "../../out")
    bad_tar(tmp_path / "root.tar", "/out")
    bad_tar(tmp_path / "link.tar", "one/link", tarfile.SYMTYPE, "/etc")
    bad_tar(tmp_path / "hard.tar", "one/hard", tarfile.LNKTYPE, "one/task.yaml")
    bad_tar(tmp_path / "device.tar", "one/device", tarfile.CHRTYPE)
    bad_zip(tmp_path / "up.zip", "one/../../out")
    bad_zip(tmp_path / "windows.zip", "C:\\out")
    bad_zip(tmp_path / "link.zip", "one/link", stat.S_IFLNK | 0o777)
    (tmp_path / "none.zip").write_text("no archive")
    for name, entry in {
        "up.tar": '"../../out"',
        "root.tar": '"/out"',
        "link.tar": '"one/link"',
        "hard.tar": '"one/hard"',
        "device.tar": '"one/device"',
        "up.zip": '"one/../../out"',
        "windows.zip": "out",
        "link.zip": '"one/link"',
        "none.zip": "none.zip",
    }.items():
        code, said = call(tmp_path, "add", name)
        assert code == 2, name
        assert said == says(entry, why=OF_PYTHON), name
    assert not list(tmp_path.rglob("out"))


def test_a_repository_cannot_name_tasks_outside_of_it(tmp_path: Path) -> None:
    url, _ = repository(tmp_path / "repo")
    format_one(tmp_path / "private")
    (tmp_path / "repo" / "sets" / "small" / "three").symlink_to(tmp_path / "private")
    git(tmp_path / "repo", "add", ".")
    git(tmp_path / "repo", "commit", "--quiet", "-m", "a link")
    code, said = call(tmp_path, "add", url, "--path", "sets/small")
    assert code == 2
    assert "The task three in" in said
    tasks = [{"name": "three", "git_url": url, "path": "sets/small/three"}]
    (tmp_path / "harbor.json").write_text(json.dumps([{"name": "h", "version": "1", "tasks": tasks}]))
    assert call(tmp_path, "add", "harbor.json")[0] == 0
    code, said = call(tmp_path, "pull", "h")
    assert code == 2
    assert says().within(said)


def test_an_archive_that_grows_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_sources, "MOST_BYTES", 100_000)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one/zeros", bytes(1_000_000))
    code, said = call(tmp_path, "add", "bomb.zip")
    assert code == 2
    assert says("500,000", "100,000").within(said)


def test_bad_input_is_named(tmp_path: Path) -> None:
    """Field, value and remedy, and exit code 2."""
    url, _ = repository(tmp_path / "repo")
    tasks(tmp_path / "mine")
    (tmp_path / "empty").mkdir()
    row = {"name": "core", "version": "1", "github_url": url, "dataset_path": "sets/small", "branch": "main"}
    full = {**row, "commit_hash": "head"}
    registries = {
        "fields.json": [row],
        "kind.json": {"datasets": []},
        "harbor.json": [{"name": "x", "version": "1", "tasks": [{"name": "t"}]}],
        "odd.json": [{**full, "name": "../x"}],
        "subset.json": [{**full, "name": "subset", "task_id_subset": ["three"]}],
        "place.json": [{**full, "name": "place", "dataset_path": "nowhere"}],
        "out.json": [{**full, "name": "out", "dataset_path": "../.."}],
        "branch.json": [{**full, "name": "branch", "commit_hash": "abcdef"}],
    }
    for name, content in registries.items():
        (tmp_path / name).write_text(json.dumps(content))
    for name in ("subset", "place", "out", "branch"):
        assert call(tmp_path, "add", f"{name}.json")[0] == 0
    for words, fact in {
        ("add", "missing"): "registry.json",
        ("add", "missing.zip"): "missing.zip",
        ("add", "missing.json"): "missing.json",
        ("add", "empty"): '"."',
        ("add", "repo"): "sets/small",
        ("add", "mine", "--path", ".."): '".."',
        ("add", "mine", "--sha256", "12"): "--sha256",
        ("add", "mine", "--name", "a/b"): '"a/b"',
        ("add", "mine", "--name", "pinned", "--sha256", "0" * 64): "pinned",
        ("add", "fields.json"): "commit_hash",
        ("add", "fields.json", "--name", "x"): "--name",
        ("add", "kind.json"): '{"datasets": []}',
        ("add", "harbor.json"): "tasks[0].path",
        ("add", "odd.json"): '"../x"',
        ("add", f"file://{tmp_path}/none"): "git clone",
        ("add", url, "--commit", "nope"): '"nope"',
        ("pull", "subset"): "task_id_subset",
        ("pull", "place"): '["nowhere"]',
        ("pull", "out"): '"../.."',
        ("pull", "branch"): '"abcdef"',
        ("pull", "nothing"): '"nothing"',
        ("show", "core@2"): '"core@2"',
    }.items():
        code, said = call(tmp_path, *words)
        assert code == 2, words
        assert said == says(fact, tmp_path=tmp_path, git=OF_GIT), words
    done = Sandbox(tmp_path).call("terminal-bench", "run", "--dataset", "subset", "--agent", "null", "--state", "state")
    assert done.returncode == 2
    assert "datasets pull subset@1" in " ".join(done.stderr.split())
