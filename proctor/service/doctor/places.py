"""Checks of stores, of their clocks, and of disks."""

import asyncio
import shutil
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path

from proctor.activities.scenario_code.confinement import find_missing_protections
from proctor.activities.scenario_code.manager import ScenarioError, ScenarioManager
from proctor.service.doctor.findings import Finding, of_problem
from proctor.service.doctor.temporal import of_clock
from proctor.settings.config import GreenAgentConfig
from proctor.storage import threads
from proctor.storage.folder import Folder
from proctor.storage.trying import find_problem_of_store
from purple_sdk.processes.landlock import landlock_version
from purple_sdk.protocol.problems import Problem

_SLOW_STORE, _WAITS = 2.0, 10.0  # seconds after which a store is slow, and after which it does not answer
_SCARCE, _TOO_SCARCE = 5e9, 500e6
"""Free bytes of a disk, below which a warning and a problem are reported.

An assessment keeps some 100 kB, or 60 MB with a 50 MB mailbox.
"""


async def look_at_store(url: str, name: str) -> list[Finding]:
    """Check that a store can be written, read and cleaned up. Also check its speed and its clock."""
    began = time.monotonic()
    problem = await find_problem_of_store(url, name, _WAITS)
    if problem:
        return [of_problem(name, problem)]
    seconds = time.monotonic() - began
    findings = [Finding(name, "ok", f"It can be written, read and cleaned up at {url}.")]
    if seconds > _SLOW_STORE:
        findings = [
            Finding(
                name,
                "warning",
                f"To write, read and remove 50 bytes at {url} took {seconds:.1f} s.",
                "Every turn waits for it: have a store that is nearer to the workers.",
            )
        ]
    return [*findings, *await asyncio.to_thread(_check_clock, url, name)]


def _check_clock(url: str, name: str) -> list[Finding]:
    folder, path = Folder(url, name), f"trying/{uuid.uuid4().hex}"
    before = datetime.now(UTC)
    folder.write(path, b"when")
    try:
        written = folder.find_written_time(path)
    finally:
        folder.remove(path)
    return [] if written is None else [of_clock(f"the {name}", (written - before).total_seconds())]


async def look_at_scenarios(config: GreenAgentConfig) -> Finding:
    try:
        ids = await asyncio.to_thread(ScenarioManager(config.scenarios_dir).list_ids)
    except ScenarioError as error:
        return of_problem("scenarios", Problem.of(error))
    return Finding("scenarios", "ok", f"{len(ids)} can be played: {', '.join(ids)}.")


async def look_at_confinement(config: GreenAgentConfig) -> Finding:
    """Check the confinement of scenarios' code on this machine."""
    missing = find_missing_protections()
    if not missing:
        sentence = (
            f"Scenario code is confined by seccomp and Landlock {landlock_version()}: system calls, files, TCP ports."
        )
        return Finding("confinement", "ok", sentence)
    sentence = f"Scenario code is not confined: {'; '.join(missing)}. Scenarios that did not come with proctor are"
    if config.trust_scenarios:
        return Finding("confinement", "warning", f"{sentence} played all the same (AGENTBEATS_GREEN_TRUST_SCENARIOS).")
    remedy = "Use Linux 6.7 or later, or set AGENTBEATS_GREEN_TRUST_SCENARIOS=true if you trust their authors."
    return Finding("confinement", "warning", f"{sentence} refused.", remedy)


async def look_at_disks(config: GreenAgentConfig) -> list[Finding]:
    """Check the free space on the disks of the state folder and of local stores."""
    return await asyncio.wrap_future(threads.submit("disks", lambda: _disks(config)))


def _disks(config: GreenAgentConfig) -> list[Finding]:
    folders = {"state folder": config.state, "store": config.storage_url, "archive": config.archive_url}
    findings, seen = list[Finding](), set[int]()
    for name, folder in folders.items():
        place = Path(folder)
        if "://" in folder or "::" in folder:
            continue
        while not place.exists() and place != place.parent:
            place = place.parent
        device = place.stat().st_dev
        if device in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(place).free
        sentence = f"{free / 1e9:.1f} GB are free where the {name} is ({folder})."
        remedy = "" if free > _SCARCE else "Free some space there, or prune what is old (`proctor prune`)."
        state = "ok" if free > _SCARCE else "warning" if free > _TOO_SCARCE else "problem"
        findings.append(Finding("disk", state, sentence, remedy))  # type: ignore[arg-type]
    return findings
