"""The protocol of ``proctor.ues.fences`` and ``proctor.activities.participant.turn_attempt`` as a state machine.

A model checker explores it exhaustively.

There are a simulator, a participant, Temporal, and workers that may be stopped at any point for any time: a stopped
worker is one whose next request comes late, so the interleavings of requests are all that there is to look at. What a
request does is one step of the machine, as it is in the simulator, which handles one at a time. Between the steps may
come, so many times each: *giving up* an attempt (Temporal hands out a new one, and the old one goes on), *losing* a
simulator with all that it knew, a *reset* to any earlier step, in a new run, and a *move* to the other simulator, where
there are two: the first may only have been out of reach, with all that stands on it, for some and not for others.

An assessment is a list of kinds of steps: ``T``, a turn: the simulation is claimed and marked, the participant told,
its actions done, and then, with the work in hand, the turn read, with a checkpoint; ``M``, a step of several requests,
like the set-up: claimed, changed, checkpoint; ``O``, the same in one request, like the advance of time. Whenever
Temporal takes a step's result, its checkpoint must hold every action of the steps so far exactly once and in order, and
those of a turn must all be of one and the same try of it. The participant's requests cost time: a checkpoint's time
must be what its actions cost, and one more for each turn that was read. An action that the participant does after its
answer, where
it does such (``late_actions``), may be there where a turn was still to be read, its own or the next one: else nobody
would know of it.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

Action = tuple[int, int, int]
"""Step, number in it, and the fence of the attempt that asked for it."""

ACTIONS = 2
"""The participant's in a turn."""

LATE, READ = range(ACTIONS, ACTIONS + 2)
"""What may follow them in a turn, one more action after the answer, and what must: it is read."""


class Held(NamedTuple):
    """What a checkpoint holds: the actions, the participant's one key (the fence that issued it), and the time."""

    actions: tuple[Action, ...] = ()
    key: int = 0
    time: int = 0


class Mark(NamedTuple):
    """What is going on: which try (no run and no step repeats its number), the fence of the attempt that began it, and
    the participant's key.
    """

    work: int = 0
    fence: int = 0
    key: int = 0


class Simulator(NamedTuple):
    """What stands there now; ``is_over`` where the participant may change nothing more."""

    held: Held
    fence: int
    mark: Mark = Mark()
    is_over: bool = False


class Attempt(NamedTuple):
    """A worker at work, or stopped: it doesn't know what has become of the simulation since.

    ``at`` is the request that comes next; ``mark`` the fence in the mark that it found or made; ``noted`` that in
    the mark which an attempt before it had made, 0 for none; ``result`` the checkpoint that it has reached so far.
    """

    fence: int
    step: int
    work: int
    start: Held
    key: int
    needs_key: bool
    noted: int
    host: int = 0
    at: str = "claim"
    mark: int = 0
    result: Held | None = None


class Task(NamedTuple):
    """What the participant was told to do, by the message of that mark, and how many actions it has done."""

    mark: int
    step: int
    done: int = 0


class Participant(NamedTuple):
    """The key that it was greeted with last and the simulator that it was told then, the highest fence that it has
    heard, and its tasks.
    """

    key: int = 0
    host: int = 0
    heard: int = 0
    tasks: tuple[Task, ...] = ()


class Situation(NamedTuple):
    """Everything. ``reached`` are the checkpoints that Temporal knows, that of the start first; ``work`` the try that
    is due, ``is_again`` whether an attempt of it was handed out before, ``current`` that which is, 0 for none.
    """

    reached: tuple[Held, ...]
    key: int
    needs_key: bool
    work: int
    is_again: bool
    current: int
    noted: int
    clock: int
    simulators: tuple[Simulator | None, ...]
    host: int
    workers: tuple[Attempt | None, ...]
    participant: Participant
    give_ups: int
    losses: int
    resets: int
    moves: int
    late_actions: bool

    @property
    def step(self) -> int:
        """The step that is due."""
        return len(self.reached) - 1


class Rules(NamedTuple):
    """What is enforced; each can be taken out, to see what it is good for."""

    fences: bool = True
    new_keys: bool = True
    participant_minds_fences: bool = True
    new_keys_elsewhere: bool = True
    turns_end: bool = True
    ends_are_noted: bool = True
    time_stops: bool = True


class BrokenError(AssertionError):
    """A result that loses or doubles something; the story says how it came to be."""


def explore(
    kinds: str,
    rules: Rules,
    *,
    give_ups: int,
    losses: int,
    resets: int,
    moves: int = 0,
    workers: int = 2,
    late_actions: bool = False,
) -> int:
    """Go through every interleaving; how many states there are. Raises ``BrokenError`` with the shortest story."""
    start = Held()
    simulators = (None,) * (2 if moves else 1)
    first = Situation(
        reached=(start,),
        key=0,
        needs_key=True,
        work=1,
        is_again=False,
        current=0,
        noted=0,
        clock=1,
        simulators=simulators,
        host=0,
        workers=(None,) * workers,
        participant=Participant(),
        give_ups=give_ups,
        losses=losses,
        resets=resets,
        moves=moves,
        late_actions=late_actions,
    )
    before: dict[Situation, tuple[Situation, str] | None] = {first: None}
    ahead = deque([first])
    ends = 0
    while ahead:
        situation = ahead.popleft()
        ends += situation.step == len(kinds)
        for what, after in _moves(situation, kinds, rules):
            if after in before:
                continue
            before[after] = (situation, what)
            if problem := _problem(after, kinds):
                raise BrokenError(f"{problem}\n" + "\n".join(_story(after, before)))
            ahead.append(after)
    assert ends, "no assessment ever ends"
    return len(before)


def _story(situation: Situation, before: dict[Situation, tuple[Situation, str] | None]) -> list[str]:
    told: list[str] = []
    while (found := before[situation]) is not None:
        situation, what = found
        told.append(what)
    return told[::-1]


def _problem(situation: Situation, kinds: str) -> str | None:
    """What is wrong with the last result that Temporal took."""
    expected = [
        (step, i)
        for step, kind in enumerate(kinds[: situation.step])
        for i in ((*range(ACTIONS), READ) if kind == "T" else (0,))
    ]
    actions = situation.reached[-1].actions
    known = [
        action[:2] for i, action in enumerate(actions) if action[1] != LATE or not _is_read(actions[i + 1 :], kinds)
    ]
    if known != expected:
        return f"after step {situation.step} there is {actions}, not {expected}"
    if any(len({action[2] for action in actions if action[0] == step}) > 1 for step in range(situation.step)):
        return f"actions of two tries are mixed: {actions}"
    cost = sum(kinds[action[0]] == "T" for action in actions)
    if situation.reached[-1].time != cost:
        return f"it is {situation.reached[-1].time}, and the actions {actions} cost {cost}"
    return None


def _is_read(following: tuple[Action, ...], kinds: str) -> bool:
    """Whether a late action was there when a turn was read, by what follows it."""
    after = next((attempt for attempt in following if attempt[1] != LATE), None)
    return after is not None and kinds[after[0]] == "T"


def _moves(situation: Situation, kinds: str, rules: Rules) -> Iterator[tuple[str, Situation]]:
    """Everything that can happen next, and what is so then."""
    if not situation.current and situation.step < len(kinds):
        yield from _hand_out(situation, rules)
    for number, attempt in enumerate(situation.workers):
        if attempt is not None:
            for what, after in _requests(situation, number, attempt, kinds[attempt.step], rules):
                yield f"attempt {attempt.fence} of step {attempt.step}: {what}", after
    yield from _acts(situation, rules)
    if situation.current and situation.give_ups:
        yield "given up", situation._replace(current=0, give_ups=situation.give_ups - 1)
    for host, simulator in enumerate(situation.simulators):
        if situation.losses and simulator is not None:
            yield "simulator lost", _standing(situation, host, None)._replace(losses=situation.losses - 1)
    if situation.current and situation.moves:
        yield "moved to the other simulator", _moved(situation, rules)
    if situation.resets:
        for step in range(situation.step + 1 if situation.step < len(kinds) else len(kinds)):
            reached = situation.reached[: step + 1]
            yield (
                f"reset to step {step}",
                situation._replace(
                    reached=reached,
                    key=reached[-1].key,
                    needs_key=rules.new_keys,
                    work=situation.work + 1,
                    is_again=False,
                    current=0,
                    noted=0,
                    resets=situation.resets - 1,
                ),
            )


def _hand_out(situation: Situation, rules: Rules) -> Iterator[tuple[str, Situation]]:
    """Temporal gives the step that is due to a worker that is free."""
    for number, busy in enumerate(situation.workers):
        if busy is None:
            fence = situation.clock
            start = situation.reached[-1]
            # Who is not the first attempt of a try can't know what those before it have asked the participant to do.
            needs_key = situation.needs_key or (situation.is_again and rules.new_keys)
            attempt = Attempt(
                fence, situation.step, situation.work, start, situation.key, needs_key, situation.noted, situation.host
            )
            after = situation._replace(current=fence, clock=fence + 1, is_again=True)
            yield f"attempt {fence} of step {situation.step} handed out", _at(after, number, attempt)
            return  # workers are alike


def _moved(situation: Situation, rules: Rules) -> Situation:
    """The step that is under way can't reach its simulator, and fails for good: its try is another one elsewhere."""
    return situation._replace(
        host=1 - situation.host,
        needs_key=situation.needs_key or rules.new_keys_elsewhere,
        work=situation.work + 1,
        is_again=False,
        current=0,
        noted=0,
        moves=situation.moves - 1,
    )


def _standing(situation: Situation, host: int, simulator: Simulator | None) -> Situation:
    """What stands on a simulator."""
    return situation._replace(
        simulators=tuple(simulator if i == host else other for i, other in enumerate(situation.simulators))
    )


def _at(situation: Situation, number: int, attempt: Attempt | None) -> Situation:
    return situation._replace(
        workers=tuple(attempt if i == number else other for i, other in enumerate(situation.workers))
    )


def _requests(
    situation: Situation, number: int, attempt: Attempt, kind: str, rules: Rules
) -> Iterator[tuple[str, Situation]]:
    """The next request of an attempt."""
    simulator = situation.simulators[attempt.host]
    refused = rules.fences and simulator is not None and attempt.fence < simulator.fence

    def goes_on(at: str, **changes: object) -> Situation:
        return _at(situation, number, attempt._replace(at=at, **changes))  # type: ignore[arg-type]

    if attempt.at == "claim":
        if refused:
            yield "claim refused", _at(situation, number, None)
        else:
            yield from _claim(situation, number, attempt, kind)
    elif attempt.at == "change":
        if simulator is None or refused or (rules.fences and attempt.fence != simulator.fence):
            yield "change refused", _fail(situation, number, attempt)
        else:
            held = simulator.held._replace(actions=(*simulator.held.actions, (attempt.step, 0, attempt.fence)))
            yield "changed", _standing(goes_on("checkpoint"), attempt.host, simulator._replace(held=held))
    elif attempt.at == "look before":
        if simulator is None or refused:
            yield "overtaken or lost before speaking", _fail(situation, number, attempt, lost=simulator is None)
        else:
            yield "looked", goes_on("speak")
    elif attempt.at == "speak":
        yield "spoke", _speak(goes_on("hear"), attempt, rules)
    elif attempt.at == "hear":
        if any(task.mark == attempt.mark and task.done >= ACTIONS for task in situation.participant.tasks):
            yield "heard the answer", goes_on("read")
    elif attempt.at == "read":
        if simulator is None or refused or simulator.mark[:2] != (attempt.work, attempt.mark):
            is_lost = not refused
            yield "the turn was lost", _fail(situation, number, attempt, lost=is_lost)
        else:
            read = _settled(simulator, attempt, rules)
            yield "read", _standing(goes_on("report", result=read.held), attempt.host, read)
    elif attempt.at == "checkpoint":
        if simulator is None or refused or (rules.fences and attempt.fence != simulator.fence):
            yield "checkpoint refused", _fail(situation, number, attempt)
        else:
            yield "checkpoint taken", goes_on("report", result=simulator.held)
    elif attempt.at == "report":
        after = _at(situation, number, None)
        if situation.current == attempt.fence and attempt.result is not None:
            yield (
                "result taken",
                after._replace(
                    reached=(*situation.reached, attempt.result),
                    key=attempt.result.key,
                    needs_key=situation.needs_key and kind != "T",
                    work=situation.work + 1,
                    is_again=False,
                    current=0,
                    noted=0,
                ),
            )
        else:
            yield "result refused", after


def _claim(situation: Situation, number: int, attempt: Attempt, kind: str) -> Iterator[tuple[str, Situation]]:
    simulator = situation.simulators[attempt.host]
    fence = max(attempt.fence, simulator.fence if simulator else 0)
    if kind != "T":
        held = attempt.start
        if kind == "M":
            after = _at(situation, number, attempt._replace(at="change"))
            yield "claimed", _standing(after, attempt.host, Simulator(held, fence))
            return
        held = held._replace(actions=(*held.actions, (attempt.step, 0, attempt.fence)))
        after = _at(situation, number, attempt._replace(at="report", result=held))
        yield "claimed and done", _standing(after, attempt.host, Simulator(held, fence))
        return
    if attempt.noted:
        if simulator is None or simulator.mark[:2] != (attempt.work, attempt.noted):
            yield "the turn was lost", _fail(situation, number, attempt, lost=True)
        else:
            key = simulator.mark.key
            found = attempt._replace(at="look before", mark=attempt.noted, key=key, needs_key=key != attempt.key)
            after = _at(situation, number, found)
            yield "taken over", _standing(after, attempt.host, simulator._replace(fence=fence))
        return
    key = attempt.fence if attempt.needs_key else attempt.key
    held = attempt.start._replace(key=key)
    after = _at(situation, number, attempt._replace(at="look before", mark=attempt.fence, key=key))
    after = _standing(after, attempt.host, Simulator(held, fence, Mark(attempt.work, attempt.fence, key)))
    yield "claimed, marked", after
    if situation.current == attempt.fence:  # what an attempt notes reaches Temporal a little later, or never
        yield "claimed, marked, noted", after._replace(noted=attempt.fence)


def _settled(simulator: Simulator, attempt: Attempt, rules: Rules) -> Simulator:
    """A simulation in which a turn was read, some time after its last action; where that is so already it stays as it
    is, since the turn's end was noted.
    """
    held, fence = simulator.held, max(attempt.fence, simulator.fence)
    if all(action[:2] != (attempt.step, READ) for action in held.actions):
        held = held._replace(actions=(*held.actions, (attempt.step, READ, attempt.mark)), time=held.time + 1)
    elif not rules.ends_are_noted:
        held = held._replace(time=held.time + 1)
    return simulator._replace(held=held, fence=fence, is_over=rules.turns_end)


def _speak(situation: Situation, attempt: Attempt, rules: Rules) -> Situation:
    """Greet where there is a new key, and have the turn played, unless the message is known."""
    participant = situation.participant
    if rules.participant_minds_fences and attempt.fence < participant.heard:
        return situation
    key, host = (attempt.key, attempt.host) if attempt.needs_key else (participant.key, participant.host)
    tasks = participant.tasks
    if all(task.mark != attempt.mark for task in tasks):
        tasks = (*tasks, Task(attempt.mark, attempt.step))
    return situation._replace(participant=Participant(key, host, max(attempt.fence, participant.heard), tasks))


def _acts(situation: Situation, rules: Rules) -> Iterator[tuple[str, Situation]]:
    """The participant does the next action of any of its tasks, abandoned ones too: nobody can be sure that it stops.

    A task goes on with the key that it was begun with, or with the newest that the participant has been told.
    """
    participant = situation.participant
    simulator = situation.simulators[participant.host]
    for place, task in enumerate(participant.tasks):
        if task.done == ACTIONS + situation.late_actions:
            continue
        is_newest = place == len(participant.tasks) - 1
        has_key = simulator is not None and is_newest and participant.key == simulator.held.key
        opens = has_key and simulator is not None and not simulator.is_over
        moved = task._replace(done=task.done + 1)
        tasks = tuple(moved if i == place else other for i, other in enumerate(participant.tasks))
        after = situation._replace(participant=participant._replace(tasks=tasks))
        if opens and simulator is not None:
            actions = (*simulator.held.actions, (task.step, task.done, task.mark))
            held = simulator.held._replace(actions=actions, time=simulator.held.time + 1)
            after = _standing(after, participant.host, simulator._replace(held=held))
        elif has_key and simulator is not None and not rules.time_stops:
            held = simulator.held._replace(time=simulator.held.time + 1)
            after = _standing(after, participant.host, simulator._replace(held=held))
        yield f"participant's action {task.done} of mark {task.mark}{'' if opens else ', refused'}", after


def _fail(situation: Situation, number: int, attempt: Attempt, *, lost: bool = False) -> Situation:
    """An attempt fails: Temporal tries again, a lost turn as a new try with a new key; one given up has no say."""
    after = _at(situation, number, None)
    if situation.current != attempt.fence:
        return after
    if lost:
        return after._replace(work=situation.work + 1, is_again=False, current=0, noted=0, needs_key=True)
    return after._replace(current=0)
