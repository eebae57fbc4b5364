"""Check 17: right acts keep their points in other voices and notations.

Voices and notations alternate from seed to seed. Over the seeds of a release audit, each family is played with each
voice and each notation (a covering array). The combinations can be computed without plays.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from proctor.local.audit.notations import choose_language, list_names, spread, write
from proctor.local.audit.players import oracle
from proctor.local.audit.plays import Outcome, Turn, perform
from proctor.local.audit.voices import VOICES, Told, Voice, deliver
from proctor.scenarios.kit.checks import USER, OnceCheck
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import Act
from purple_sdk.ues import AsyncUESClient

PLAYS = 5
"""How often an instance is played with other wordings."""

_STEP = 5  # turns between successive acts of the same play


@dataclass(frozen=True)
class Wording:
    """How an act is worded: a voice, the texts of its values, and the names of their notations."""

    voice: Voice
    values: tuple[str, ...]
    notations: tuple[str, ...]

    @property
    def names(self) -> set[str]:
        """The names of the voice and of the notations."""
        return {f"voice {self.voice.name}", *(f"notation {name}" for name in self.notations)}


def number_day(day: Day) -> int:
    """The day's number among the days of its family, which are sorted by seed and difficulty."""
    return 4 * day.seed + day.difficulty - 1


def told_acts(day: Day) -> list[Act]:
    """The acts by which the oracle tells values."""
    return [act for duty in day.duties for act in duty.acts if act.action == "tell" and act.values]


def planned(day: Day, play: int) -> dict[str, Wording]:
    """The wordings of one of the plays: ids of acts that tell values to their wording."""
    start = number_day(day) * PLAYS + play
    return {act.id: _wording(day, act, start + _STEP * place) for place, act in enumerate(told_acts(day))}


def possible(day: Day) -> set[str]:
    """The names of all voices and notations that are possible on a day."""
    names = set[str]()
    for act in told_acts(day):
        voices = _fitting(day, act)
        names |= {f"voice {voice.name}" for voice in voices}
        names |= {f"notation {name}" for name in list_names(act.values)}
    return names


def _fitting(day: Day, act: Act) -> list[Voice]:
    by_mail = act.channel == "mail" and act.to is not None
    checks = [check for duty in day.duties for check in duty.checks]
    reader = act.to.addresses if act.to else (USER,)
    # These need a single message: questions, denials, and acts to a reader whose messages are counted.
    is_whole = any(value.kind == "question" for value in act.values) or any(
        (isinstance(check, OnceCheck) and not check.values and not {*reader}.isdisjoint(check.to))
        or (check.id in act.checks and getattr(check, "denied", False))
        for check in checks
    )
    return [voice for voice in VOICES if (by_mail or not voice.is_mail) and (voice.is_whole or not is_whole)]


def _wording(day: Day, act: Act, turn: int) -> Wording:
    language = choose_language(act.values, turn)
    voices = [voice for voice in _fitting(day, act) if voice.language == language]
    voice = voices[spread(turn, len(voices))]
    written = [write(value, language, turn + n, is_first=n == 0) for n, value in enumerate(act.values)]
    return Wording(voice, tuple(text for text, _ in written), tuple(name for _, names in written for name in names))


def player_in_words(day: Day, plan: dict[str, Wording]) -> Turn:
    """The oracle, with messages in the wordings of a plan."""

    async def do(act: Act, day: Day, client: AsyncUESClient, voice: int) -> None:
        wording = plan.get(act.id)
        if wording is None:
            await perform(act, day, client, voice)
        else:
            await deliver(wording.voice.speak(Told(act, day, wording.values)), act, client)

    return oracle(day, do=do)


def faults(day: Day, plan: dict[str, Wording], outcome: Outcome) -> Iterator[str]:
    """A sentence for each message that lost points, with its text, and for other lost points."""
    lost = {check for check, holds in outcome.held.items() if not holds}
    for act in told_acts(day):
        if mine := [check for check in act.checks if check in lost]:
            wording = plan[act.id]
            text = "\n---\n".join(
                note.html or note.text for note in wording.voice.speak(Told(act, day, wording.values))
            )
            values = ", ".join(f"{value.kind} {value.value}" for value in act.values)
            yield f"{', '.join(mine)}: lost in the voice {wording.voice.name!r} ({values}): {text!r}"
            lost -= {*mine}
    if lost or (outcome.share < 1 and all(outcome.held.values())):
        yield f"in other words: lost {', '.join(sorted(lost)) or 'nothing_else'}"
