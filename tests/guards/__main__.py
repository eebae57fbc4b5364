"""Shows that a move of the code changes no behaviour: ``python -m tests.guards record|check [--quick]``.

``record`` writes ``recorded.txt`` from the checkout as it is, ``check`` compares with it and exits with 1 when a line
differs. A line of the file is a key and a value:

- ``instance FAMILY DIFFICULTY SEED``: the digest of all files of an instance. Import lines of its Python files are left
  out, since they name packages of ours; ``python-files`` lists these files.
- ``demo PART``: a part of the result of ``proctor demo``, without times, ids and the hashes of the scenario's code,
  whose imports name our packages, too; long parts as digests.
- ``file PATH``: the digest of a recording that a test reads: ten archived entries of an older release, and histories.
  ``check`` runs these tests, which compare verdicts word for word and replay the histories.
- ``cpu PROCESS``: milliseconds of processor time a turn. ``check`` prints both figures and never fails on them.

``--quick`` makes one instance of each family, and plays neither the demo nor the turns.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proctor.local.audit.instances import hash_day
from proctor.scenarios.kit.making.days import make_day
from purple_sdk.protocol.results import AssessmentResults
from tests.assessments.normalising import normalised
from tests.stack import SCENARIOS

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).with_name("recorded.txt")
SEEDS = (101, 1, 4711)
TESTS = ("tests/activities/test_judged_before.py", "tests/histories/test_replaying.py")
RECORDINGS = ("tests/activities/judged_before.tar.xz", "tests/histories/0.2/*.json.gz")

_LONGEST = 60
_OF_THE_ATTEMPT = ("scenario_hash", "evaluators_hashes", "participant_url", "started_at", "ended_at", "seconds_played")

Lines = dict[str, str]


def instances(*, quick: bool) -> Lines:
    lines: Lines = {}
    python_files = set[str]()
    for folder in sorted(path.parent for path in (SCENARIOS / "families").glob("*/family.toml")):
        for difficulty in (1,) if quick else (1, 2, 3, 4):
            for seed in SEEDS[:1] if quick else SEEDS:
                day = make_day(folder, difficulty, seed)
                lines[f"instance {folder.name} {difficulty} {seed}"] = hash_day(day)
                python_files.update(name for name in day.files() if name.endswith(".py"))
    return lines | {"python-files": " ".join(sorted(python_files))}


def recordings() -> Lines:
    paths = sorted(path for pattern in RECORDINGS for path in ROOT.glob(pattern))
    return {f"file {path.relative_to(ROOT).as_posix()}": _digest(path.read_bytes()) for path in paths}


def demo() -> Lines:
    with tempfile.TemporaryDirectory(prefix="proctor-guards-") as folder:
        environment = {**os.environ, "XDG_STATE_HOME": f"{folder}/state"}
        command = [sys.executable, "-m", "proctor", "demo"]
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        results = AssessmentResults.model_validate_json(Path(folder, "assessment_results.json").read_bytes())
    assert results.provenance is not None
    provenance = results.provenance.model_dump(mode="json", exclude=set(_OF_THE_ATTEMPT))
    return {f"demo {part}": text for part, text in _parts({**normalised(results), "provenance": provenance})}


def _parts(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in result.items():
        if name == "criteria_results":
            for criterion in ({**verdict, "evaluator_hash": None} for verdict in value):
                points = f"{criterion['score']}/{criterion['max_score']}"
                yield f"{name}.{criterion['criterion_id']}", f"{points} {_digest(_as_json(criterion))}"
        else:
            text = _as_json(value)
            yield name, text.decode() if len(text) <= _LONGEST else _digest(text)


def cpu() -> Lines:
    command = [sys.executable, "-m", "benchmarks.turns", "--repetitions", "5"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    lines = {f"cpu {name}": f"{spent}" for name, spent in json.loads(done.stdout)["cpu_ms_per_turn"].items()}
    return lines | {"cpu machine": f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"}


def _as_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def measure(*, quick: bool) -> Lines:
    lines = instances(quick=quick) | recordings()
    return lines if quick else lines | demo() | cpu()


def check(*, quick: bool) -> int:
    before: Lines = dict(line.split(": ", 1) for line in RECORDED.read_text(encoding="utf-8").splitlines())
    now = measure(quick=quick)
    differing = 0
    for key in sorted(now if quick else before | now):
        old, new = before.get(key, "nothing"), now.get(key, "nothing")
        if key.startswith("cpu "):
            print(f"{key}: {old} before, {new} now")
        elif old != new:
            differing += 1
            print(f"{key}: {old} was recorded, {new} found")
    print(f"{len(now)} lines compared, {differing} differ")
    failed = subprocess.run([sys.executable, "-m", "pytest", *TESTS], cwd=ROOT, check=False).returncode
    return 1 if differing or failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.guards", description="Compare behaviour with a recording.")
    parser.add_argument("command", choices=("record", "check"))
    parser.add_argument("--quick", action="store_true", help="one instance of each family, no demo, no turns")
    asked = parser.parse_args()
    if asked.command == "check":
        return check(quick=asked.quick)
    if asked.quick:
        parser.error("record writes all lines: leave --quick out")
    lines = measure(quick=False)
    RECORDED.write_text("".join(f"{key}: {value}\n" for key, value in sorted(lines.items())), encoding="utf-8")
    print(f"{len(lines)} lines written to {RECORDED.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
