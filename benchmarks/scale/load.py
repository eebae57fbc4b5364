"""What one assessment asks of each resource: the measured bill, in the simulation's terms."""

from dataclasses import dataclass
from statistics import mean

from benchmarks.bill.evaluator import PROCESSES
from benchmarks.bill.record import Bill, Play
from benchmarks.scale.settings import NightSettings

EVALUATOR = tuple(PROCESSES.values())


@dataclass(frozen=True)
class Load:
    """One assessment.

    Attributes:
        fixed, per_turn: seconds of processor time by process, beside turns and in each turn.
        waiting: the same for each second for which an activity waits, for a participant or a model.
        turn_seconds: how long the participant takes for a turn, at least and at most.
        thinking: seconds for which characters' models are waited for in a turn, one after another; ``thinkers``: how
            many activities wait meanwhile. judging, judges: the same after the turns.
        tokens, calls: of models, in all. actions, requests: of Temporal, without those of waiting.
        heartbeats, waiting_requests: of each second for which an activity waits.
        writes, reads: requests to store and archive, as they are billed.
        waits_begun: activities that wait for the participant.
    """

    turns: int
    fixed: dict[str, float]
    per_turn: dict[str, float]
    waiting: dict[str, float]
    turn_seconds: tuple[float, float] = (0.0, 0.0)
    thinking: float = 0.0
    thinkers: float = 0.0
    judging: float = 0.0
    judges: float = 0.0
    tokens: float = 0.0
    calls: float = 0.0
    actions: float = 0.0
    requests: float = 0.0
    heartbeats: float = 0.0
    waiting_requests: float = 0.0
    writes: float = 0.0
    reads: float = 0.0
    waits_begun: float = 0.0

    @property
    def participant_seconds(self) -> float:
        """For how long its participant is waited for, in all."""
        return self.turns * mean(self.turn_seconds)

    @property
    def model_waits(self) -> float:
        """Seconds for which activities wait for models, those side by side added up."""
        return self.turns * self.thinking * self.thinkers + self.judging * self.judges

    @property
    def waits(self) -> float:
        """Seconds for which activities wait, those side by side added up."""
        return self.participant_seconds + self.model_waits

    @property
    def shortest(self) -> float:
        """How long it takes where nothing is waited for that others use: in seconds."""
        played = sum(self.fixed.values()) + self.turns * sum(self.per_turn.values())
        return played + self.participant_seconds + self.turns * self.thinking + self.judging

    def cpu(self, process: str) -> float:
        """Processor time of one process, waiting and all."""
        played = self.fixed.get(process, 0) + self.turns * self.per_turn.get(process, 0)
        return played + self.waits * self.waiting.get(process, 0)

    @property
    def all_actions(self) -> float:
        """Billable actions, those of waiting, too."""
        return self.actions + self.waits * self.heartbeats

    @property
    def all_requests(self) -> float:
        """Requests to Temporal, those of waiting, too."""
        return self.requests + self.waits * self.waiting_requests


def load_of(bill: Bill, play: Play, night: NightSettings, lively: float = 1.0) -> Load:
    """A measured play, in a night like this.

    Args:
        lively: how often what waits gives signs of life, as a share of what was measured; what that costs likewise.
    """
    thinking = play.thinking
    return Load(
        turns=play.turns,
        fixed={name: play.cpu_fixed.get(name, 0.0) for name in EVALUATOR},
        per_turn={n: (play.cpu.get(n, 0.0) - play.cpu_fixed.get(n, 0.0)) / play.turns for n in EVALUATOR},
        waiting={name: cpu * lively for name, cpu in bill.waiting.cpu.items()},
        turn_seconds=night.turn_seconds,
        thinking=thinking.characters_depth * night.model_seconds / play.turns,
        thinkers=thinking.characters_waits / (thinking.characters_depth or 1),
        judging=thinking.judges_depth * night.model_seconds,
        judges=thinking.judges_waits / (thinking.judges_depth or 1),
        tokens=play.judges.input + play.characters.input + night.output_tokens * play.calls,
        calls=play.calls,
        actions=play.played_actions,
        requests=play.played_requests,
        heartbeats=bill.waiting.heartbeats * lively,
        waiting_requests=bill.waiting.requests * lively,
        writes=night.store_writes.get(play.scenario, play.store.objects + play.archive.objects),
        reads=night.store_reads.get(play.scenario, 0.0),
        waits_begun=play.turns + 2,  # a greeting and a farewell, too
    )
