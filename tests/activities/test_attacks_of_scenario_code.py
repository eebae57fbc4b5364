"""Whatever a scenario's code does is its own affair: attack after attack on one fork server, which stands them all.

Each stands beside an undisturbed neighbour: a criterion of another scenario, judged at the same time.
"""

import asyncio
import os
import re
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from proctor.activities.scenario_code.freezing import packed
from proctor.activities.scenario_code.manager import EvaluatorLoadError, ScenarioValidationError
from proctor.activities.scenario_code.processes import EvaluatorFailedError, ScenarioCode
from purple_sdk.processes.landlock import landlock_version
from tests.activities.scenario_code import ATTACKS, GOOD, LIMITS, SHORT, Write, judged_by
from tests.sentences import says
from tests.work import only_nightly

pytestmark = pytest.mark.usefixtures("quick_fork_servers")

ENDLESS = ("sleeps", "waits", "spins")


@pytest.fixture
def code(one_fork_server: None) -> ScenarioCode:
    return ScenarioCode(LIMITS)


@pytest.fixture
def hasty(one_fork_server: None) -> ScenarioCode:
    """One that waits for nobody's evaluator for long."""
    return ScenarioCode(SHORT)


VARIABLE: dict[str, dict[str, object]] = {
    "fills_the_disk": {"error": re.compile("PermissionError: .*Permission denied|OSError: .*File too large")},
    "spins": {"time": re.compile(r"\d+ s(?: on a busy machine)?")},
    "kills_in_c": {"number": re.compile(r"(?<=parent )\d+")},
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "function",
    [
        "sleeps",
        "waits",
        pytest.param("spins", marks=only_nightly),
        "leaves",
        "aborts",  # it may not send itself SIGABRT, and libc ends it another way: by signal 11
        "exits",
        "interrupts",
        "cancels",
        "hoards",
        "hoards_at_once",
        "forks",
        "forks_in_c",
        "starts_programs",
        "kills_its_parent",
        "kills_in_c",
        "floods",
        "fills_the_disk",
        "opens_everything",
        "returns_a_lot",
        "speaks_for_itself",
    ],
)
async def test_an_attack_is_its_own_scenarios_fault_and_nobody_elses(
    write_scenario: Write, code: ScenarioCode, hasty: ScenarioCode, function: str
) -> None:
    write_scenario("bad", files={"evaluators.py": ATTACKS})
    scenarios = write_scenario("good", files={"evaluators.py": GOOD})
    memory = psutil.Process().memory_info().rss
    neighbour = asyncio.create_task(judged_by(code, scenarios / "good", "check"))
    with pytest.raises(EvaluatorFailedError, check=says(function, **VARIABLE.get(function, {}))):
        await judged_by(hasty if function in ENDLESS else code, scenarios / "bad", function)
    assert (await neighbour).score == 3
    assert (await judged_by(code, scenarios / "good", "check")).score == 3
    assert psutil.Process().memory_info().rss - memory < 60_000_000
    with suppress(FileNotFoundError):
        os.unlink("/tmp/proctor-test-fill")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "source",
    [
        "import os\nos._exit(3)",
        "raise KeyboardInterrupt",
        "import asyncio\nraise asyncio.CancelledError",
        "import os\nos.fork()",
        "kept = bytearray(10 * 1024**3)",
        "while True: print('a' * 1_000_000)",
    ],
)
async def test_code_that_does_harm_when_it_is_imported_is_refused(
    write_scenario: Write, code: ScenarioCode, source: str
) -> None:
    with pytest.raises(EvaluatorLoadError, check=says()):
        await code.load(write_scenario(files={"evaluators.py": source + "\n"}) / "small")


OUT_OF_BOUNDS = """
import ctypes, fcntl, os, resource, signal, socket
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)

def call(*arguments):
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def connects(kind, address, protocol=0):
    with socket.socket(kind, socket.SOCK_STREAM, protocol) as end:
        end.settimeout(5)
        end.connect(address)

def sends(kind, address):
    with socket.socket(kind, socket.SOCK_DGRAM) as end:
        end.sendto(b"x", address)

def sends_by_a_pair(address):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", address)

def owns(pid):
    one, other = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, pid)

def looks_up(host):
    try:
        socket.getaddrinfo(host, 80)
    except socket.gaierror as problem:
        raise PermissionError(str(problem))

def opens_fast(address):
    with socket.socket() as end:
        end.sendto(b"x", 0x20000000, address)

async def check(ctx, params):
    place, port, parent = Path(params["place"]), params["port"], os.getppid()
    tries = {
        "others' limits": lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (1, 1)),
        "others' priority": lambda: os.setpriority(os.PRIO_PROCESS, parent, 19),
        "others' scheduling": lambda: os.sched_setscheduler(parent, os.SCHED_IDLE, os.sched_param(0)),
        "namespaces": lambda: call(272, 0x10000000),
        "io_uring": lambda: call(425, 1, None),
        "keys": lambda: call(250, 0, -3, 0),
        "a pipe to the engine": lambda: connects(socket.AF_UNIX, "/var/run/docker.sock"),
        "secrets": lambda: (place / "secret").read_text(),
        "neighbours": lambda: os.listdir(place),
        "accounts": lambda: Path("/etc/passwd").read_text(),
        "tokens": lambda: (place / "tokens.json").write_text("{}"),
        "its own files": lambda: (Path(__file__).parent / "more.py").write_text(""),
        "temporary files": lambda: Path("/tmp/proctor-test-more").write_text(""),
        "a thousand files": lambda: [(place / f"{n}").write_text("") for n in range(1000)],
        "one large file": lambda: os.truncate(place / "secret", 10**12),
        "its own folder's files": lambda: [(Path(__file__).parent / f"{n}").mkdir() for n in range(1000)],
        "a child that outlives it": lambda: call(56, 17, 0, 0, 0, 0),
        "living on without its parent": lambda: call(157, 1, 0, 0, 0, 0),
        "other ports": lambda: connects(socket.AF_INET, ("127.0.0.1", port)),
        "other ports by MPTCP": lambda: connects(socket.AF_INET, ("127.0.0.1", port), 262),
        "other ports by TCP Fast Open": lambda: opens_fast(("127.0.0.1", port)),
        "other files' modes": lambda: os.chmod(place / "secret", 0o666),
        "other files' times": lambda: os.utime(place / "secret"),
        "shared memory": lambda: call(29, 0, 4096, 0o1600),
        "UDP": lambda: sends(socket.AF_INET, ("127.0.0.1", 53)),
        "abstract sockets": lambda: connects(socket.AF_UNIX, "\\0proctor-port-1"),
        "abstract sockets by a pair": lambda: sends_by_a_pair("\\0proctor-port-1"),
        "signals by the owner of a file": lambda: owns(parent),
        "signals": lambda: call(62, parent, 0),
        "tracing": lambda: call(101, 16, parent, 0, 0),
        "others' memory": lambda: call(310, parent, None, 0, None, 0, 0),
        "others' environment": lambda: Path(f"/proc/{parent}/environ").read_bytes(),
        "others' files": lambda: os.listdir(f"/proc/{parent}/fd"),
        "a file system of its own": lambda: call(165, b"none", b"/tmp", b"tmpfs", 0, None),
        "memory beyond its limit": lambda: os.memfd_create("more"),
        "another program": lambda: call(59, b"/bin/true", None, None),
        "watching files": lambda: call(294, 0),
        "removing files": lambda: os.unlink(place / "secret"),
        "names of hosts": lambda: looks_up("example.org"),
        "serving": lambda: socket.create_server(("127.0.0.1", 0)).close(),
    }
    done = []
    for what, attempt in tries.items():
        try:
            attempt()
        except PermissionError:
            continue
        except OSError as problem:
            what = f"{what}: {problem}"
        done.append(what)
    Path(__file__).read_text()
    connects(socket.AF_INET, ("127.0.0.1", params["simulator"]))
    return {"score": 4, "max_score": 4, "explanation": "; ".join(done) or "nothing"}
"""


@pytest.mark.skipif(landlock_version() < 4, reason="this kernel has no Landlock that knows of ports")
@pytest.mark.asyncio(loop_scope="module")
async def test_it_reaches_nothing_but_its_own_files_and_the_simulator(
    write_scenario: Write, code: ScenarioCode, tmp_path: Path
) -> None:
    """Each attempt is refused with EPERM or EACCES, though the worker may be root."""
    place = tmp_path / "state"
    place.mkdir()
    (place / "secret").write_text("s")
    with socket.create_server(("127.0.0.1", 0)) as other, socket.create_server(("127.0.0.1", 0)) as simulator:
        params = {"place": str(place), "port": other.getsockname()[1], "simulator": simulator.getsockname()[1]}
        directory = write_scenario(files={"evaluators.py": OUT_OF_BOUNDS}) / "small"
        address = f"http://127.0.0.1:{params['simulator']}"
        verdict = await judged_by(code, directory, "check", params=params, simulation=address)
    assert verdict.explanation == "nothing"
    assert [path.name for path in place.iterdir()] == ["secret"]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to("/etc/passwd"),
        lambda path: path.symlink_to("/etc"),
        os.mkfifo,
        lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5)),
    ],
    ids=["a link to a file", "a link to a folder", "a pipe", "a device"],
)
async def test_what_is_no_plain_file_is_refused_at_admission(write_scenario: Write, make: Any) -> None:
    """A link to /etc/passwd was frozen with the scenario, and could be read by it."""
    directory = write_scenario() / "small"
    try:
        make(directory / "more.txt")
    except PermissionError:  # only root makes devices
        return
    with pytest.raises(ScenarioValidationError, check=says("more.txt")):
        packed(directory)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        Path.mkdir,
        lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 10**11),
    ],
)
async def test_only_plain_files_of_a_bearable_size_are_read(
    write_scenario: Write, code: ScenarioCode, make: Any
) -> None:
    directory = write_scenario(initial_state="state.json") / "small"
    make(directory / "state.json")
    with pytest.raises(ScenarioValidationError, check=says()):
        await code.load(directory)
