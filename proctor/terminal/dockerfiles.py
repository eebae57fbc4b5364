"""Checks of Dockerfiles without building them."""

import json
import re
import shlex
from pathlib import Path

from proctor.terminal.notes import Notes

_INSTRUCTIONS = {
    "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER", "ONBUILD",
    "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
}  # fmt: skip

_HEREDOC = re.compile(r"<<-?\s*[\"']?([A-Za-z_]\w*)[\"']?")

SECRET = ("solution.sh", "solution.yaml", "solution", "tests", "run-tests.sh")
"""The files that an agent may not see before its end."""


def check(dockerfile: Path, context: Path, folder: Path, notes: Notes) -> None:
    """Note a Dockerfile's problems: it is missing, has no FROM, has unknown instructions, or copies missing files."""
    name = _name(dockerfile, folder)
    if not context.is_dir():
        notes.fatal(f"the folder {_name(context, folder)}, which the image is built from, is missing: add it")
        return
    if not dockerfile.is_file():
        notes.fatal(f"{name} is missing: add what the image is made of")
        return
    text = (
        notes.text(dockerfile, folder) if dockerfile.is_relative_to(folder) else dockerfile.read_text(errors="replace")
    )
    if text is None:
        return
    steps = instructions(text)
    if not any(word == "FROM" for _, word, _ in steps):
        notes.fatal(f"{name} has no FROM: name there the image to start from")
    for line, word, rest in steps:
        if word not in _INSTRUCTIONS:
            notes.fatal(f"{name} line {line}: {word} isn't an instruction of a Dockerfile: correct it")
        elif word in ("COPY", "ADD"):
            for source in _sources(rest):
                _check_source(source, context, f"{name} line {line}", notes)


def instructions(text: str) -> list[tuple[int, str, str]]:
    """Return a Dockerfile's steps without comments and bodies of heredocs.

    Each step has its line's number, its instruction in capitals, and its arguments.
    """
    steps: list[tuple[int, str, str]] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        began, line = at + 1, lines[at].strip()
        at += 1
        if not line or line.startswith("#"):
            continue
        while line.endswith("\\") and at < len(lines):
            following = lines[at].strip()
            at += 1
            if not following.startswith("#"):
                line = f"{line[:-1]} {following}"
        word, _, rest = line.partition(" ")
        if word.upper() in ("RUN", "COPY", "ADD"):
            for end in _HEREDOC.findall(rest):
                while at < len(lines) and lines[at].strip() != end:
                    at += 1
                at += 1
        steps.append((began, word.upper(), rest.strip()))
    return steps


def needs_buildkit(text: str) -> bool:
    """Whether a Dockerfile needs BuildKit: for mounts in RUN, heredocs, links, or a syntax line."""
    if re.match(r"\s*#\s*syntax\s*=", text, re.IGNORECASE):
        return True
    return any(
        (word in ("RUN", "COPY", "ADD") and _HEREDOC.search(rest))
        or (word == "RUN" and re.match(r"--(mount|network|security)=", rest))
        or (word in ("COPY", "ADD") and re.search(r"--(link|chmod|parents|exclude)\b", rest))
        for _, word, rest in instructions(text)
    )


def copied(text: str) -> set[str]:
    """Return the first part of every path that a Dockerfile copies by name."""
    sources = [source for _, word, rest in instructions(text) if word in ("COPY", "ADD") for source in _sources(rest)]
    return {source.removeprefix("./").removeprefix("/").partition("/")[0] for source in sources}


def _sources(rest: str) -> list[str]:
    words = rest.split()
    while words and words[0].startswith("--"):
        if words[0].startswith("--from="):
            return []
        words.pop(0)
    rest = " ".join(words)
    try:
        parts = [str(part) for part in json.loads(rest)] if rest.startswith("[") else shlex.split(rest)
    except ValueError:
        return []
    return [
        part for part in parts[:-1] if "://" not in part and not part.startswith(("<<", "git@")) and "$" not in part
    ]


def _check_source(source: str, context: Path, where: str, notes: Notes) -> None:
    path = source.removeprefix("./").strip("/") or "."
    if path.startswith("../"):
        notes.fatal(f"{where}: {source} is outside of the build's folder: copy the file into it")
        return
    if path != "." and not any(context.glob(path)):
        notes.fatal(f"{where}: {source} is not there: add the file, or take it out of the Dockerfile")
    elif path.partition("/")[0] in SECRET:
        notes.remark(f"{where}: {source} is copied into the image, where the agent can read it: copy less")


def _name(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
