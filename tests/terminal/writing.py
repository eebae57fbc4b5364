"""Small tasks, written by tests: each of the two formats, with whatever a test wants to be different."""

from collections.abc import Mapping
from pathlib import Path

from tests.docker_engine import BASE_IMAGE

COMPOSE = """
services:
  client:
    build:
      context: .
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: ["sh", "-c", "sleep infinity"]
    environment:
      - TEST_DIR=${T_BENCH_TEST_DIR}
    volumes:
      - ${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}
      - ${T_BENCH_TASK_AGENT_LOGS_PATH}:${T_BENCH_CONTAINER_AGENT_LOGS_PATH}
"""

SUMMARY = """
=========================== short test summary info ============================
PASSED ../tests/test_outputs.py::test_one
"""

DONE = "test -f /app/done"
"""What most of these tasks want: the file ``/app/done``."""


def format_one(folder: Path, files: Mapping[str, str | None] | None = None) -> Path:
    """A task of the first format: solved by ``touch /app/done``. ``files`` are added, or left out where None."""
    printed = SUMMARY.strip().replace("PASSED", "$verdict")
    return _written(
        folder,
        {
            "task.yaml": "instruction: Make the file /app/done.\ndifficulty: easy\n",
            "Dockerfile": f"FROM {BASE_IMAGE}\nWORKDIR /app\n",
            "docker-compose.yaml": COMPOSE,
            "run-tests.sh": f'verdict=FAILED\n{DONE} && verdict=PASSED\necho "{printed}"\n',
            "tests/test_outputs.py": "# what is tested stands in run-tests.sh\n",
            "solution.sh": "touch /app/done\n",
        },
        files,
    )


def format_two(folder: Path, files: Mapping[str, str | None] | None = None, toml: str = "") -> Path:
    """A task of the second format: solved by ``touch /app/done``. ``toml`` is added to ``task.toml``."""
    return _written(
        folder,
        {
            "task.toml": f'version = "1.0"\n{toml}\n',
            "instruction.md": "Make the file `/app/done`.\n",
            "environment/Dockerfile": f"FROM {BASE_IMAGE}\nWORKDIR /app\n",
            "tests/test.sh": f"if {DONE}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n",
            "solution/solve.sh": "touch /app/done\n",
        },
        files,
    )


def _written(folder: Path, plain: Mapping[str, str], files: Mapping[str, str | None] | None) -> Path:
    for name, content in {**plain, **(files or {})}.items():
        if content is not None:
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
            file.chmod(0o755 if name.endswith(".sh") else 0o644)
    return folder
