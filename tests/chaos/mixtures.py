"""Assessments under random schedules that mix kills, stops of 1 to 60 s, and cuts of the network."""

import asyncio
import random
import signal
import time
from dataclasses import dataclass
from typing import Literal

from tests.chaos.rehearsals import ChaosError, Outcome, Recovery, Rehearsal
from tests.chaos.services import CUTS, PROCESSES, Services

AT_ONCE = 2
"""How many assessments a schedule falls upon; the next one begins a moment after the one before."""

_APART = 0.7
_LONGEST_STOP = 60.0


@dataclass(frozen=True)
class Event:
    """What is done to a process, or to the relay of a network.

    Attributes:
        after: seconds since the event before.
        way: ``kill`` it, which for a network drops all its connections, or ``stop`` it, which delays what it carries.
        whom: one of ``PROCESSES`` or ``CUTS``.
        seconds: how long it stands still.
    """

    after: float
    way: Literal["kill", "stop"]
    whom: str
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"+{self.after:g} s {self.way} {self.whom}" + (f" for {self.seconds:g} s" if self.seconds else "")


@dataclass(frozen=True)
class Mixture:
    """The events of a seed."""

    seed: int
    events: tuple[Event, ...]

    @classmethod
    def drawn(cls, seed: int) -> "Mixture":
        """Three to six events; short stops are as likely as long ones, by their order of magnitude."""
        draw = random.Random(f"mixture {seed}")
        events = []
        for _ in range(draw.randint(3, 6)):
            way: Literal["kill", "stop"] = draw.choice(("kill", "stop"))
            whom = draw.choice((draw.choice(PROCESSES), draw.choice(CUTS), "worker"))
            seconds = round(_LONGEST_STOP ** draw.uniform(0.0, 1.0), 1) if way == "stop" else 0.0
            events.append(Event(round(draw.uniform(0.0, 1.2), 2), way, whom, seconds))
        return cls(seed, tuple(events))

    def __str__(self) -> str:
        return f"seed {self.seed}: " + ", ".join(map(str, self.events))


async def disturbed_by(services: Services, mixture: Mixture, reference: Outcome) -> list[Recovery]:
    """Play some assessments under a schedule, and compare each."""
    began = time.monotonic()
    rehearsals: list[Rehearsal] = []
    going_on: list[asyncio.Task[None]] = []
    try:
        for number in range(AT_ONCE):
            rehearsals.append(Rehearsal(services))
            await rehearsals[-1].accepted()
            if number + 1 < AT_ONCE:
                await asyncio.sleep(_APART)
        for number, event in enumerate(mixture.events):
            if await rehearsals[-1].is_over_in(event.after):
                break
            service = services.service_of(event.whom, number)
            if event.way == "kill":
                services.kill(service)
            else:
                services.halt(service)
                going_on.append(asyncio.create_task(_goes_on_after(services, service, event.seconds)))
        return [await _compared(rehearsal, reference, began, len(mixture.events)) for rehearsal in rehearsals]
    finally:
        for rehearsal in rehearsals:
            await rehearsal.give_up()
        for task in going_on:
            task.cancel()
        await asyncio.gather(*going_on, return_exceptions=True)
        await asyncio.wait_for(services.all_up(), 90)


async def _compared(rehearsal: Rehearsal, reference: Outcome, began: float, events: int) -> Recovery:
    try:
        outcome = await rehearsal.outcome()
        outcome.require_same(reference)
    except ChaosError as error:
        return Recovery(time.monotonic() - began, {}, str(error), events)
    return Recovery(time.monotonic() - began, outcome.turn_tries, kills=events)


async def _goes_on_after(services: Services, service: str, seconds: float) -> None:
    pid = services.pid(service)
    try:
        await asyncio.sleep(seconds)
    finally:
        if pid == services.pid(service):
            services.halt(service, signal.SIGCONT)
