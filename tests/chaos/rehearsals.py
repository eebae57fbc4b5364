"""One assessment, killed at or left in peace, and what is compared of it."""

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from a2a.types import a2a_pb2 as a2a
from google.protobuf.json_format import MessageToDict

from proctor.client.caller import Accepted, AssessmentCall, Ended, Progress
from proctor.common.errors import CommandError
from proctor.protocol.roles import name_of_role
from proctor.protocol.updates import AssessmentStartedUpdate, CriterionEvaluatedUpdate, ErrorOccurredUpdate, TaskUpdate
from purple_sdk.protocol.results import AssessmentResults
from tests.chaos.moments import Matches, Moment, Seen
from tests.chaos.participant import QUIET
from tests.chaos.services import PROCESSES, Services

SECONDS = 240.0
"""How long an assessment may take, with all that is done to it."""

REACHED_WITHIN = 120.0
"""How long it may take until a moment comes; a busy machine takes its time."""

_NEWS_ARRIVE = 0.4
"""Seconds until the subscriber has heard of what was before a moment."""

_ISSUES = re.compile(rb"participant-[0-9]+")
"""The participant's keys: how many it was given, and when, is another matter in every run."""

_OF_ONE_RUN = {"keys", "access_log", "seal"}
"""What of a checkpoint differs from run to run: secrets that derive from the assessment's id, and wall-clock times."""

_OF_ONE_RESULT: Any = {
    **dict.fromkeys(("assessment_id", "duration_seconds", "turn_tries", "provenance"), True),
    "roles": {"__all__": {"entry"}},
}
"""What of a result does."""


def is_participant(words: str) -> Matches:
    return lambda seen: seen.who == "participant" and seen.what == words


def _is_request(method: str, path: str, turn: int) -> Matches:
    def matches(seen: Seen) -> bool:
        return (
            seen.who == "simulator"
            and seen.what.startswith(f"{method} ")
            and seen.what.endswith(path)
            and seen.turn == turn
        )

    return matches


def is_step(turn: int, *has: str, lacks: str = "") -> Matches:
    """A step of the evaluator's, which asks for these things and not for that one."""

    def matches(seen: Seen) -> bool:
        is_step = seen.who == "simulator" and seen.what.startswith("POST /") and seen.what.endswith("/step")
        return is_step and seen.turn == turn and all(seen.body.get(name) for name in has) and not seen.body.get(lacks)

    return matches


def is_model(*words: str, turn: int) -> Matches:
    def matches(seen: Seen) -> bool:
        asked = json.dumps(seen.body)
        return seen.who == "model" and seen.turn == turn and all(word in asked for word in words)

    return matches


TURNS = 3
PHASES: dict[str, Matches] = {
    "set-up": _is_request("POST", "/scenario/import/full", 0),
    "start: before": is_participant("start before"),
    "start message": is_participant("start"),
    "turn: before": is_participant("turn 2 before"),
    "turn: during": is_participant("turn 2 during"),
    "turn: after": is_participant("turn 2 after"),
    "settling": is_step(2, "actions_at"),
    "responding": is_model("You play Ben Brook", "You decided to answer", turn=2),
    "answering as the user": is_model("You play Ana Alvarez", "You decided to answer", turn=2),
    "advancing": is_step(2, "events", "to", lacks="actions_at"),
    "quiet turn: settling": is_step(QUIET, "actions_at"),
    "quiet turn: moving on": is_step(QUIET, "to", lacks="actions_at"),
    "closing the simulation": is_step(TURNS, "revoke"),
    "judging: reading": _is_request("POST", "/sms/query", TURNS),
    "judging": is_model("Now judge this criterion", turn=TURNS),
    "finishing": lambda seen: (
        seen.who == "simulator" and bool(re.fullmatch("DELETE /simulations/[^/]+", seen.what)) and seen.turn == TURNS
    ),
}
"""The moments; those within a turn are in the second, but for those of the quiet turn, which is the third: in that one
nobody is asked for an answer.
"""

UNDER_NOISE: dict[str, Matches] = {"turn: failed": is_participant("turn 2 failed")}
"""Moments that there are under noise only: a request of the participant's has failed, done or not."""

INSIDE_A_TURN: dict[str, Matches] = {"turn: news inside": is_participant("turn 2 news")}
"""Moments that there are under a clock of at least 900 seconds a request only: what came during the turn was read."""

CONDITIONS: dict[str, Any] = {}
"""Clock, noise and seed of every assessment, where they aren't the usual ones."""

EACH_PHASE = PHASES | UNDER_NOISE | INSIDE_A_TURN

ON_ITS_WAY = ", before"
"""How the names of those moments go on at which a request hasn't reached the simulator yet."""

GOES_ON_LATER = {"judging: reading"}
"""Moments that are left only when the simulator is there again, without what was in it; the answer is not lost."""

DURING_A_TURN = {"turn: before", "turn: during", "turn: after"}


class ChaosError(AssertionError):
    """An assessment did not go as it should have."""


@dataclass(frozen=True)
class Outcome:
    """What must be the same however often something died.

    Attributes:
        results: the result without ids, wall-clock times and counts of tries.
        states: each simulation's last checkpoint, parsed: every modality's state, all events, the clock. By role; the
            only participant's has "".
        emails: role, subject and folder to how many there are.
        story: the updates without wall-clock times and without those that tell of errors got over.
        turn_tries: how often turns were played, where that was more than once.
    """

    results: dict[str, Any]
    states: dict[str, Any]
    emails: Counter[tuple[str, str, str]]
    story: list[dict[str, Any]]
    turn_tries: dict[str, int]

    def require_same(self, reference: "Outcome") -> None:
        """Raise ``ChaosError`` at the first thing that differs."""
        if lost := reference.emails - self.emails:
            raise ChaosError(f"emails lost: {dict(lost)}")
        if doubled := self.emails - reference.emails:
            raise ChaosError(f"emails doubled: {dict(doubled)}")
        for name in ("results", "states", "story"):
            if place := _difference(getattr(self, name), getattr(reference, name), name):
                raise ChaosError(place)


class _Call(AssessmentCall):
    """A caller that writes down what the gateway sent under which sequence number."""

    def __init__(self, gateway_url: str, request: str) -> None:
        super().__init__(gateway_url, request)
        self.sent: dict[int, Any] = {}

    def _read_message(self, message: a2a.Message, sequence: int | None) -> Iterator[Progress]:
        if sequence is not None:
            update = [MessageToDict(part.data) for part in message.parts if part.HasField("data")]
            if self.sent.setdefault(sequence, update) != update:
                raise ChaosError(f"update {sequence} was told in two ways: {self.sent[sequence]} and {update}")
        return super()._read_message(message, sequence)


class Rehearsal:
    """An assessment that is followed while things happen to it."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.task_id = ""
        self._accepted = asyncio.Event()
        self._progress: list[tuple[float, Progress]] = []
        self._ended_at = 0.0
        self._task = asyncio.create_task(self._play())

    async def accepted(self) -> None:
        """Wait until the gateway has taken the request."""
        waiting = asyncio.create_task(self._accepted.wait())
        await asyncio.wait({waiting, self._task}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    def progress_after(self, moment: float) -> float:
        """Seconds from a moment (monotonic) until the subscriber heard of the next progress; errors are none."""
        heard = [at for at, said in self._progress if at > moment and not isinstance(said.update, ErrorOccurredUpdate)]
        return (min(heard) if heard else self._ended_at) - moment

    async def is_over_in(self, seconds: float) -> bool:
        """Wait so long, or until the assessment's end; says whether that has come."""
        ended, _ = await asyncio.wait({self._task}, timeout=seconds)
        return bool(ended)

    async def outcome(self) -> Outcome:
        """Wait for the end.

        Raises:
            ChaosError: it was not completed, or the subscriber didn't get every update once.
        """
        try:
            return await asyncio.wait_for(self._task, SECONDS)
        except CommandError as error:
            raise ChaosError(str(error)) from None
        except TimeoutError:
            heard = [progress.update.message_type for _, progress in self._progress]
            raise ChaosError(f"not over after {SECONDS:.0f} s; last heard: {heard[-3:]}") from None

    async def give_up(self) -> None:
        """Follow it no longer."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _play(self) -> Outcome:
        case = self._services.case
        config = {"scenario_id": case.scenario, "offline": False, "seed": 7, "max_turns": case.turns, "turn_tries": 10}
        config |= {**CONDITIONS, **case.conditions}
        request = {"participants": self._services.participants, "config": config}
        async with _Call(self._services.gateway_url, json.dumps(request)) as call:
            return await self._follow(call)

    async def follow_anew(self) -> None:
        """Follow it from its first update on, as it is since a reset."""
        await self.give_up()
        self._progress.clear()

        async def follow() -> Outcome:
            async with _Call.of_task(self._services.gateway_url, self.task_id) as call:
                return await self._follow(call)

        self._task = asyncio.create_task(follow())

    async def _follow(self, call: "_Call") -> Outcome:
        async for event in call.events():
            if isinstance(event, Accepted):
                self.task_id = event.task_id
                self._accepted.set()
            elif isinstance(event, Progress):
                self._progress.append((time.monotonic(), event))
            elif isinstance(event, Ended):
                self._ended_at = time.monotonic()
                return self._checked(event, call.sent)
        raise ChaosError("the stream ended without an end")

    def _checked(self, ended: Ended, sent: dict[int, Any]) -> Outcome:
        if ended.state != "completed" or ended.results is None:
            raise ChaosError(f"{ended.state}: {ended.sentence}")
        if sorted(sent) != list(range(len(sent))):
            raise ChaosError(f"updates are missing: there are only {sorted(sent)}")
        if len(self._progress) != len(sent):
            raise ChaosError(f"{len(sent)} updates were sent, {len(self._progress)} were heard")
        results = AssessmentResults.model_validate_json(ended.results)
        checkpoints = self._services.moments.checkpoints
        states = {
            role: _comparable(checkpoints[name_of_role(self.task_id, role) if role else self.task_id])
            for role in self._services.case.roles or ("",)
        }
        return Outcome(
            results=results.model_dump(mode="json", exclude=_OF_ONE_RESULT),
            states=states,
            emails=Counter(mail for role, state in states.items() for mail in _mails(role, state)),
            story=_story([told.update for _, told in self._progress if isinstance(told.update, TaskUpdate)]),
            turn_tries=results.turn_tries,
        )


def _comparable(checkpoint: bytes) -> dict[str, Any]:
    """A checkpoint, parsed, without what differs from run to run."""
    state = json.loads(_ISSUES.sub(b"participant", checkpoint))
    del state["clock"]["last_wall_time_update"]
    return {key: value for key, value in state.items() if key not in _OF_ONE_RUN}


def _mails(role: str, state: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    emails = state["states"]["email"]["emails"]
    for mail in emails.values() if isinstance(emails, dict) else emails:
        yield role, mail["subject"], mail["folder"]


def _story(updates: list[TaskUpdate]) -> list[dict[str, Any]]:
    """What was told, role by role, as they play at the same time; criteria are judged at the same time, too, so the
    order of their updates says nothing.
    """
    updates = sorted(updates, key=lambda update: update.role or "")
    verdicts = sorted(
        (update for update in updates if isinstance(update, CriterionEvaluatedUpdate)), key=lambda v: v.criterion_id
    )
    told = [verdicts.pop(0) if isinstance(update, CriterionEvaluatedUpdate) else update for update in updates]
    return [
        update.model_dump(
            mode="json",
            exclude={"assessment_id", "duration_seconds", "items_judged"}  # that counts in order
            | ({"start_time"} if isinstance(update, AssessmentStartedUpdate) else set()),
        )
        for update in told
        if not isinstance(update, ErrorOccurredUpdate)
    ]


@dataclass(frozen=True)
class Recovery:
    """What became of an assessment at which something was killed.

    Attributes:
        seconds: until the next news, or for a schedule until the end.
        turn_tries: how often turns were played, where that was more than once.
        problem: what went wrong, if anything.
        kills: how many came before the assessment's end.
    """

    seconds: float
    turn_tries: dict[str, int]
    problem: str | None = None
    kills: int = 1

    def __str__(self) -> str:
        again = sum(tries - 1 for tries in self.turn_tries.values())
        played = f", {again} {'turn' if again == 1 else 'turns'} played once more" if again else ""
        return f"{self.problem or 'the same'} after {self.seconds:.1f} s, {self.kills} killed{played}"


def await_phase(services: Services, phase: str) -> Moment:
    """Hold what gets to a moment of the case next, or to one of ``EACH_PHASE``."""
    phases = services.case.phases
    matches = phases[phase][1] if phase in phases else EACH_PHASE[phase]
    return services.moments.await_(matches, is_on_its_way=ON_ITS_WAY in phase)


async def undisturbed(services: Services) -> Outcome:
    """Play one assessment in peace."""
    return await Rehearsal(services).outcome()


async def killed_at(services: Services, phase: str, process: str, reference: Outcome) -> Recovery:
    """Play one assessment, kill a process at a moment, and compare."""
    moment = await_phase(services, phase)
    rehearsal = Rehearsal(services)
    killed_at = time.monotonic()
    try:
        await rehearsal.accepted()
        if not await asyncio.to_thread(moment.reached.wait, REACHED_WITHIN) or moment.seen is None:
            raise ChaosError(f"{phase} was never reached")
        await asyncio.sleep(_NEWS_ARRIVE)
        await services.kill_process(process, rehearsal.task_id, moment.seen)
        killed_at = time.monotonic()
        is_later = phase in GOES_ON_LATER
        if is_later:
            await asyncio.wait_for(services.all_up(), 60)
        moment.release(
            answer_is_lost=process.startswith("simulator")
            and moment.seen.who in ("simulator", "tools")
            and not is_later
        )
        outcome = await rehearsal.outcome()
        recovery = Recovery(rehearsal.progress_after(killed_at), outcome.turn_tries)
        outcome.require_same(reference)
    except ChaosError as error:
        return Recovery(time.monotonic() - killed_at, {}, str(error))
    finally:
        moment.release()
        await rehearsal.give_up()
        await asyncio.wait_for(services.all_up(), 60)
    return recovery


@dataclass(frozen=True)
class Schedule:
    """Kills at random times: (seconds since the start or the last kill, process) each."""

    seed: int
    kills: tuple[tuple[float, str], ...]

    @classmethod
    def drawn(cls, seed: int) -> "Schedule":
        """The schedule of a seed."""
        draw = random.Random(seed)
        count = draw.randint(2, 5)
        return cls(seed, tuple((round(draw.uniform(0.0, 1.0), 2), draw.choice(PROCESSES)) for _ in range(count)))

    def __str__(self) -> str:
        return f"seed {self.seed}: " + ", ".join(f"+{seconds:g} s {process}" for seconds, process in self.kills)


async def killed_by(services: Services, schedule: Schedule, reference: Outcome) -> Recovery:
    """Play one assessment under a schedule, and compare; a worker that dies is the one or the other by turns."""
    rehearsal = Rehearsal(services)
    began = time.monotonic()
    kills = 0
    try:
        await rehearsal.accepted()
        for number, (seconds, process) in enumerate(schedule.kills):
            if await rehearsal.is_over_in(seconds):
                break
            kills += 1
            services.kill_any(process, number)
        outcome = await rehearsal.outcome()
        outcome.require_same(reference)
    except ChaosError as error:
        return Recovery(time.monotonic() - began, {}, str(error), kills)
    finally:
        await rehearsal.give_up()
        await asyncio.wait_for(services.all_up(), 60)
    return Recovery(time.monotonic() - began, outcome.turn_tries, kills=kills)


def _difference(found: Any, expected: Any, place: str) -> str | None:
    """Where two JSON documents differ first."""
    if isinstance(found, dict) and isinstance(expected, dict):
        if found.keys() != expected.keys():
            return f"{place} has {sorted(found.keys() ^ expected.keys())} too many or too few"
        pairs = [(f"{place}.{key}", found[key], expected[key]) for key in expected]
    elif isinstance(found, list) and isinstance(expected, list):
        if len(found) != len(expected):
            extra = found[len(expected) :] or expected[len(found) :]
            return f"{place} has {len(found)} members instead of {len(expected)}; {json.dumps(extra)[:300]}"
        pairs = [(f"{place}[{number}]", *both) for number, both in enumerate(zip(found, expected, strict=True))]
    else:
        return None if found == expected else f"{place} is {found!r} instead of {expected!r}"
    return next((where for place, one, other in pairs if (where := _difference(one, other, place))), None)
