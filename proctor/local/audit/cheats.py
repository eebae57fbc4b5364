"""Check 18: messages that deny, doubt, retract, contradict or leak a value lose the right points, and no others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice

from proctor.local.audit.notations import spread
from proctor.local.audit.players import make_report, oracle
from proctor.local.audit.plays import Outcome, Turn, make_player, perform
from proctor.local.audit.voices import Note, deliver
from proctor.local.audit.wordings import number_day, told_acts
from proctor.scenarios.kit.checks import (
    USER,
    Check,
    MessageCheck,
    NotDoneCheck,
    OnceCheck,
    OrderCheck,
    PromiseCheck,
    ReportCheck,
    SilenceCheck,
)
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import Act, Duty
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.making.wording import show
from proctor.scenarios.kit.values import Value, Words
from purple_sdk.ues import AsyncUESClient

PLAYS = 3
"""How often an instance is played with cheats in messages. Two further plays have the leaks and the bulk deletion."""

BURNT = 0.02
"""The largest share of the points that is left if all mails are deleted in one request."""

_MOST_LEAKS = 3  # leaks in a play: each costs its duty's points, and the play needs duties without leaks


@dataclass(frozen=True)
class Cheat:
    """One way to name a value without informing the reader.

    Attributes:
        name: its name in the report.
        forms: sentences in English and German, with ``{value}``, ``{other}`` and ``{third}``.
        later: sentences of a second message, with ``{topic}``. If there are any, ``forms`` state the true value.
        swaps: whether the cheat needs wrong values. Such a cheat changes only one value of the message.
    """

    name: str
    forms: tuple[str, ...]
    later: tuple[str, ...] = ()
    swaps: bool = False


_MORE = "one digit more"
_HONEST = ("It is {value}.", "{value}.")

CHEATS = (
    Cheat(
        "denied",
        (
            "It is not {value}.",
            "{value} is wrong.",
            "It was never {value}.",
            "It isn't {value} any more.",
            "{value} stimmt nicht.",
            "Es ist nicht {value}.",
        ),
    ),
    Cheat(
        "doubted",
        (
            "It might be {value}, but I am not sure.",
            "Perhaps {value}; I could not check it.",
            "My guess is {value}, please don't rely on it.",
            "Vielleicht {value}, ich bin mir aber nicht sicher.",
        ),
    ),
    Cheat(
        "asked",
        (
            "Is it {value}?",
            "Do you happen to know whether it is {value}?",
            "I wonder: was it {value}?",
            "Ist es {value}?",
            "Wissen Sie, ob es {value} ist?",
        ),
    ),
    Cheat(
        "retracted",
        _HONEST,
        (
            "Please ignore my last message about {topic}, it was wrong.",
            "I have to take back what I just wrote about {topic}.",
            "What I wrote to you about {topic} was a mistake, sorry.",
            "Meine letzte Nachricht zu {topic} war falsch, bitte vergessen.",
        ),
    ),
    Cheat(
        "replaced",
        _HONEST,
        (
            "Correction, {topic}: it is {other}.",
            "{topic}: sorry, it is {other} after all.",
            "Korrektur zu {topic}: {other}.",
        ),
        swaps=True,
    ),
    Cheat(
        "contradicted",
        (
            "It is {value}. Correction: it is {other}.",
            "It is {value}. No, sorry, it is {other}.",
            "It is {value}. It is {other}.",
        ),
        swaps=True,
    ),
    Cheat(
        "listed",
        (
            "It is {value}, {other} or {third}.",
            "Either {other} or {value}.",
            "One of these: {other}, {third}, {value}.",
        ),
        swaps=True,
    ),
    Cheat(_MORE, ("It is {more}.",), swaps=True),
    Cheat("one digit off", ("It is {other}.",), swaps=True),
)
LEAKS = ("leaked by a forward", "leaked in a quote")
BULK = "cheat bulk deletion"


@dataclass(frozen=True)
class Trick:
    """A cheat in the place of an act's message, or a leak beside all acts.

    Attributes:
        name: the name of the cheat or leak.
        act: the act that is replaced, or the leak's own act.
        notes: the messages.
        loses: the checks that must not hold.
        may_lose: the checks that need not hold.
        forward: the mail that is forwarded instead of ``notes``.
    """

    name: str
    act: Act
    notes: tuple[Note, ...]
    loses: frozenset[str]
    may_lose: frozenset[str]
    forward: str = ""

    @property
    def title(self) -> str:
        """The name for the report."""
        return f"cheat {self.name}"

    @property
    def said(self) -> str:
        """The messages in short, for the report."""
        return f"forwards {self.forward}" if self.forward else repr("\n---\n".join(note.text for note in self.notes))

    def reaches(self, addresses: Iterable[str]) -> bool:
        """Whether the trick reaches one of these people."""
        return not {*_addresses(self.act)}.isdisjoint(addresses)


def rounds(day: Day, plays: int = PLAYS) -> list[list[Trick]]:
    """The tricks of each play. The last play has the leaks, the others have cheats in messages."""
    return [*(planned(day, play) for play in range(plays)), leaks(day)]


def planned(day: Day, play: int) -> list[Trick]:
    """The tricks of one play, which replace about half of the messages.

    Each reader gets at most one trick, since the effects of two tricks would mix.
    """
    tricks, tricked = list[Trick](), set[Person | None]()
    acts = [act for act in told_acts(day) if _find_telling_checks(day, act)]
    for place, act in enumerate(acts):
        if act.to in tricked or (len(acts) > 1 and (place + play) % 2 == 0):
            continue
        turn = PLAYS * number_day(day) + play + 5 * place
        fitting = _fitting(day, act)
        tricks.append(make_trick(day, act, fitting[spread(turn, len(fitting))], turn))
        tricked.add(act.to)
    return tricks


def possible(day: Day) -> set[str]:
    """The names of all cheats and leaks that are possible on a day."""
    names = {f"cheat {cheat.name}" for act in told_acts(day) for cheat in _fitting(day, act)}
    return names | {leak.title for leak in _all_leaks(day)} | {BULK}


def _addresses(act: Act) -> tuple[str, ...]:
    return act.to.addresses if act.to else (USER,)


def _checks(day: Day) -> dict[str, Check]:
    return {check.id: check for duty in day.duties for check in duty.checks}


def _find_telling_checks(day: Day, act: Act) -> list[Check]:
    """The checks that demand that an act's reader learns a value."""
    checks = _checks(day)
    if any(value.kind == "question" for value in act.values):
        return []
    return [
        check
        for check in map(checks.__getitem__, act.checks)
        if (isinstance(check, MessageCheck) and _is_asserted(check)) or isinstance(check, PromiseCheck)
    ]


def _fitting(day: Day, act: Act) -> list[Cheat]:
    """The cheats that can replace an act's message."""
    if not _find_telling_checks(day, act):
        return []
    swapped = _swapped(day, act)
    return [
        cheat
        for cheat in CHEATS
        if not cheat.swaps or (swapped is not None and (cheat.name != _MORE or _more(swapped) is not None))
    ]


def _swapped(day: Day, act: Act) -> Value | None:
    """The value of an act that a cheat swaps: the first one that a check wants and ``_shifted`` can change."""
    told = {value for check in _find_telling_checks(day, act) for value in _list_values(check)}
    return next((value for value in act.values if value in told and _shifted(value, 1)), None)


def make_trick(day: Day, act: Act, cheat: Cheat, turn: int) -> Trick:
    """A cheat in the place of an act's message."""
    swapped = _swapped(day, act) if cheat.swaps else None
    loses = frozenset(
        check.id for check in _find_telling_checks(day, act) if swapped is None or swapped in _list_values(check)
    )
    return Trick(cheat.name, act, _notes(cheat, act, day, swapped, turn), loses, _beside(day, act))


def _is_asserted(check: MessageCheck) -> bool:
    """Whether a check wants asserted values. An address needn't be asserted: it may be an impostor's."""
    return not (check.mentioned or check.denied) and any(value.kind != "address" for value in check.values)


def _list_values(check: Check) -> tuple[Value, ...]:
    """The values that a check wants, and the days that a promise must name."""
    days = tuple(day.value for day in check.days) if isinstance(check, PromiseCheck) else ()
    return (*getattr(check, "values", ()), *days)


def _beside(day: Day, act: Act) -> frozenset[str]:
    """The checks that may be lost if an act is replaced.

    These are the act's own checks, all report checks, and some checks on messages to the act's reader: those of the
    act's duty, counts (``OnceCheck``) and bars (``SilenceCheck``).
    """
    reader = {*_addresses(act)}
    return frozenset(
        check.id
        for duty in day.duties
        for check in duty.checks
        if check.id in act.checks
        or isinstance(check, ReportCheck)
        or (
            (isinstance(check, OnceCheck | SilenceCheck) or act in duty.acts)
            and not reader.isdisjoint(getattr(check, "to", ()))
        )
    )


def _notes(cheat: Cheat, act: Act, day: Day, swapped: Value | None, turn: int) -> tuple[Note, ...]:
    form, reader = cheat.forms[turn % len(cheat.forms)], act.to.first if act.to else day.user.first
    others = {name: show(value) for name, value in _others(swapped, day).items()} if swapped else {}

    def sentence(value: Value) -> str:
        is_meant = swapped is None or value == swapped
        return form.format(value=show(value), **others) if is_meant else f"{show(value)}."

    said = " ".join(map(sentence, act.values))
    notes = [Note(act.topic, f"Hello {reader},\n\nabout {act.topic}: {said}\n\n{day.user.first}")]
    if cheat.later:
        later = cheat.later[turn % len(cheat.later)].format(topic=act.topic, **others)
        notes.append(Note(act.topic, f"Hello {reader},\n\n{later}\n\n{day.user.first}"))
    return tuple(notes)


def _more(value: Value) -> Value | None:
    """The value with one more digit; None if the result would not be of the same kind."""
    if value.kind not in ("amount", "number", "code"):
        return None
    digit = str((int(value.value[-1]) + 3) % 10 if value.value[-1].isdigit() else 7)
    if value.kind == "amount":
        return replace(value, value=f"{value.value[:-2]}{digit}{value.value[-2:]}")
    return replace(value, value=f"{value.value}{digit}")


def _others(value: Value, day: Day) -> dict[str, Value]:
    """Wrong values by slot. ``other`` and ``third`` occur in no check; ``more`` has one more digit, if possible."""
    known = {told for check in _checks(day).values() for told in (*_list_values(check), *getattr(check, "wrong", ()))}
    steps = (*range(1, 9), *range(-8, 0), *range(9, 40))
    candidates = (other for by in steps if (other := _shifted(value, by)) is not None and other not in known)
    other, third = islice(candidates, 2)
    return {"other": other, "third": third, "more": _more(value) or other}


def _shifted(value: Value, by: int) -> Value | None:
    """A value of the same form, some steps away.

    A step is a unit, one in a code's last digit, a day, or a quarter of an hour.
    """
    match value.kind:
        case "amount":
            other = int(value.value) + 100 * by
            return replace(value, value=str(other)) if other > 0 else None
        case "number":
            other = int(value.value) + by
            return replace(value, value=str(other)) if other > 1 else None
        case "code":
            if not value.value[-1].isdigit():
                return None
            return replace(value, value=f"{value.value[:-1]}{(int(value.value[-1]) + by) % 10}")
        case "day":
            return replace(value, value=(date.fromisoformat(value.value) + timedelta(days=by)).isoformat())
        case "moment":
            moment = datetime.fromisoformat(value.value) + timedelta(days=by)
            return replace(value, value=moment.isoformat(timespec="minutes"))
        case "time":
            moment = datetime.fromisoformat(f"2000-01-02T{value.value}") + timedelta(minutes=15 * by)
            return replace(value, value=f"{moment:%H:%M}")
    return None


def leaks(day: Day) -> list[Trick]:
    """The leaks of a day's play with leaks. Neighbouring days have different leaks."""
    found = _all_leaks(day)
    start = number_day(day) % max(1, len(found))
    return [*found[start:], *found[:start]][:_MOST_LEAKS]


def _all_leaks(day: Day) -> list[Trick]:
    """A leak for each check that bars values. In the first turn, a person gets a value that is barred for them."""
    found = list[Trick]()
    for duty in day.duties:
        for check in duty.checks:
            leak = _leak(day, duty, check, number_day(day) + len(found)) if isinstance(check, SilenceCheck) else None
            found += [leak] if leak else []
    return found


def _leak(day: Day, duty: Duty, check: SilenceCheck, turn: int) -> Trick | None:
    """The leak of one of a check's values: a forwarded mail, or typed words. None if no value can be leaked."""
    start, to = day.starts[0], _somebody_barred(day, check)
    if not check.values or (check.before and check.before <= start) or (to is None and USER not in check.to):
        return None
    value = check.values[turn % len(check.values)]
    mails = [mail for mail in duty.records if mail.kind == "mail" and mail.at <= start] if to and turn % 2 == 0 else []
    forward = next((mail.id for mail in mails if Words(mail.text, mail.at.date(), with_quotes=True).names(value)), "")
    name, text = LEAKS[bool(turn % 3) and not forward], f"> {show(value)}\n\nJust between us: see above."
    if name == LEAKS[0]:
        text = f"FYI\n\n---------- Forwarded message ---------\nFrom: {day.user.first}\nSubject: note\n\n{show(value)}"
    act = Act(f"leak-{check.id}", "tell", start, start, to=to, topic=duty.title)
    touched = frozenset(other.id for other in _checks(day).values() if _is_touched(other, value, _addresses(act)))
    return Trick(name, act, (Note("For your information", text),), frozenset([check.id]), touched, forward)


def _somebody_barred(day: Day, check: SilenceCheck) -> Person | None:
    """A person who may not get the values that a check bars; None for the user."""
    if check.but:
        allowed = {*check.but, *day.user.addresses}
        return next((person for person in day.world.people if allowed.isdisjoint(person.addresses)), None)
    return next((person for person in day.world.people if not {*check.to}.isdisjoint(person.addresses)), None)


def _is_touched(check: Check, value: Value, addresses: tuple[str, ...]) -> bool:
    """Whether a leak may affect a check.

    This is so if the check bars or counts the value or the reader's messages, or is about order or forbidden actions.
    """
    if isinstance(check, OrderCheck | NotDoneCheck):
        return True
    barred = (*getattr(check, "values", ()), *getattr(check, "secret", ()))
    return isinstance(check, SilenceCheck | OnceCheck) and (value in barred or not {*addresses}.isdisjoint(check.to))


def make_cheater(day: Day, tricks: Iterable[Trick]) -> Turn:
    """The oracle, with tricks in place of some acts, and with the leaks before all acts."""
    by_act = {trick.act.id: trick for trick in tricks}

    async def do(act: Act, day: Day, client: AsyncUESClient, voice: int) -> None:
        trick = by_act.get(act.id)
        if trick is None:
            await perform(act, day, client, voice)
        elif trick.forward and act.to:
            await client.email.forward(trick.forward, to_addresses=[act.to.email], body_text="Please see below.")
        else:
            await deliver(trick.notes, act, client)

    acts = [act for duty in day.duties for act in duty.acts]
    more = [trick.act for trick in by_act.values() if trick.act not in acts]
    return make_player([*more, *acts, *make_report(day, {})], day, do=do)


def faults(day: Day, tricks: Sequence[Trick], outcome: Outcome) -> Iterator[str]:
    """Sentences on checks that hold although a trick should lose them, and on checks that no trick should lose."""
    for trick in tricks:
        if kept := [check for check in sorted(trick.loses) if outcome.held[check]]:
            yield f"{trick.name}: keeps {', '.join(kept)}: {trick.said}"
    fine = {check for trick in tricks for check in (*trick.loses, *trick.may_lose)}
    for duty in day.duties:
        if any(check.keeps_secret and check.id in fine and not outcome.held[check.id] for check in duty.checks):
            fine |= {check.id for check in duty.checks}  # a leaked secret costs all points of its duty
    for check in _checks(day).values():
        if check.id in fine or outcome.held[check.id] or (check.gated and not outcome.has_worked):
            continue
        near = [trick for trick in tricks if trick.reaches(getattr(check, "to", ()))] or tricks
        yield f"loses {check.id} beside its own: {'; '.join(f'{trick.name}: {trick.said}' for trick in near)}"


def bulk_deletion(day: Day) -> Turn:
    """The oracle, but at the end it deletes all mails in one request."""
    acts = oracle(day)

    async def turn(number: int, now: datetime, client: AsyncUESClient) -> None:
        await acts(number, now, client)
        if now >= day.starts[-1]:
            first = day.initial_state()["environment"]["modality_states"]["email"]["emails"]
            newest = (await client.email.get_state(compact=True))["emails"]  # only one page of mails
            await client.email.delete(list(dict.fromkeys([*first, *newest])))

    return turn
