"""Find the changes that an agent made in its container, and those that could change a verdict.

``held_back`` is the rule. It finds the changes that are not copied to the fresh container for the tests: changes of the
shell, the common commands, Python, pytest, and the files that these programs read at their start. A file that the task
itself names is the agent's work and is copied.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from posixpath import basename, dirname
from typing import Literal

from pydantic import BaseModel

from proctor.terminal.commands import losing
from proctor.terminal.copying import copy_out
from proctor.terminal.engine import Engine
from proctor.terminal.references import EnvironmentRef
from proctor.terminal.task_model import TerminalTask

_KINDS: tuple[Literal["modified", "added", "deleted"], ...] = ("modified", "added", "deleted")

_TEXT_AT_MOST = 200_000
"""Bytes of each file of a task that are searched for names."""

_SETTINGS_AT_MOST = 100_000

INTERPRETERS = frozenset(["bash", "busybox", "dash", "env", "py.test", "pytest", "python", "python2", "python3", "sh"])
"""The programs that run the tests. No task makes these the agent's work."""

_COMMON = (
    "[ apt apt-get awk basename cat chmod chown cmp cp curl cut date diff dirname dpkg echo egrep expr false",
    "fgrep find gawk grep head install kill ldconfig ln ls mawk md5sum mkdir mktemp mv nohup perl pip pip3 printf",
    "ps pwd readlink realpath rm rmdir sed seq sha256sum sleep sort stat sudo tail tar tee test timeout touch tr",
    "true uniq unzip uv uvx wc wget which xargs",
)
COMMANDS = INTERPRETERS | set(" ".join(_COMMON).split())
"""The programs that test scripts use. ``python3.11`` counts as ``python3``."""

_PYTEST_PARTS = "attr attrs exceptiongroup iniconfig packaging pluggy py pygments _pytest pytest pytest_json_ctrf tomli"
TEST_MODULES = frozenset(_PYTEST_PARTS.split())
"""The modules that pytest consists of."""

_PYTEST_ITSELF = frozenset(["pytest", "_pytest", "pluggy", "iniconfig"])

_LIBRARY = re.compile(
    r"^/(?:usr/)?(?:local/)?lib(?:32|64|x32)?/(?:[^/]+-linux-[^/]+/)?"
    r"(?:ld-linux|ld-musl|ld-|libc|libm|libdl|libpthread|librt|libutil|libtinfo|libreadline|libpython|libz|libexpat"
    r"|libffi|libselinux|libpcre2|libpcre|libacl|libattr|libcrypto|libssl|libgcc_s)[-.\w]*\.so[.\d]*$"
)
"""The loader, and the libraries of the shell, the common commands and Python."""

_STANDARD_LIBRARY = re.compile(r"^(?P<tree>.*/lib(?:32|64)?/(?:python|pypy)\d[\d.]*)/(?P<rest>.+)$")
_PACKAGES = re.compile(r"^(?P<folder>.*?/(?:site|dist)-packages)/(?P<rest>.+)$")
_USER_PACKAGES = re.compile(r"^/(?:root|home/[^/]+)/\.local/lib/python[^/]*/site-packages$")
_STARTUP_MODULES = frozenset(["sitecustomize", "usercustomize"])
_PYTEST_FILES = frozenset(["conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"])
_PYTEST_SECTIONS = {"tox.ini": b"[pytest]", "setup.cfg": b"[tool:pytest]", "pyproject.toml": b"[tool.pytest"}
_UV_FILES = frozenset(["pyproject.toml", "uv.toml", "uv.lock", ".venv", ".python-version", ".env"])
_SHELL_FILES = re.compile(
    r"^/(?:etc/(?:profile|profile\.d/.*|bash\.bashrc|bashrc|environment|zsh/.*)"
    r"|(?:root|home/[^/]+)/\.(?:bashrc|bash_profile|bash_login|bash_aliases|profile|zshrc|zprofile|zshenv))$"
)
_READS_SHELL_FILES = re.compile(r"bashrc|profile\b|/etc/environment|--login|\bbash\s+-\w*[li]|\bsu\s+-|\bzsh\b")
_TOOL_SETTINGS = re.compile(
    r"^(?:/etc/(?:pip\.conf|uv/.*|wgetrc|apt/.*|ld\.so\.conf|ld\.so\.conf\.d/.*|ld\.so\.cache|ld\.so\.preload)"
    r"|/(?:root|home/[^/]+)/(?:\.curlrc|\.wgetrc|\.netrc|\.pip/.*|\.config/(?:pip|uv|curlrc)(?:/.*)?"
    r"|\.cache/(?:uv|pip)(?:/.*)?|\.local/share/uv(?:/.*)?|\.local/bin/env(?:\.fish)?))$"
)
_PRELOAD = "/etc/ld.so.preload"
_WORD = re.compile(r"[A-Za-z0-9_.+/\[-]+")
_IMPORT = re.compile(r"^\s*(?:from|import)\s+([A-Za-z_][\w.]*(?:\s*,\s*[A-Za-z_][\w.]*)*)", re.MULTILINE)
_FOLDER = re.compile(r"\bcd\s+[\"']?(/[^\s\"';&|]*)")


class Change(BaseModel, frozen=True):
    """A path of a container that differs from its image."""

    path: str
    kind: Literal["modified", "added", "deleted"]


class TaskTexts(BaseModel, frozen=True):
    """The texts of a task that are searched for names.

    Attributes:
        tests: the test script and all files of the tests.
        solution: the task's own solution; empty if it has none.
        folders: the folders in which tests may run: the work folder, and folders that the script changes to.
        modules: the top-level modules that the tests import.
    """

    script: str
    tests: str
    instruction: str
    solution: str
    folders: frozenset[str]
    modules: frozenset[str]

    @property
    def all_words(self) -> frozenset[str]:
        return _split_words("\n".join([self.instruction, self.solution, self.tests]))


def read_texts(task: TerminalTask, workdir: str) -> TaskTexts:
    script = _text(task.test_script)
    tests = "\n".join([script, *map(_text, _files(task.tests))])
    solved: list[str] = []
    if task.solution is not None:
        solved = [_text(path) for path in _files(task.solution.folder or task.solution.script)]
        solved += [command.command for command in task.solution.commands]
    return TaskTexts(
        script=script,
        tests=tests,
        instruction=task.instruction,
        solution="\n".join(solved),
        folders=frozenset(folder.rstrip("/") or "/" for folder in [workdir, *_FOLDER.findall(script)]),
        modules=frozenset(
            name.strip().partition(".")[0] for names in _IMPORT.findall(tests) for name in names.split(",")
        ),
    )


def _files(place: Path | None) -> list[Path]:
    if place is None:
        return []
    return sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_TEXT_AT_MOST).decode(errors="replace")
    except OSError:
        return ""


def _split_words(text: str) -> frozenset[str]:
    """Return each word without a final full stop, and the last part of each path."""
    words = {word.rstrip(".") for word in _WORD.findall(text)}
    return frozenset(words | {basename(word.rstrip("/")) for word in words})


async def list_changes(engine: Engine, environment: EnvironmentRef) -> list[Change]:
    """Return the paths that differ from the image, sorted; volumes are not included.

    Raises:
        EnvironmentLostError: the container is gone.
        EngineUnavailableError: the engine doesn't answer.
    """
    with losing(environment):
        changes = await engine.ask("GET", f"containers/{environment.container_id}/changes", timeout=600)
    return sorted(
        (Change(path=change["Path"], kind=_KINDS[change["Kind"]]) for change in changes or []), key=lambda c: c.path
    )


class ImageCommands(BaseModel, frozen=True):
    """The commands of an image.

    Attributes:
        folders: the folders of its PATH, and the usual ones.
        real: the targets of those ``COMMANDS`` that are links.
    """

    folders: frozenset[str]
    names: frozenset[str]
    real: frozenset[str]


USUAL_FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/root/.local/bin")


def list_script(folders: Iterable[str]) -> str:
    """Return a shell script that prints an image's commands, for ``read_listing``."""
    return f"""
for d in {" ".join(f"'{folder}'" for folder in folders if "'" not in folder)}; do
  [ -d "$d" ] || continue
  for f in "$d"/*; do echo "name $f"; done
  for n in {" ".join(f"'{command}'" for command in sorted(COMMANDS))} "$d"/python3.*; do
    f="$d/${{n##*/}}"; [ -e "$f" ] && [ -L "$f" ] && echo "real $(readlink -f "$f")"
  done
done
true
"""


def read_listing(text: str, folders: Iterable[str]) -> ImageCommands:
    lines = [line.partition(" ") for line in text.splitlines()]
    return ImageCommands(
        folders=frozenset(folders),
        names=frozenset(basename(path) for kind, _, path in lines if kind == "name"),
        real=frozenset(path for kind, _, path in lines if kind == "real" and path.startswith("/")),
    )


async def read_settings_files(
    engine: Engine, environment: EnvironmentRef, changes: Iterable[Change]
) -> dict[str, bytes]:
    """Return the contents of those changed files that ``held_back`` must read, by path.

    Raises EngineUnavailableError (the engine doesn't answer).
    """
    contents: dict[str, bytes] = {}
    for change in changes:
        name = basename(change.path)
        if change.kind != "deleted" and (name in _PYTEST_SECTIONS or name == "entry_points.txt" or name[-4:] == ".pth"):
            content = await copy_out(engine, environment, change.path, _SETTINGS_AT_MOST)
            contents[change.path] = content.get(name, b"")
    return contents


def held_back(
    changes: Sequence[Change], texts: TaskTexts, image: ImageCommands, settings: Mapping[str, bytes]
) -> dict[str, str]:
    """Return the paths of changes that could change the verdict, each with the thing that it affects.

    Args:
        settings: the result of ``read_settings_files``.
    """
    rule = _Rule(texts, image, {change.path for change in changes if change.kind == "added"}, settings)
    return {change.path: reason for change in changes if (reason := rule.reason(change)) is not None}


class _Rule:
    def __init__(self, texts: TaskTexts, image: ImageCommands, added: set[str], settings: Mapping[str, bytes]) -> None:
        self._image = image
        self._added = added
        self._settings = settings
        self._all_words = texts.all_words
        self._task_words = _split_words("\n".join([texts.instruction, texts.solution]))
        self._instruction = _split_words(texts.instruction)
        self._script = _split_words(texts.script)
        self._reads_shell_files = _READS_SHELL_FILES.search(texts.script) is not None
        self._uses_uv = bool({"uv", "uvx"} & self._script)
        self._modules = TEST_MODULES | {name for name in texts.modules if name not in self._task_words}
        self._folders = {above for folder in texts.folders for above in _above(folder)} | {"/"}
        self._test_folders = self._folders | {f"{folder.rstrip('/')}/tests" for folder in self._folders}

    def reason(self, change: Change) -> str | None:
        """Return the thing that a change affects; None if the change couldn't change the verdict."""
        path = change.path
        if path in self._instruction and _drop_version(basename(path)) not in INTERPRETERS:
            return None
        return (
            self._command(change)
            or self._library(change)
            or self._setting(path)
            or self._python(change)
            or self._pytest(path)
        )

    def _command(self, change: Change) -> str | None:
        path, name = change.path, basename(change.path)
        is_common = _drop_version(name) in COMMANDS
        if path in self._image.real:
            return f"the command {name}"
        folder = dirname(path)
        if folder == "/etc/alternatives" and is_common:
            return f"the command {name}"
        if folder not in self._image.folders:
            return None
        if is_common:
            # A common command that the image lacks is held back only if the test script would run it.
            if change.kind != "added" or name in self._image.names or name in self._script:
                return f"the command {name}"
            return None
        if name in self._all_words:
            return None
        return f"the command {name}" if change.kind != "added" or name in self._image.names else None

    def _library(self, change: Change) -> str | None:
        path = change.path
        if not _LIBRARY.match(path) or basename(path) in self._task_words:
            return None
        is_held = change.kind != "added" or path.startswith("/usr/local/")
        return f"the library {basename(path)}" if is_held else None

    def _setting(self, path: str) -> str | None:
        if _SHELL_FILES.match(path):
            return "what a shell reads when it starts" if self._reads_shell_files else None
        if path == _PRELOAD:  # only an instruction that names it makes this the agent's work
            return "the loader's settings"
        if _TOOL_SETTINGS.match(path) and basename(path) not in self._all_words:
            return "the loader's settings" if "/ld.so" in path else "the settings of a tool that tests use"
        return None

    def _python(self, change: Change) -> str | None:
        path, name = change.path, basename(change.path)
        stem = name.partition(".")[0]
        if stem in _STARTUP_MODULES and name not in self._task_words:
            return "what Python runs when it starts"
        if packages := _PACKAGES.match(path):
            folder, rest = packages["folder"], packages["rest"]
            if folder in self._added and not _USER_PACKAGES.match(folder):
                return None  # an environment that the agent made
            return self._package(path, rest)
        if library := _STANDARD_LIBRARY.match(path):
            if library["tree"] in self._added:
                return None
            top = library["rest"].partition("/")[0].partition(".")[0]
            is_standard = change.kind != "added" or "__pycache__" in path or top in self._modules
            return "Python's standard library" if is_standard else None
        return self._shadow(path)

    def _package(self, path: str, rest: str) -> str | None:
        top = rest.partition("/")[0]
        module = top.partition(".")[0].partition("-")[0].lower().replace("-", "_")
        if module in TEST_MODULES:
            return "pytest"
        if module in self._modules:
            return f"the module {module}, which the tests import"
        if rest.endswith(".pth") and "/" not in rest:
            lines = self._settings.get(path, b"import site").splitlines()
            if any(line.startswith((b"import ", b"import\t")) for line in lines):
                return "what Python runs when it starts"
        if rest.endswith("/entry_points.txt") and b"pytest11" in self._settings.get(path, b"pytest11"):
            return "a plugin of pytest"
        return None

    def _shadow(self, path: str) -> str | None:
        """Describe a module in a folder of tests that Python may import instead of its own; None for other paths."""
        name = basename(path)
        module, _, kind = name.partition(".")
        if dirname(path) not in self._folders or (name in self._task_words and module not in _PYTEST_ITSELF):
            return None
        if module not in TEST_MODULES | sys.stdlib_module_names:
            return None
        if kind:
            is_module = kind in ("py", "pyc") or kind.endswith("so")
        else:  # a folder shadows a module only with such a file
            is_module = any(file.startswith(f"{path}/__init__.") for file in self._added)
        return f"the module {module}, which pytest imports" if is_module else None

    def _pytest(self, path: str) -> str | None:
        folder, name = dirname(path), basename(path)
        is_named = name in self._all_words and folder != "/"
        if folder not in self._test_folders or is_named:
            return None
        if name in _PYTEST_FILES:
            return "pytest's settings"
        if name in _PYTEST_SECTIONS and _PYTEST_SECTIONS[name] in self._settings.get(path, b""):
            return "pytest's settings"
        if self._uses_uv and name in _UV_FILES:
            return "the settings of a tool that tests use"
        return None


def _drop_version(name: str) -> str:
    return re.sub(r"^(python|pip)[23](?:\.\d+)?$", r"\g<1>3", name)


def _above(folder: str) -> list[str]:
    folders = [folder]
    while folder not in ("/", ""):
        folder = dirname(folder)
        folders.append(folder)
    return folders
