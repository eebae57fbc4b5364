"""The images, built by a real Docker engine, and an assessment between two containers, each a host of its own."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.new_projects import new_agent
from purple_sdk.protocol.results import AssessmentResults
from tests.containers.images import STAND_IN, TARGETS, build, import_stand_in
from tests.containers.networks import Network, network
from tests.docker_engine import DockerEngine, own_engine
from tests.programs import ROOT, end, module, start
from tests.waiting import PATIENCE, wait_until
from tests.work import NIGHTLY

pytestmark = [
    pytest.mark.skipif(not NIGHTLY, reason="it builds images, with packages from the network: make images"),
    pytest.mark.timeout(3600),
]

GREEN, PURPLE = "10.77.0.2", "10.77.0.3"
EVALUATOR = f"http://{GREEN}:9009"
PARTICIPANT = f"http://{PURPLE}:9009"
CONFIG = {"scenario_id": "email_triage_basic", "seed": 42, "offline": True}
POINTS = int(re.findall(r"scenario complete\): (\d+)/\d+ points", (ROOT / "README.md").read_text())[0])
"""What the baseline earns with that seed, wherever it runs."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerEngine]:
    with own_engine(has_base=False) as running:
        import_stand_in(running, tmp_path_factory.mktemp("stand-in"))
        build(running)
        yield running


@pytest.fixture
def switch(engine: DockerEngine) -> Iterator[Network]:
    with network(engine) as made:
        yield made


def inspect(engine: DockerEngine, what: str) -> dict[str, Any]:
    [found] = json.loads(engine.docker("inspect", what))
    return dict(found)


def has_state(engine: DockerEngine, container: str, state: str) -> bool:
    found = inspect(engine, container)["State"]
    assert found["Running"], engine.docker("logs", container)
    return bool(found["Health"]["Status"] == state)


def run(engine: DockerEngine, switch: Network, image: str, address: str, *options: str) -> str:
    """Start an agent's image as the platform does, and wait until its own check finds it well."""
    container = engine.docker(
        "run", "--detach", "--network", "none", *options, image,
        "--host", "0.0.0.0", "--port", "9009", "--card-url", f"http://{address}:9009/",
    )  # fmt: skip
    switch.join(container, address)
    assert wait_until(lambda: has_state(engine, container, "healthy"), 10 * PATIENCE), engine.docker("logs", container)
    return container


@pytest.fixture
def pair(engine: DockerEngine, switch: Network) -> Iterator[tuple[str, str]]:
    """An evaluator and a participant, each in a container with an address of its own."""
    containers = [run(engine, switch, "proctor-green", GREEN), run(engine, switch, "proctor-purple", PURPLE)]
    try:
        yield containers[0], containers[1]
    finally:
        engine.docker("rm", "--force", "--volumes", *containers)


def test_the_image_of_a_new_agent_is_built_and_runs(engine: DockerEngine, tmp_path: Path) -> None:
    new_agent("mail-clerk", tmp_path)
    engine.docker(
        "build", "--network", "host", "--build-arg", f"BASE_IMAGE={STAND_IN}", "--tag", "mail-clerk",
        str(tmp_path / "mail-clerk"), seconds=600,
    )  # fmt: skip
    assert "--card-url" in engine.docker("run", "--rm", "--network", "none", "mail-clerk", "--help")


@pytest.mark.parametrize("image", TARGETS.values())
def test_an_image_runs_without_root_and_has_what_it_needs_and_no_more(engine: DockerEngine, image: str) -> None:
    def inside(*command: str) -> str:
        return engine.docker("run", "--rm", "--network", "none", "--entrypoint", command[0], image, *command[1:])

    assert inside("id", "--user") != "0"
    assert inside("find", "/opt/proctor", "-writable") == "", "its own user can't change the program"
    packages = inside("python", "-c", "import importlib.metadata as m; print(*(d.name for d in m.distributions()))")
    own = "proctor-purple" if image == "proctor-purple" else "proctor"
    assert {"proctor", "proctor-purple"} & set(packages.split()) == {own}
    unwanted = {"pytest", "mypy", "ruff", "hypothesis", "playwright", "hatchling", "pip"}
    assert not unwanted & set(inside("python", "-c", OWN_PACKAGES).split())
    config = inspect(engine, image)["Config"]
    assert config["User"] == "proctor"
    assert ("Healthcheck" in config) == (image != "proctor"), "compose has a check for each service"


OWN_PACKAGES = (
    "import importlib.metadata as m; print(*(d.name for d in m.distributions(path=__import__('sys').path[-1:])))"
)


def test_an_assessment_between_two_containers(pair: tuple[str, str], engine: DockerEngine, switch: Network) -> None:
    ask = module(
        "tests.containers.agentbeats_client", EVALUATOR, f"personal_assistant={PARTICIPANT}",
        "--config", json.dumps(CONFIG),
    )  # fmt: skip
    done = subprocess.run(switch.inside(*ask), cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    filed = json.loads(done.stdout)
    # What a leaderboard's query reads: agentbeats/README.md.
    assert filed["participants"] == {"personal_assistant": "its-id"}
    [result] = filed["results"]
    assert result["status"] == "completed"
    assert result["scores"]["overall"]["score"] == POINTS
    assert AssessmentResults.model_validate(result).action_report.unreported == []
    # Neither reached the other by a loopback address: each has its own, and nothing but the agent listens on it.
    for container, address in zip(pair, (GREEN, PURPLE), strict=True):
        assert address in engine.docker("exec", container, "python", "-c", OWN_ADDRESS.format(other=GREEN))


OWN_ADDRESS = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.connect(("{other}", 9))
    print(one.getsockname()[0])
"""


def test_an_evaluator_that_is_killed_goes_on_when_its_container_is_started_again(
    pair: tuple[str, str], engine: DockerEngine, switch: Network, tmp_path: Path
) -> None:
    result = tmp_path / "result.json"
    command = module(
        "proctor", "assess", "email_triage_basic", "--agent", PARTICIPANT, "--gateway", EVALUATOR,
        "--seed", "42", "--offline", "--json", str(result),
    )  # fmt: skip
    caller = start(switch.inside(*command))
    assert caller.stdout is not None
    try:
        for line in caller.stdout:
            if line.startswith("turn  3/12"):
                break
        engine.docker("kill", pair[0])
        engine.docker("start", pair[0])
        switch.join(pair[0], GREEN)
        told = caller.stdout.read()
        assert caller.wait(10 * PATIENCE) == 0, told
    finally:
        end(caller)
    found = AssessmentResults.model_validate_json(result.read_text())
    assert (found.scores.overall.score, found.turns_taken) == (POINTS, 12)


def test_a_container_that_is_stopped_ends_in_good_order(engine: DockerEngine, switch: Network) -> None:
    for image, address in (("proctor-green", GREEN), ("proctor-purple", PURPLE)):
        container = run(engine, switch, image, address)
        engine.docker("stop", "--time", "300", container)
        state = inspect(engine, container)["State"]
        assert (state["ExitCode"], state["OOMKilled"]) == (0, False), engine.docker("logs", container)
        engine.docker("rm", "--volumes", container)
