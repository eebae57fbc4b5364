"""Pack build contexts, which are the files that an engine gets to build an image."""

import hashlib
import io
import os
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

from proctor.terminal.dockerfiles import SECRET, copied, instructions
from proctor.terminal.engine import RUN
from proctor.terminal.task_model import Build

_IN_MEMORY = 20_000_000


def pack(build: Build, is_secret_left_out: bool) -> tuple[IO[bytes], str]:
    """Pack a build's context as a tar file. Returns the file and the hash for the image's name.

    Equal contexts give equal files.

    Args:
        is_secret_left_out: whether to leave out tests and solution, unless the Dockerfile copies them by name. In the
            first format, the context has them, and ``COPY . .`` would show them to the agent.
    """
    text = (build.context / build.dockerfile).read_text(errors="replace")
    left_out = {name for name in SECRET if name not in copied(text)} if is_secret_left_out else set[str]()
    is_ignored = _ignored(build.context)
    out: IO[bytes] = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  (the sender closes it)
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in _files(build.context):
            name = path.relative_to(build.context).as_posix()
            if name.partition("/")[0] in left_out or (name != build.dockerfile and is_ignored(name)):
                continue
            info = tar.gettarinfo(path, arcname=name)
            if info is None or not (info.isreg() or info.isdir() or info.issym()):
                continue
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = 0
            info.pax_headers = {}
            if info.isreg():
                with path.open("rb") as file:
                    tar.addfile(info, file)
            else:
                tar.addfile(info)
    digest = hashlib.sha256(repr((build.dockerfile, sorted(build.args.items()), build.target)).encode())
    out.seek(0)
    while block := out.read(1 << 20):
        digest.update(block)
    out.seek(0)
    return out, digest.hexdigest()


def with_label(context: IO[bytes], build: Build, run: str) -> IO[bytes]:
    """Return the same context with a label at the beginning of each stage, to find a broken build's leftovers."""
    text = (build.context / build.dockerfile).read_text(errors="replace")
    lines = text.splitlines()
    ends = [end for end, word in _ends(text) if word == "FROM"]
    for end in reversed(ends):
        lines.insert(end, f'LABEL {RUN}="{run}"')
    content = ("\n".join(lines) + "\n").encode()
    out: IO[bytes] = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
    with tarfile.open(fileobj=context, mode="r") as old, tarfile.open(fileobj=out, mode="w") as new:
        for info in old:
            if info.name == build.dockerfile:
                info.size = len(content)
                new.addfile(info, io.BytesIO(content))
            else:
                new.addfile(info, old.extractfile(info) if info.isreg() else None)
    out.seek(0)
    return out


def _ends(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of the last line of each step, and its instruction."""
    lines = text.splitlines()
    for began, word, _ in instructions(text):
        end = began
        while end < len(lines) and (lines[end - 1].rstrip().endswith("\\") or lines[end - 1].strip().startswith("#")):
            end += 1
        yield end, word


def _files(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*files, *folders]):
            yield Path(root, name)


def _ignored(context: Path) -> Callable[[str], bool]:
    """Return a check whether ``.dockerignore`` leaves a path out (Docker's documentation, "Build context")."""
    try:
        lines = (context / ".dockerignore").read_text(errors="replace").splitlines()
    except OSError:
        return lambda _: False
    rules: list[tuple[bool, re.Pattern[str]]] = []
    for raw in lines:
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        is_back = line.startswith("!")
        pattern = line.lstrip("!").strip().strip("/").removeprefix("./")
        if pattern:
            rules.append((is_back, re.compile(_as_regex(pattern) + r"(?:/.*)?\Z")))

    def is_ignored(name: str) -> bool:
        left_out = False
        for is_back, rule in rules:
            if rule.match(name):
                left_out = not is_back
        return left_out

    return is_ignored


def _as_regex(pattern: str) -> str:
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            parts.append(r"(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(r".*")
            at += 2
        elif pattern[at] == "*":
            parts.append(r"[^/]*")
            at += 1
        elif pattern[at] == "?":
            parts.append(r"[^/]")
            at += 1
        else:
            parts.append(re.escape(pattern[at]))
            at += 1
    return "".join(parts)
