"""What is disturbed of the later abilities: the user's answer, a deadline inside a turn, noise after an action, two
participants at work, and the night. Each has a case of its own, with its moments.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from tests.chaos import replays, stops
from tests.chaos.lanes import Placement
from tests.chaos.moments import OF_COLLEAGUE, Matches, Seen, Together
from tests.chaos.rehearsals import EACH_PHASE, Outcome, Recovery, is_model, is_participant, is_step, killed_at
from tests.chaos.services import NIGHT, PAIR, Case, Services

_TURNS_OF_PAIR = 4


def _is_failing(seen: Seen) -> bool:
    """The answer by which the simulator says that the participant's action of turn 2 failed."""
    return seen.who == "tools" and seen.turn == 2 and seen.what.endswith("/email/send") and seen.status >= 500


def _either(one: Matches, other: Matches) -> Matches:
    return lambda seen: one(seen) or other(seen)


_ADVANCES = is_step(2, "events", "to", lacks="actions_at")
_SETTLES = is_step(2, "actions_at")
_BEN_PLAYS = is_participant(f"{OF_COLLEAGUE}turn 2 during")

USER = Case(
    "user's answer",
    {
        "answering as the user": (2, EACH_PHASE["answering as the user"]),
        "whether to answer as the user": (2, is_model("You play Ana Alvarez", "Would you answer this", turn=2)),
    },
)
CLOCK = Case(
    "deadline inside a turn",
    {
        "news inside": (2, EACH_PHASE["turn: news inside"]),
        "turn: after": (2, EACH_PHASE["turn: after"]),
        "settling": (2, EACH_PHASE["settling"]),
    },
    conditions={"clock": "fixed:1200"},
)
NOISE = Case(
    "noise after the action",
    {
        "failing answer": (2, _is_failing),
        "turn: failed": (2, EACH_PHASE["turn: failed"]),
        "turn: during": (2, EACH_PHASE["turn: during"]),
        "settling": (2, EACH_PHASE["settling"]),
    },
    conditions={"noise": 3, "seed": 105},
)
"""In turn 2 the mail to Ben is sent, its answer says that it failed, and so the participant sends it again."""

TWO = Case(
    "two participants",
    {
        "both at work": (2, Together(_either(is_participant("turn 2 during"), _BEN_PLAYS))),
        "one settling, one at work": (2, Together(_either(_SETTLES, _BEN_PLAYS))),
        "both settling": (2, Together(_SETTLES)),
        "one delivery": (2, _ADVANCES),
        "both deliveries": (2, Together(_ADVANCES)),
        "both deliveries, before": (2, Together(_ADVANCES)),
        "both closing": (_TURNS_OF_PAIR, Together(is_step(_TURNS_OF_PAIR, "revoke"))),
    },
    scenario=PAIR,
    turns=_TURNS_OF_PAIR,
    roles=("ana_side", "ben_side"),
)
"""In turn 2 each has a message of the other's user on its way to its own."""

NIGHTS = Case(
    "the night",
    {
        "evening: settling": (1, is_step(1, "actions_at")),
        "night, before": (1, is_step(1, "to", lacks="actions_at")),
        "night": (1, is_step(1, "to", lacks="actions_at")),
        "morning: claim": (1, is_step(1, "mark")),
        "morning: before": (2, is_participant("turn 2 before")),
        "morning: during": (2, is_participant("turn 2 during")),
        "morning: settling": (2, is_step(2, "actions_at")),
    },
    scenario=NIGHT,
)
CASES = (USER, CLOCK, NOISE, TWO, NIGHTS)
NAMES = tuple(case.name for case in CASES)


def drawn(seed: int, count: int, names: Sequence[str] = NAMES, only: str = "") -> list[Placement]:
    """So many placements, in the order of a seed: kills, freezes and resets of each named case by turns.

    Args:
        seed: of the order.
        count: how many at most.
        names: of the cases.
        only: what the printed name has to contain: ``two participants, killed | one delivery``.
    """
    draw = random.Random(f"abilities {seed}")
    kinds: dict[str, list[Placement]] = defaultdict(list)
    for placement in chain.from_iterable(placements(case) for case in CASES if case.name in names):
        if only in str(placement):
            kinds[placement.kind].append(placement)
    for of_kind in kinds.values():
        draw.shuffle(of_kind)
    in_turns = (
        of_kind[number]
        for number in range(max(map(len, kinds.values()), default=0))
        for of_kind in kinds.values()
        if number < len(of_kind)
    )
    return list(in_turns)[:count]


def placements(case: Case) -> Iterator[Placement]:
    """Every kill, freeze and reset of a case."""
    for phase, (turn, _) in case.phases.items():
        for process in case.processes:
            yield _killed(case, phase, process)
            for until in stops.SECONDS:
                yield _frozen(case, phase, process, until)
        for to in range(1, turn + 1):
            for way in replays.WAYS:
                yield _reset(case, phase, to, way)


def _killed(case: Case, phase: str, process: str) -> Placement:
    async def play(services: Services, reference: Outcome) -> list[Recovery]:
        return [await killed_at(services, phase, process, reference)]

    return Placement(f"{case.name}, killed", f"{phase} × {process}", play, case)


def _frozen(case: Case, phase: str, process: str, until: str) -> Placement:
    async def play(services: Services, reference: Outcome) -> list[Recovery]:
        return [await stops.stopped_for(services, phase, process, until, reference)]

    return Placement(f"{case.name}, frozen", f"{phase} × {process} for {until}", play, case)


def _reset(case: Case, phase: str, turn: int, way: replays.Way) -> Placement:
    async def play(services: Services, reference: Outcome) -> list[Recovery]:
        return [await replays.replayed_at(services, phase, turn, way, reference)]

    return Placement(f"{case.name}, reset", f"{phase} × {replays.named(turn)} × {way}", play, case)
