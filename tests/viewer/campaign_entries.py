"""Entries of campaigns and trials for which nothing has to be played: ordinary ones, and ones that are all hostile."""

import json
import random
from datetime import datetime, timedelta
from typing import Any

from proctor.protocol.archive import ArchivedUpdate, ArchiveEntry, CommandRecord
from proctor.protocol.campaigns import Tally
from proctor.protocol.runs import RunCell, RunResults
from proctor.statistics import compared, items, summaries
from proctor.storage.archive import Archive
from purple_sdk.protocol.provenance import ModelUse
from purple_sdk.protocol.results import Doubt
from purple_sdk.protocol.statistics import Points, Run
from purple_sdk.protocol.terminal import FailureMode, Share, TerminalResults, TrialResult
from tests.viewer.entries import MORNING, write_day

ESCAPES = (
    "\x1b]0;pwned\x07\x1b]8;;javascript:window.pwned=6\x07click\x1b]8;;\x07\x1b[2J\x1b[31mred\x1b[0m\x1bP+q544e\x1b\\"
    "\x1b[8mhidden\x1b[0m"
)
"""What terminals do things by."""

DOUBT = Doubt(
    item="/conftest.py",
    statement="The agent changed pytest's settings (/conftest.py).",
    reason="The tests pass only with this change of the agent's.",
)


def lines(records: list[Any]) -> bytes:
    return b"".join(record.model_dump_json().encode() + b"\n" for record in records)


def write_campaign(
    archive: Archive,
    name: str,
    *,
    agents: tuple[str, ...] = ("careful", "hasty"),
    scenarios: tuple[str, ...] = ("lunch", "move_house"),
    seeds: int = 5,
    repeats: int = 2,
    text: str | None = None,
) -> ArchiveEntry:
    """A campaign whose agents differ in one criterion; of each scenario the first assessment has an entry, too.

    Args:
        archive: where to.
        name: its id.
        agents, scenarios, seeds, repeats: what was played.
        text: what a participant's author chose, and what failures say; ordinary words where it isn't said.
    """
    chance = random.Random(7)
    runs: list[Run] = []
    cells: list[RunCell] = []
    shown = {agent: text + agent if text else agent for agent in agents}
    for repeat in range(repeats):
        for seed in range(seeds):
            for scenario in scenarios:
                for number, agent in enumerate(agents):
                    run = _run(chance, f"{name}-{len(runs)}", shown[agent], number, scenario, seed, repeat)
                    runs.append(run)
                    cells.append(_cell(run, text))
    results = RunResults(
        campaign_id=name,
        status="completed",
        judge_warnings=[text or "judge judge: kappa 0.41 on the cases of lunch, below 0.6"],
        agents=dict.fromkeys(shown.values(), "http://agent.example:8001"),
        cells=cells,
        missing=2,
        stopped="Stopped before its costs pass 10.",
        summaries=summaries(runs),
        comparisons=[compared(shown[agents[0]], shown[agents[1]], runs)] if len(agents) > 1 else [],
        items=items(runs),
        tokens=sum(run.tokens or 0 for run in runs),
        cost=sum(run.cost or 0 for run in runs),
        started_at=MORNING,
        ended_at=MORNING + timedelta(hours=1),
        config={"passing_percent": 60.0},
    )
    for scenario in scenarios:
        first = next(run for run in runs if run.scenario == scenario and run.status == "completed")
        write_day(archive, first.run_id, campaign=name, scenario=scenario)
    tally = Tally(total=len(cells) + 2, done=len(cells), waiting=2, succeeded=21, failed=2, replayed=1, score=24.8)
    entry = _entry(name, "campaign", campaign_kind="assessments", tally=tally, earned=0.62, cost=results.cost)
    files = {
        "result.json": results.model_dump_json().encode(),
        "updates.jsonl": lines([ArchivedUpdate(sequence=0, data={})]),
        "runs.jsonl": lines(runs),
    }
    about = {"scenario_id": text or ", ".join(scenarios), "participant": ", ".join(shown.values())}
    return archive.write(entry.model_copy(update=about), files, {})


def _run(chance: random.Random, name: str, agent: str, number: int, scenario: str, seed: int, repeat: int) -> Run:
    asked = 4 if chance.random() < (0.85, 0.35, 0.6, 0.5)[number % 4] else chance.choice((0, 1))
    polite, quick = 2, chance.choice((0, 1, 2, 3)) if asked else 1
    points = {"asks": (asked, 4), "polite": (polite, 2), "quick": (quick, 3), "perfect": (0, 1)}
    has_failed = number == 1 and seed % 5 == 4 and repeat == 1
    return Run(
        run_id=name,
        agent=agent,
        scenario=scenario,
        seed=seed,
        repeat=repeat,
        status="failed" if has_failed else "completed",
        failed_by_participant=has_failed,
        overall=None if has_failed else Points(score=asked + polite + quick, max_score=10),
        criteria={} if has_failed else {key: Points(score=s, max_score=m) for key, (s, m) in points.items()},
        tokens=chance.randint(8_000, 20_000),
        cost=round(chance.uniform(0.02, 0.09) * (1 + number), 4),
    )


def _cell(run: Run, text: str | None) -> RunCell:
    has_failed = run.status == "failed"
    return RunCell(
        agent=run.agent,
        scenario_id=run.scenario,
        seed=run.seed or 0,
        repeat=run.repeat,
        task_id=run.run_id,
        status=run.status,
        failed_by_participant=run.failed_by_participant,
        failure_kind="ParticipantMisbehaved" if has_failed else None,
        failure=(text or "careful answers with a poem.") if has_failed else None,
        score=int(run.overall.score) if run.overall else None,
        max_score=10 if run.overall else None,
        plays=2 if has_failed else 1,
        tokens=run.tokens,
        cost=run.cost,
        seconds=61.0,
    )


def _entry(name: str, kind: str, at: datetime = MORNING, **more: Any) -> ArchiveEntry:
    known = {"status": "completed", "scenario_id": "", "started_at": at, "ended_at": at + timedelta(hours=1)}
    return ArchiveEntry.model_validate({"kind": kind, "id": name, "fence": 1, "seconds": 3600, **known, **more})


def write_trial(
    archive: Archive, name: str, *, campaign: str | None = None, task: str = "sort-log", attempt: int = 1,
    is_resolved: bool = True, text: str | None = None, is_doubtful: bool = False,
) -> tuple[ArchiveEntry, TrialResult]:  # fmt: skip
    """A trial of some commands, with a recording, tests and logs; ``text`` is what its agent prints everywhere."""
    at = MORNING + timedelta(minutes=attempt)
    said = [
        ("ls -l /app", "total 8\n-rw-r--r-- 1 agent agent 5120 Mar 10 07:00 access.log\n", 0),
        ("sort -k4 access.log | uniq -c | sort -rn | head -3", "     41 10.0.0.7\n     17 10.0.0.9\n      3 ::1\n", 0),
        ("python3 report.py", "Traceback (most recent call last):\n  …\nFileNotFoundError: 'acess.log'\n", 1),
        ("sed -i 's/acess/access/' report.py && python3 report.py", "written: report.txt (\x1b[32mok\x1b[0m)\n", 0),
    ]
    records = [CommandRecord(at=at, kind="opened")]
    cast: list[Any] = [{"version": 2, "width": 100, "height": 24, "timestamp": int(at.timestamp())}]
    for number, (command, output, code) in enumerate(said):
        entered, printed = text or command, text or output
        records.append(
            CommandRecord(
                at=at + timedelta(seconds=4 * number),
                kind="command",
                command=entered,
                cwd="/app",
                exit_code=code,
                output=printed,
                seconds=0.4,
            )
        )
        cast.append([4.0 * number + 0.5, "o", f"\x1b[1m$ {entered}\x1b[0m\r\n"])
        cast.append([4.0 * number + 1, "o", printed.replace("\n", "\r\n")])
    records.append(CommandRecord(at=at, kind="docker exec", id="x1", command=text or "bash -c 'make test'"))
    records.append(CommandRecord(at=at, kind="docker exec", id="x1", exit_code=2))
    records.append(CommandRecord(at=at, kind="keys", keys=["top", "Enter", text or "q"], session="main"))
    records.append(CommandRecord(at=at, kind="screen", screen=text or "top - 07:00:01 up 1 min"))
    tests = {"test_report_exists": "passed", "test_counts": "passed" if is_resolved else "failed"}
    if text:
        tests[text] = "failed"
    result = TrialResult.model_validate(
        {
            "trial_id": name,
            "trial_name": f"{task}.{attempt}",
            "task_id": task,
            "attempt": attempt,
            "instruction": text or "Count the requests in /app/access.log by address, and write report.txt.",
            "is_resolved": is_resolved,
            "reward": 1 if is_resolved else 0.5,
            "failure_mode": "agent_timeout" if text else "none",
            "failure": text,
            "blame": "participant" if text else None,
            "parser_results": tests,
            "verifier": "separate",
            "doubts": [DOUBT] if is_doubtful else [],
            "details": {"limits_reached": [text or "processes: 98 could not be started"]},
            "recording_path": "sessions/agent.cast",
            "usage": [ModelUse(model=text or "m-1", input_tokens=5_100, output_tokens=420, cost=0.03, currency="USD")],
            "trial_started_at": at,
            "trial_ended_at": at + timedelta(seconds=42),
            "agent_message": text or "The report is written.",
            "tries": 2,
            "phases": {"build": 1.2, "start": 0.6, "agent": 33.1, "tests": 2.8, "logs": 0.3, "stop": 0.9},
        }
    )
    entry = _entry(
        name, "trial", at, campaign=campaign, scenario_id=text or task, participant=text or "terminal_agent",
        score=int(is_resolved), max_score=1, total_points=1, earned=result.reward, sentence=text or "", cost=0.03,
    ).model_copy(update={"seconds": 42.0})  # fmt: skip
    files = {
        "result.json": result.model_dump_json().encode(),
        "updates.jsonl": lines([ArchivedUpdate(sequence=0, data={"error_message": text} if text else {})]),
        "transcript.jsonl": lines(records),
        "recording.cast": b"".join(json.dumps(line).encode() + b"\n" for line in cast),
        "logs/tests.log": (text or "2 passed in 0.31s\n").encode(),
        "logs/agent_interaction.log": (text or "to the agent: Count the requests …\n").encode(),
    }
    return archive.write(entry, files, {}), result


def write_run(
    archive: Archive, name: str, *, tasks: int = 4, attempts: int = 3, text: str | None = None, doubtful: int = 0
) -> ArchiveEntry:
    """A run of trials; the first ``doubtful`` of them have a doubtful verdict."""
    trials: list[TrialResult] = []
    for task in range(tasks):
        for attempt in range(1, attempts + 1):
            is_resolved = (task + attempt) % 3 > 0
            label = f"{('sort-log', 'fix-build', 'two-services', 'find-leak')[task % 4]}{task // 4 or ''}"
            trials.append(
                write_trial(
                    archive,
                    f"{name}.{label}.{attempt}",
                    campaign=name,
                    task=label,
                    attempt=attempt,
                    is_resolved=is_resolved,
                    text=text,
                    is_doubtful=len(trials) < doubtful,
                )[1]
            )
    certain = [bool(trial.is_resolved) for trial in trials if not trial.doubts]
    resolved = [trial.task_id for trial in trials if trial.is_resolved]
    share = Share(value=len(resolved) / len(trials), low=0.42, high=0.88, tasks=tasks)
    results = TerminalResults(
        run_id=name,
        dataset="terminal_bench",
        participant=text or "terminal_agent",
        status="completed",
        n_tasks=tasks,
        n_attempts=attempts,
        n_trials=len(trials),
        n_resolved=len(resolved),
        n_unresolved=len(trials) - len(resolved),
        accuracy=round(share.value, 6),
        accuracy_interval=share,
        n_doubtful=doubtful,
        accuracy_without_doubtful=round(sum(certain) / len(certain), 6) if doubtful else None,
        accuracy_if_settled=(sum(certain) / len(trials), (sum(certain) + doubtful) / len(trials)) if doubtful else None,
        pass_at_k={1: share, 2: Share(value=0.9, low=0.7, high=1, tasks=tasks)},
        resolved_ids=resolved,
        failure_modes={FailureMode.NONE: len(trials)},
        results=trials,
    )
    tally = Tally(total=len(trials), done=len(trials), succeeded=len(resolved))
    entry = _entry(
        name, "campaign", campaign_kind="terminal-bench", tally=tally, earned=share.value,
        scenario_id=text or "terminal-bench terminal_bench", participant=text or "terminal_agent",
    )  # fmt: skip
    files = {
        "result.json": results.model_dump_json().encode(),
        "updates.jsonl": lines([ArchivedUpdate(sequence=0, data={})]),
    }
    return archive.write(entry, files, {})
