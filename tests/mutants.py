"""``make mutants``: small defects, one at a time, in the files that keep the invariants; do their tests find them?

Each file has the tests that guard it (``GUARDED_BY``). Cosmic Ray makes the mutants. A sample of each file's, drawn
with ``--seed``, is tried in a copy of the project. Each mutant that no test finds is printed, and a table.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

GUARDED_BY: dict[str, tuple[str, ...]] = {
    "proctor/ues/fences.py": ("tests/ues/test_fences.py",),
    "proctor/ues/claims.py": ("tests/ues/test_fences.py", "tests/ues/test_keys.py", "tests/ues/test_noise.py"),
    "proctor/ues/keys.py": ("tests/ues/test_fences.py", "tests/ues/test_keys.py"),
    "proctor/ues/checkpoint.py": ("tests/ues/test_checkpoints.py", "tests/ues/test_parts.py"),
    "activities/attempts/fencing.py": ("tests/activities/test_fencing.py", "tests/activities/test_with_simulator.py"),
    "activities/simulation/keys.py": ("tests/activities/test_keys.py", "tests/activities/test_fencing.py"),
    "activities/models/metering.py": (
        "tests/activities/test_usage.py",
        "tests/assessments/with_a_model/test_models.py",
    ),
    "workflows/judging.py": ("tests/workflows/test_judging.py", "tests/workflows/test_story.py"),
    "workflows/ending.py": ("tests/workflows/test_cancelling.py", "tests/workflows/test_ways_out.py"),
    "proctor/storage/blobs.py": ("tests/storage/test_blobs.py", "tests/storage/test_object_stores.py"),
    "proctor/storage/archive.py": ("tests/storage/test_archive.py",),
    "a2a_gateway/auth/quotas.py": ("tests/a2a_gateway/test_callers.py", "tests/a2a_gateway/test_auth.py"),
    "a2a_gateway/starting.py": ("tests/a2a_gateway/test_sending.py", "tests/a2a_gateway/test_callers.py"),
}
"""File to its tests, the quickest first."""

_OPERATORS = (
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Lt_Gt", "Gt_Lt", "LtE_GtE", "GtE_LtE", "Is_IsNot", "IsNot_Is")),
    *("ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add", "ReplaceUnaryOperator_Delete_Not", "AddNot"),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop", "ExceptionReplacer"),
)
"""Without operators whose mutants mostly behave as the original: numbers, annotations, one arithmetic for another."""


def main() -> int:
    """Try the mutants; 0 whatever their number: people decide what a survivor means."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    reader.add_argument("files", nargs="*", default=list(GUARDED_BY), help=f"of {', '.join(GUARDED_BY)}")
    reader.add_argument("--each", type=int, default=12, help="the most mutants of a file")
    reader.add_argument("--seed", type=int, default=1)
    given = reader.parse_args()
    if unknown := [file for file in given.files if file not in GUARDED_BY]:
        reader.error(f"no tests are named for {', '.join(unknown)}. Add them to GUARDED_BY in tests/mutants.py")
    if gone := [name for file in given.files for name in (file, *GUARDED_BY[file]) if not (ROOT / name).is_file()]:
        reader.error(f"no such file: {', '.join(gone)}. Mend GUARDED_BY in tests/mutants.py")
    table: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="proctor-mutants-") as folder:
        stash = subprocess.run(["git", "stash", "create"], cwd=ROOT, capture_output=True, text=True, check=True)
        archive = ["git", "archive", stash.stdout.strip() or "HEAD"]
        files = subprocess.run(archive, cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=files, check=True)
        for file in given.files:
            table[file] = Counter(_outcomes(Path(folder), file, given.each, given.seed))
            print(f"{file:36} {_summary(table[file])}", flush=True)
    print(f"{'all':36} {_summary(sum(table.values(), Counter()))}")
    return 0


def _summary(outcomes: Counter[str]) -> str:
    tried = sum(outcomes.values())
    found = tried - outcomes["survived"]
    return f"{found} of {tried} found ({found / tried:.0%}), {outcomes['timed out']} by a timeout" if tried else "-"


def _outcomes(copy: Path, file: str, most: int, seed: int) -> Iterator[str]:
    """``killed``, ``timed out`` or ``survived`` for each mutant of a file's sample."""
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    began = time.monotonic()
    if _run_tests(copy, file, 600) != "survived":
        raise SystemExit(f"{file}: its tests fail without a mutant: {' '.join(GUARDED_BY[file])}")
    limit = 30 + 3 * (time.monotonic() - began)
    mutants = list(_mutants(copy / file))
    for operator, occurrence in random.Random(f"{seed} {file}").sample(mutants, min(most, len(mutants))):
        with use_mutation(copy / file, get_operator(operator)(), occurrence) as (before, after):
            outcome = _run_tests(copy, file, limit)
        if outcome == "survived":
            print(f"  survived: {file}: {operator.removeprefix('core/')}{_difference(before, after)}", flush=True)
        yield outcome


def _mutants(path: Path) -> Iterator[tuple[str, int]]:
    """Operator and number of its occurrence, for each mutant of a file; decorators (``frozen=True``) are left alone."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator

    tree, lines = get_ast_from_path(path), path.read_text().splitlines()
    for operator in (f"core/{name}" for name in _OPERATORS):
        maker: Any = get_operator(operator)()
        positions = [position for node in ast_nodes(tree) for position in maker.mutation_positions(node)]
        for number, ((line, _), _) in enumerate(positions):
            if not lines[line - 1].lstrip().startswith("@"):
                yield operator, number


def _difference(before: str, after: str) -> str:
    lines = zip(before.splitlines(), after.splitlines(), strict=False)
    number, old, new = next((n, a.strip(), b.strip()) for n, (a, b) in enumerate(lines, 1) if a != b)
    return f", line {number}\n    - {old}\n    + {new}"


def _run_tests(copy: Path, file: str, seconds: float) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *GUARDED_BY[file]]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    log = subprocess.DEVNULL
    running = subprocess.Popen(command, cwd=copy, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        return "survived" if running.wait(seconds) == 0 else "killed"
    except subprocess.TimeoutExpired:
        return "timed out"
    finally:
        subprocess.run(["pkill", "-KILL", "-s", str(running.pid)], check=False)
        running.wait()


if __name__ == "__main__":
    sys.exit(main())
