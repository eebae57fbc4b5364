"""The files of a dataset, from a folder, an archive or a git repository.

Archives aren't trusted: only plain files and folders are unpacked, and only below the target folder.
"""

import os
import shutil
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO

from proctor.common.errors import CommandError, UsageError
from proctor.terminal.datasets import DatasetSource
from proctor.terminal.failures import TaskError
from proctor.terminal.task_model import TaskFormat
from proctor.terminal.tasks import find_tasks
from purple_sdk.protocol.problems import show_value

MOST_FILES, MOST_BYTES = 500_000, 16 * 1024**3
"""The limits of an archive's unpacked content."""

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")

_TASK_ZIP_PASSWORD = b"TERMINAL-BENCH-ADAPTED-DATASET"
"""The public password of zipped tasks in terminal-bench's datasets, which keeps crawlers from reading the tasks."""

_GIT_SECONDS = 3_600
_LAST_LINES = 3
_CHUNK = 1024 * 1024


@dataclass(frozen=True)
class FetchedDataset:
    """Folders of tasks, and the commit that they come from, if they come from a single one."""

    tasks: Sequence[Path]
    commit: str | None = None


@dataclass
class _Budget:
    files: int = field(default_factory=lambda: MOST_FILES)
    bytes: int = field(default_factory=lambda: MOST_BYTES)


@contextmanager
def fetched(source: DatasetSource) -> Iterator[FetchedDataset]:
    """The tasks of a source, as folders that exist until the context ends."""
    with TemporaryDirectory(prefix="proctor-dataset-") as name:
        folder, commit = Path(name), None
        match source.kind:
            case "tasks":
                yield FetchedDataset(_listed_tasks(source, folder))
                return
            case "git":
                commit = _check_out(source.location, source.commit or source.branch, [source.path], folder / "files")
                where = folder / "files"
            case "archive":
                where = folder / "files"
                unpack(Path(source.location), where)
            case _:
                where = Path(source.location)
                if not where.is_dir():
                    raise UsageError(f"The folder {source.location} does not exist: name a folder of tasks")
        yield FetchedDataset(_tasks_below(source, where, folder / "zipped"), commit)


def unpack(archive: Path, target: Path, password: bytes | None = None) -> None:
    """Write the plain files and folders of a zip or tar archive into a folder.

    Args:
        target: the folder, which is made.

    Raises:
        UsageError: the file isn't a zip or tar archive, or has a link, a device, or a path out of the folder.
    """
    target.mkdir(parents=True)
    budget = _Budget()
    try:
        if zipfile.is_zipfile(archive):
            _unpack_zip(archive, target, budget, password)
        else:
            _unpack_tar(archive, target, budget)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
        raise UsageError(f"The archive {archive} can't be unpacked: {error}. Name a zip or tar archive") from None
    except OSError as error:
        raise UsageError(f"The archive {archive} can't be unpacked: {error}. Look at file and disk") from None


def _unpack_zip(archive: Path, target: Path, budget: _Budget, password: bytes | None) -> None:
    with zipfile.ZipFile(archive) as content:
        for member in content.infolist():
            mode = member.external_attr >> 16
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _refused(archive, member.filename, "a link or a device")
            place = _place(archive, member.filename, target)
            if member.is_dir():
                place.mkdir(parents=True, exist_ok=True)
                continue
            with content.open(member, pwd=password) as file:
                _write(archive, file, place, budget, is_program=bool(mode & 0o111))


def _unpack_tar(archive: Path, target: Path, budget: _Budget) -> None:
    with tarfile.open(archive) as content:
        for member in content:
            if not (member.isfile() or member.isdir()):
                kind = f"a link to {show_value(member.linkname)}" if member.linkname else "a device or a pipe"
                raise _refused(archive, member.name, kind)
            place = _place(archive, member.name, target)
            if member.isdir():
                place.mkdir(parents=True, exist_ok=True)
                continue
            file = content.extractfile(member)
            assert file is not None
            _write(archive, file, place, budget, is_program=bool(member.mode & 0o111))


def _place(archive: Path, name: str, target: Path) -> Path:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0]:
        raise _refused(archive, name, "a path that leads out of the folder")
    return target.joinpath(*path.parts)


def _refused(archive: Path, name: str, kind: str) -> UsageError:
    return UsageError(
        f"The archive {archive} has {show_value(name)}, {kind}: only plain files and folders are taken. Pack it again "
        "with the files that links lead to (tar --dereference), or add the folder or the git repository"
    )


def _write(archive: Path, file: IO[bytes], place: Path, budget: _Budget, *, is_program: bool) -> None:
    budget.files -= 1
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as out:
        while chunk := file.read(_CHUNK):
            budget.bytes -= len(chunk)
            if budget.files < 0 or budget.bytes < 0:
                raise UsageError(
                    f"The archive {archive} has more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes: add parts of it"
                )
            out.write(chunk)
    place.chmod(0o755 if is_program else 0o644)


def _tasks_below(source: DatasetSource, where: Path, unzipped: Path) -> list[Path]:
    root = where.resolve()
    folder = (root / source.path).resolve()
    if not folder.is_relative_to(root):
        raise UsageError(f"The path {show_value(source.path)} leads out of {source.location}: name a folder below it")
    if not folder.is_dir():
        raise UsageError(f"There is no folder {show_value(source.path)} in {source.location}: name one with --path")
    if not source.path:
        folder = _only_folder(folder)
    try:
        tasks = find_tasks(folder)
    except TaskError:
        tasks = []
    tasks += [candidate for candidate in _unzipped(folder, unzipped) if _is_task(candidate)]
    if not tasks:
        places = sorted({str(task.parent.relative_to(root)) for task in _some_tasks(root)})[:5]
        hint = f"tasks are in {', '.join(places)}: name one with --path" if places else "name a folder of tasks"
        raise UsageError(f"{source.location} has no task in {show_value(source.path or '.')}: {hint}")
    if source.kind == "git" and (linked := next((task for task in tasks if task.is_symlink()), None)):
        raise UsageError(f"The task {linked.name} in {source.location} is a link: put the task's folder there")
    if source.task_ids is None:
        return tasks
    by_name = {task.name: task for task in tasks}
    if missing := [name for name in source.task_ids if name not in by_name]:
        raise UsageError(
            f"task_id_subset names {show_value(missing[:5])}, and {source.location} has no such task in "
            f"{show_value(source.path)}: correct the registry's entry"
        )
    return [by_name[name] for name in dict.fromkeys(source.task_ids)]


def _only_folder(folder: Path) -> Path:
    """The only folder inside, unless it is a task; otherwise the folder itself.

    Archives often have a folder around their content.
    """
    entries = [path for path in folder.iterdir() if not path.name.startswith(".")]
    is_wrapped = len(entries) == 1 and entries[0].is_dir() and not _is_task(entries[0])
    return entries[0] if is_wrapped else folder


def _is_task(folder: Path) -> bool:
    return folder.is_dir() and any((folder / file).exists() for file in TaskFormat)


def _some_tasks(root: Path) -> Iterator[Path]:
    for number, (at, folders, files) in enumerate(os.walk(root)):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        if any(str(file) in files for file in TaskFormat):
            folders.clear()
            yield Path(at)
        if number > MOST_FILES:
            return


def _unzipped(folder: Path, target: Path) -> list[Path]:
    for archive in sorted(folder.glob("*.zip")):
        if zipfile.is_zipfile(archive) and not archive.is_symlink():
            unpack(archive, target / archive.stem, _TASK_ZIP_PASSWORD)
    return [_only_task(path) for path in sorted(target.iterdir())] if target.is_dir() else []


def _only_task(folder: Path) -> Path:
    inner = folder / folder.name
    return inner if _is_task(inner) else folder


def _listed_tasks(source: DatasetSource, folder: Path) -> list[Path]:
    """The tasks of a source that lists the place of each task. Each commit of a repository is fetched once."""
    places: list[Path] = []
    checkouts: dict[tuple[str, str | None], Path] = {}
    for task in source.tasks:
        if task.git_url is None:
            root, place = Path(task.path).parent, Path(task.path)
        else:
            key = (task.git_url, task.commit)
            if key not in checkouts:
                checkouts[key] = folder / str(len(checkouts))
                paths = [entry.path for entry in source.tasks if (entry.git_url, entry.commit) == key]
                _check_out(task.git_url, task.commit, paths, checkouts[key])
            root = checkouts[key].resolve()
            place = (root / task.path).resolve()
        if not place.is_relative_to(root) or not _is_task(place):
            raise UsageError(
                f"The registry's entry names {show_value(task.path)}{f' in {task.git_url}' if task.git_url else ''}, "
                "and no task is there (a folder with task.toml or task.yaml): correct its path"
            )
        places.append(place)
    return places


def _check_out(url: str, revision: str | None, paths: Sequence[str], target: Path) -> str:
    """Check out paths of a git repository, without its history. Return the commit."""
    if shutil.which("git") is None:
        raise CommandError("git is not installed: install it, or add the dataset as a folder or an archive")
    _git(["clone", "--quiet", "--no-checkout", "--filter=blob:none", "--", url, str(target)], url)
    name = revision or "HEAD"
    commit = None
    for reference in (f"refs/remotes/origin/{name}", name):
        try:
            commit = _git(
                ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}"], url, target
            )
            break
        except UsageError:
            continue
    if commit is None:
        raise UsageError(f"{url} has no branch, tag or commit {show_value(name)}: name one that it has")
    for path in paths:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise UsageError(f"The path {show_value(path)} leads out of {url}: name a folder below it")
    try:
        _git(["checkout", "--quiet", commit, "--", *(path or "." for path in dict.fromkeys(paths))], url, target)
    except UsageError as error:
        raise UsageError(f"{error}; is the path {show_value(list(paths)[:3])} right?") from None
    shutil.rmtree(target / ".git")
    return commit


def _git(words: Sequence[str], url: str, folder: Path | None = None) -> str:
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")}
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            env={**os.environ, **quiet},
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {words[0]} of {url} took more than {_GIT_SECONDS} s: fetch it by other means") from None
    if done.returncode:
        output = " ".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        raise UsageError(f"git {words[0]} of {url} failed ({output}): look at address, branch and your access")
    return done.stdout.strip()
