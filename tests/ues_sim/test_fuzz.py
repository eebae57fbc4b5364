"""schemathesis against ``/openapi.json``: whatever is sent, no 500, no undeclared status, and every answer as declared.

In ``make test`` the same few thousand requests every time; with ``PROCTOR_TEST_PROFILE=nightly`` at least 20,000,
other ones every night (the seed is in the failure's text).
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ues_sim.helpers import HOST_KEY, Server

NIGHTLY = os.environ.get("PROCTOR_TEST_PROFILE") == "nightly"
ADMIN_KEY = "admin-key-of-the-fuzz-0123456789"
CHECKS = ("not_a_server_error", "status_code_conformance")


def fuzz(url: str, key: str, folder: Path, *options: str) -> dict[str, Any]:
    """Send what schemathesis thinks of, and return its report. Fails with all that it found."""
    report = folder / "report.json"
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--no-color"),
            *("--header", f"X-API-Key: {key}", "--checks", ",".join(CHECKS), "--continue-on-failure"),
            *("--report", "json", "--report-json-path", str(report)),
            *options,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    content: dict[str, Any] = json.loads(report.read_text())
    return content


@pytest.fixture
def single() -> Iterator[Server]:
    server = Server("--single", "--seed", "fuzz", UES_ADMIN_KEY=ADMIN_KEY)
    yield server
    server.stop()


@pytest.mark.timeout(3600)
def test_no_request_breaks_a_simulation(single: Server, tmp_path: Path) -> None:
    amount = ("--max-examples", "200") if NIGHTLY else ("--max-examples", "5", "--generation-deterministic")
    report = fuzz(single.url, ADMIN_KEY, tmp_path, "--phases", "coverage,fuzzing", *amount)
    assert report["operations"]["tested"] == report["operations"]["total"] > 100
    assert report["test_cases"]["generated"] >= (20_000 if NIGHTLY else 4_000)


def test_no_request_breaks_the_host(server: Server, tmp_path: Path) -> None:
    amount = ("--max-examples", "500") if NIGHTLY else ("--max-examples", "50", "--generation-deterministic")
    report = fuzz(server.url, HOST_KEY, tmp_path, "--include-tag", "host", "--phases", "coverage,fuzzing", *amount)
    assert report["operations"]["tested"] == 4
