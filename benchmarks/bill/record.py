"""The measurements in ``benchmarks/bill.json``: the input of ``benchmarks.scale``."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

HEARTBEAT = "RecordActivityTaskHeartbeat"
"""The name of a heartbeat among requests to Temporal and among actions."""

QUERIES = "grpc_QueryWorkflow"
"""The name of a query in the server's metric ``action``."""

FILE = Path(__file__).parent.parent / "bill.json"


class Record(BaseModel):
    """A part of the bill; never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Machine(Record):
    """The place and time of the measurement. ``load`` is the load average of the minute before; 0 means idle."""

    measured_at: datetime
    commit: str
    processor: str
    cores: int
    python: str
    load: float


class Stored(Record):
    """Files in a folder, and their bytes on the disk (contents are compressed)."""

    objects: float = 0
    bytes: float = 0

    def __sub__(self, other: Self) -> Self:
        return type(self)(objects=self.objects - other.objects, bytes=self.bytes - other.bytes)

    def over(self, parts: float) -> Self:
        """The size of one of several equal parts."""
        return type(self)(objects=self.objects / parts, bytes=self.bytes / parts)


class Tokens(Record):
    """Calls of models, and their input at four characters a token; ``uncached`` is input without a prompt cache."""

    calls: int = 0
    input: int = 0
    uncached: int = 0


class Thinking(Record):
    """Waits for models, in seconds for each second that a model takes for an answer.

    Attributes:
        characters_depth, judges_depth: by the clock, with simultaneous waits counted once.
        characters_waits, judges_waits: the sum over all activities.
    """

    characters_depth: float = 0.0
    characters_waits: float = 0.0
    judges_depth: float = 0.0
    judges_waits: float = 0.0


class Play(Record):
    """One assessment: the means over ``repetitions`` plays in sequence.

    Attributes:
        participant: ``instant`` does nothing, ``baseline`` is the rule-based agent that comes with the scenario.
        with_models: whether a scripted endpoint is the model of characters and judges; otherwise, plays are offline.
        cpu: seconds of processor time, by process with its children; setting up and judging are included.
        events, history_bytes, activities: of all workflows of the assessment, including its context's queue.
        actions: billable actions, by kind, counted from the histories; heartbeats and queries leave no trace there.
        counted_by_server: the actions by the server's own metric ``action``, with heartbeats.
        requests: gRPC requests to the server's front end, by kind.
        store, archive: the growth by one more assessment.
    """

    scenario: str
    participant: str
    with_models: bool
    turns: int
    repetitions: int
    cpu: dict[str, float]
    activities: float
    events: float
    history_bytes: float
    actions: dict[str, float]
    counted_by_server: dict[str, float]
    requests: dict[str, float]
    store: Stored
    archive: Stored
    judges: Tokens = Tokens()
    characters: Tokens = Tokens()
    thinking: Thinking = Thinking()

    @property
    def calls(self) -> int:
        return self.judges.calls + self.characters.calls

    @property
    def played_actions(self) -> float:
        """Billable actions without heartbeats, whose number depends on the time that other parties take.

        Queries leave no trace in a history; their number is the server's count.
        """
        return sum(self.actions.values()) + self.counted_by_server.get(QUERIES, 0)

    @property
    def played_requests(self) -> float:
        """Requests to Temporal, without heartbeats."""
        return sum(self.requests.values()) - self.requests.get(HEARTBEAT, 0)

    @property
    def name(self) -> str:
        return f"{self.scenario}, {self.participant}{', with models' if self.with_models else ''}"


class Waiting(Record):
    """The cost of one second in which one activity waits.

    Attributes:
        cpu: the CPU seconds of the processes that handle heartbeats.
        heartbeats, requests: their numbers.
    """

    cpu: dict[str, float]
    heartbeats: float
    requests: float


class Memory(Record):
    """The most memory of each process with its children (PSS), in bytes, while ``at_once`` assessments were playing."""

    at_once: int
    peak: dict[str, int]


class Trial(Record):
    """One terminal trial, played with the task's own solution: the means over all trials of a run.

    Attributes:
        cpu: CPU seconds by the evaluator's processes, without containers and Docker.
        events, actions: of all workflows of the run, shared by its trials; actions without heartbeats.
    """

    task: str
    trials: int
    cpu: dict[str, float]
    actions: dict[str, float]
    events: float


class Bill(Record):
    machine: Machine
    plays: list[Play]
    waiting: Waiting
    memory: list[Memory]
    trial: Trial | None = None

    @classmethod
    def load(cls, file: Path = FILE) -> Self:
        return cls.model_validate_json(file.read_bytes())

    def save(self, file: Path = FILE) -> None:
        file.write_text(_rounded(self).model_dump_json(indent=1) + "\n")

    def play(self, scenario: str, participant: str, *, with_models: bool) -> Play:
        """One of the plays."""
        for play in self.plays:
            if (play.scenario, play.participant, play.with_models) == (scenario, participant, with_models):
                return play
        raise LookupError(
            f"{scenario} with participant {participant!r} was not measured; these were: "
            f"{'; '.join(play.name for play in self.plays)}"
        )


def _rounded(bill: Bill) -> Bill:
    """Round values to a measurement's digits: the file stays easy to read."""

    def of(value: object) -> object:
        if isinstance(value, float):
            return float(f"{value:.4g}") if abs(value) < 1e4 else round(value)
        if isinstance(value, dict):
            return {name: of(part) for name, part in value.items()}
        return [of(part) for part in value] if isinstance(value, list) else value

    return Bill.model_validate(of(bill.model_dump(mode="json")))


def this_machine() -> Machine:
    root = Path(__file__).parents[2]
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    cpu_info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(":")[2].strip() for line in cpu_info.splitlines() if line.startswith("model name")]
    return Machine(
        measured_at=datetime.now(UTC).replace(microsecond=0),
        commit=commit or "unknown",
        processor=names[0] if names else platform.machine(),
        cores=os.cpu_count() or 1,
        python=platform.python_version(),
        load=round(os.getloadavg()[0], 1),
    )
