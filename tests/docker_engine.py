"""A Docker engine for tests: Debian's own, started by hand, with everything of it in a folder of its own.

``docker_engine`` (session, tests/conftest.py) is one for all tests of a run, with the image that the tasks in
``scenarios/terminal_bench`` start from; tests that kill an engine start one of their own with ``own_engine``. The image
is made once per machine and kept below ``~/.cache/proctor``.

The engine of a run is kept by a process of its own, ``python -m tests.docker_engine FOLDER``, which ends it when no
test process holds the lock in that folder any more, however those ended. Without FOLDER the image is made.
"""

import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.system_programs import ENGINE_PROGRAMS, has, require

TASKS = Path(__file__).parent.parent / "scenarios" / "terminal_bench"
BASE_IMAGE = "proctor/terminal-base:bookworm"
_SCRIPT = TASKS / "base_image.sh"
_PATIENCE = 120.0
_REMEDY = (
    "the tests of terminal tasks need root, dockerd, docker and debootstrap (as root: make system-packages), or name "
    f"an engine that has the image {BASE_IMAGE} in PROCTOR_TEST_ENGINE"
)


class NoEngineError(Exception):
    """No engine can run here; the message says what is missing."""


class DockerEngine:
    """A ``dockerd`` with its data and its socket below a folder; it may be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"unix://{folder}/engine.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        for program in ("dockerd", "docker"):
            if shutil.which(program) is None:
                raise NoEngineError(f"{program} is not installed: {_REMEDY}")
        if os.getuid() != 0:
            raise NoEngineError(f"dockerd needs root, and this is another user: {_REMEDY}")
        for left in (
            2,
            1,
            0,
        ):  # a containerd that doesn't start in time, on a machine that is very busy, may the next time
            if self._starts():
                return
            self.kill()
            if not left:
                said = (self.folder / "dockerd.log").read_text(errors="replace").strip().splitlines()[-3:]
                raise NoEngineError(f"dockerd doesn't start ({' '.join(said)}): {_REMEDY}")

    def _starts(self) -> bool:
        for stale in ("dockerd.pid", "exec/containerd/containerd.pid"):
            (self.folder / stale).unlink(missing_ok=True)  # somebody else may have that number by now
        with (self.folder / "dockerd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none", "--host", self.url,
                    "--data-root", str(self.folder / "data"), "--exec-root", str(self.folder / "exec"),
                    "--pidfile", str(self.folder / "dockerd.pid"),
                ],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        until = time.monotonic() + _PATIENCE
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > until:
                return False
            time.sleep(0.1)
        return True

    def answers(self) -> bool:
        """Whether it answers."""
        asked = subprocess.run(
            ["docker", "--host", self.url, "info", "--format", "ok"], capture_output=True, timeout=60, check=False
        )
        return asked.returncode == 0

    def kill(self) -> None:
        """End it at once, with all containers: what stands on the disk is what a machine without power leaves."""
        for _ in range(3):
            for pid in self._processes():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.2)
        if self._process is not None:
            self._process.wait()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Have it stand still for a while; containers go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it, and remove all that is on the disk."""
        self.kill()
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            place = line.split()[1]
            if place.startswith(f"{self.folder}/"):
                subprocess.run(["umount", "--lazy", place], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def docker(self, *arguments: str, seconds: float = _PATIENCE) -> str:
        """What ``docker ARGUMENTS`` prints.

        Raises:
            AssertionError: it failed; with what it said.
        """
        # The builder that every engine and client has: the newer one is a plugin, which may be missing.
        environment = {**os.environ, "DOCKER_BUILDKIT": "0"}
        done = subprocess.run(
            ["docker", "--host", self.url, *arguments],
            env=environment, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"docker {' '.join(arguments)}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout.strip()

    def import_base(self) -> None:
        """Have the image that our own tasks start from."""
        self.docker("import", "--change", "WORKDIR /app", "--change", 'CMD ["bash"]', str(base_image()), BASE_IMAGE)

    def _processes(self) -> list[int]:
        """Of this engine: its daemons name the folder, and containers are children of such daemons."""
        parents: dict[int, int] = {}
        own: set[int] = set()
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                is_daemon = command.split(" ")[0].rpartition("/")[2].startswith(("dockerd", "containerd"))
                if is_daemon and str(self.folder) in command:
                    own.add(int(place.name))
        while more := {pid for pid, parent in parents.items() if parent in own} - own:
            own |= more
        return sorted(own)


def base_image(packages: str = "") -> Path:
    """The tar file of the image that our own tasks start from, or of a small Debian with other packages (separated by
    commas); made if this machine hasn't got it.
    """
    digest = hashlib.sha256(_SCRIPT.read_bytes() + packages.encode()).hexdigest()[:16]
    cache = Path(os.environ.get("PROCTOR_TEST_CACHE") or Path.home() / ".cache" / "proctor")
    cache.mkdir(parents=True, exist_ok=True)
    file = cache / f"{'debian' if packages else 'terminal-base'}-{digest}.tar"
    if file.exists():  # whole, since it is renamed when it is; others may be busy with another one for long
        return file
    with (cache / "terminal-base.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            if shutil.which("debootstrap") is None:
                raise NoEngineError(f"debootstrap is not installed: {_REMEDY}")
            environment = {**os.environ, **({"PACKAGES": packages} if packages else {})}
            made = subprocess.run(
                [_SCRIPT, "--tar", file], env=environment, capture_output=True, text=True, check=False
            )
            if made.returncode != 0:
                raise NoEngineError(f"the base image can't be made ({made.stderr.strip()[-500:]}): {_REMEDY}")
    return file


@contextmanager
def own_engine(*, has_base: bool = True) -> Iterator[DockerEngine]:
    """An engine for a test alone; nothing of it is left afterwards. Skips the test where programs are missing."""
    require(*ENGINE_PROGRAMS)
    engine = DockerEngine(Path(tempfile.mkdtemp(prefix="proctor-engine-")))
    try:
        engine.start()
        if has_base:
            engine.import_base()
        yield engine
    finally:
        engine.stop()


def shared_address(folder: Path) -> str:
    """Where the engine of a run, whose processes share ``folder``, is to be found once somebody has started it."""
    return os.environ.get("PROCTOR_TEST_ENGINE") or f"unix://{folder}/engine.sock"


@contextmanager
def shared_engine(folder: Path) -> Iterator[str]:
    """The address of the engine of a run, whose processes share ``folder``; whoever comes first starts it."""
    if named := os.environ.get("PROCTOR_TEST_ENGINE"):
        yield named
        return
    with (folder / "engine-users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with (folder / "engine-start").open("a") as alone:
            fcntl.flock(alone, fcntl.LOCK_EX)
            told = folder / "engine.json"
            if not told.exists():
                log = (folder / "engine.log").open("w")
                subprocess.Popen(
                    [sys.executable, "-m", "tests.docker_engine", str(folder)],
                    cwd=Path(__file__).parent.parent, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    start_new_session=True,
                )  # fmt: skip
                log.close()
                until = time.monotonic() + 10 * _PATIENCE  # the image may have to be made
                while not told.exists() and time.monotonic() < until:
                    time.sleep(0.1)
        said = json.loads(told.read_text())
        if "problem" in said:
            raise NoEngineError(said["problem"])
        yield said["url"]


def keep(folder: Path) -> None:
    """Start an engine, say in ``folder`` where it is, and end it when nobody uses it any more."""
    engine = DockerEngine(Path(tempfile.mkdtemp(prefix="proctor-engine-")))
    try:
        try:
            base_image()
            engine.start()
            engine.import_base()
            meeting_point = Path(shared_address(folder).removeprefix("unix://"))
            meeting_point.unlink(missing_ok=True)
            meeting_point.symlink_to(engine.url.removeprefix("unix://"))
            said = {"url": engine.url}
        except (NoEngineError, AssertionError, subprocess.SubprocessError, OSError) as error:
            said = {"problem": str(error)}
        (folder / "engine.json.part").write_text(json.dumps(said))
        (folder / "engine.json.part").rename(folder / "engine.json")
        with (folder / "engine-users").open("a") as users:
            fcntl.flock(users, fcntl.LOCK_EX)  # comes back when the last test process has let go
            (folder / "engine.json").unlink()  # whoever comes later starts another one
    finally:
        engine.stop()


def prepare() -> None:
    """Make the image beforehand, so that no test has to wait for it; prints a reason where that can't be."""
    if not all(map(has, ENGINE_PROGRAMS)):
        return
    try:
        base_image()
    except NoEngineError as error:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:]:
        keep(Path(sys.argv[1]))
    else:
        prepare()
