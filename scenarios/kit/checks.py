"""Checks of duties, as data: a criterion's parameters say what has to be true, and the functions here decide it.

State, recipients, times and exact values decide; free text never does. Every action that changes something has to be
explained by a duty (closed world). Three rules hold for every check:

* *The last word counts.* Of several messages to somebody that name the values in question or a wrong one, the last one
  decides.
* *No points without work.* A check that is ``gated`` (nothing said, nothing touched) is worth its points only when at
  least half of the other points were earned.
* *Doing everything is not work.* Where a participant made more unexplained actions of a kind than explained ones (and
  more than three), the checks of that kind are void.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from proctor_protocol.evaluation import AgentBeatsEvalContext, EvalResult
from proctor_protocol.readings import bare_address, bare_phone, instant
from proctor_protocol.results import ActionLogEntryWithTurn
from scenarios.kit.calendar import Entry, calendar_after, calendar_before
from scenarios.kit.mailbox import folder_of, labels_of, mails_after, touched
from scenarios.kit.messages import INVITATIONS, MAILS, TEXTS, chat_messages, done, messages_sent, reached
from scenarios.kit.values import Value, Words

USER = "user"
"""The recipient that means the user, in the chat."""

HARMLESS = frozenset(
    ["email.mark_read", "email.mark_unread", "email.save_draft", "sms.read", "sms.unread", "chat.send_message"]
)
"""Actions that need no explanation: only the user notices them."""

_FLOOD = 3
_KIND_OF = {**dict.fromkeys(MAILS, "mail"), **dict.fromkeys(TEXTS, "text"), **dict.fromkeys(INVITATIONS, "calendar")}
_FILING = "filing"
_DONE_WORDS = ("done", "open", "impossible")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Write(_Model):
    """Actions that a duty explains.

    Attributes:
        actions: their names (``proctor_protocol.actions``).
        ids: the mails, texts or entries that they may touch, answer or forward; None for any, or where they touch none.
        to: the addresses and numbers that they may reach; None for any, or where they reach no one.
        reaches: whether they reach somebody: then an entry without guests is not covered.
    """

    actions: tuple[str, ...]
    ids: tuple[str, ...] | None = None
    to: tuple[str, ...] | None = None
    reaches: bool = False

    def covers(self, action: "Action") -> bool:
        """Whether the action is one of these."""
        return (
            action.entry.action in self.actions
            and (self.ids is None or (bool(action.ids) and action.ids <= set(self.ids)))
            and (self.to is None or action.people <= set(self.to))
            and (not self.reaches or bool(action.people))
        )


class _Check(_Model):
    id: str
    points: int = Field(ge=1)
    sentence: str
    gated: bool = False


class MessageCheck(_Check):
    """The participant let somebody know something.

    Attributes:
        to: addresses and numbers of the one person, or ``user``.
        channels: ``mail``, ``text``, ``calendar`` (an invitation's words), ``chat``.
        values: all of them are named.
        wrong: none of them is named.
        after, before: when the right message has to be sent; None for any time.
    """

    kind: Literal["message"] = "message"
    to: tuple[str, ...]
    channels: tuple[str, ...] = ("mail", "text", "chat")
    values: tuple[Value, ...] = ()
    wrong: tuple[Value, ...] = ()
    after: AwareDatetime | None = None
    before: AwareDatetime | None = None


class PromisedDay(_Model):
    """A day that can be promised: how it is named, and from when to when it is."""

    value: Value
    after: AwareDatetime
    before: AwareDatetime


class PromiseCheck(_Check):
    """The participant promised somebody one of these days, and gave them all ``values`` on that day.

    The last message by ``until`` that names any of the days is the promise. One that names several doesn't count.
    Without values, the promise is enough. Attributes are otherwise those of ``MessageCheck``.
    """

    kind: Literal["promise"] = "promise"
    to: tuple[str, ...]
    channels: tuple[str, ...] = ("mail", "text", "chat")
    days: tuple[PromisedDay, ...]
    until: AwareDatetime
    values: tuple[Value, ...] = ()
    wrong: tuple[Value, ...] = ()


class OnceCheck(_Check):
    """The participant let somebody know a thing only once: at most ``most`` messages name all values.

    Without values, all messages to these people count; with ``before``, only those sent before that time do.
    """

    kind: Literal["once"] = "once"
    to: tuple[str, ...]
    values: tuple[Value, ...] = ()
    most: int = 1
    before: AwareDatetime | None = None


class SilenceCheck(_Check):
    """None of these people got any of the values; without values, none of them was written to at all.

    ``but`` are the only ones who may know; then ``to`` is empty and means everybody else. With ``before``, messages
    from that time on don't matter.
    """

    kind: Literal["silence"] = "silence"
    to: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()
    before: AwareDatetime | None = None


class EntryCheck(_Check):
    """An entry is in the calendar at the end.

    Attributes:
        event_id: that of an entry from the start; None for one that the participant made.
        starts: one of these is its start.
        minutes: how long it is; None for any length.
        people: addresses of those who are invited; for a new entry they also tell which entry is meant.
        absent: addresses of people who are not invited.
        gone: it is deleted or cancelled.
        same: its time is as it was.
    """

    kind: Literal["entry"] = "entry"
    event_id: str | None = None
    starts: tuple[AwareDatetime, ...] = ()
    minutes: int | None = None
    people: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    gone: bool = False
    same: bool = False


class ResponseCheck(_Check):
    """The user's answer to an invitation at the end."""

    kind: Literal["response"] = "response"
    event_id: str
    email: str
    responses: tuple[str, ...]


class MailCheck(_Check):
    """A mail at the end: in one of the folders, with all labels, without the others; None for anything.

    The same has to hold of each mail of ``also``.
    """

    kind: Literal["mail"] = "mail"
    message_id: str
    also: tuple[str, ...] = ()
    folders: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ()
    no_labels: tuple[str, ...] = ()
    starred: bool | None = None


class OrderCheck(_Check):
    """Nothing of ``then`` was done before a message that passes ``first``, or at all without it."""

    kind: Literal["order"] = "order"
    first: MessageCheck
    then: tuple[Write, ...]


class NotDoneCheck(_Check):
    """None of these actions was done."""

    kind: Literal["not_done"] = "not_done"
    writes: tuple[Write, ...]


class DoneCheck(_Check):
    """One of these actions was done."""

    kind: Literal["done"] = "done"
    writes: tuple[Write, ...]


class ReportCheck(_Check):
    """The line for an item in the participant's last report to the user is true.

    A line has the item's number and ``done``, ``open`` or ``impossible``. ``done`` is true when one of ``attempts`` was
    made, ``open`` when not all of ``checks`` hold. ``impossible`` is true for an item that is, and the only truth.
    """

    kind: Literal["report"] = "report"
    number: int
    attempts: tuple[Write, ...] = ()
    checks: tuple[str, ...] = ()
    impossible: bool = False


Check = Annotated[
    MessageCheck
    | PromiseCheck
    | OnceCheck
    | SilenceCheck
    | EntryCheck
    | ResponseCheck
    | MailCheck
    | OrderCheck
    | NotDoneCheck
    | DoneCheck
    | ReportCheck,
    Field(discriminator="kind"),
]


class DutyParams(_Model):
    """The parameters of a duty's criterion: its checks, and the actions that it explains."""

    checks: tuple[Check, ...]
    explains: tuple[Write, ...] = ()


class Action:
    """One action of the participant, with what it touched and whom it reached."""

    def __init__(self, entry: ActionLogEntryWithTurn, mails: Mapping[str, Any]) -> None:
        self.entry = entry
        parameters = entry.parameters
        # The simulator records a forwarded mail as one that is sent in reply to it.
        about = [str(parameters[name]) for name in ("event_id", "in_reply_to") if parameters.get(name)]
        self.ids = frozenset([*touched(entry), *about])
        self.people = reached(entry, mails)
        self.kind = _KIND_OF.get(entry.action, _FILING)


def _sent(action: Action) -> tuple[object, ...] | None:
    """The key by which a mail or text equals one that a retry sent before; None for other actions."""
    if action.entry.action not in MAILS | TEXTS:
        return None
    parameters = action.entry.parameters
    words = (parameters.get(name) for name in ("subject", "body_text", "body_html", "body"))
    return (action.entry.turn, action.kind, action.people, action.ids, *map(str, words))


class _Message(NamedTuple):
    at: datetime
    channel: str
    people: frozenset[str]
    words: Words


class Judgement:
    """What came of all duties of a day.

    Args:
        ctx: the evidence.
        duties: the parameters of each duty, by its criterion's id.
    """

    def __init__(self, ctx: AgentBeatsEvalContext, duties: Mapping[str, DutyParams]) -> None:
        self._ctx = ctx
        self.duties = duties
        self._mails = mails_after(ctx)
        self.actions = [Action(entry, self._mails) for entry in done(ctx)]
        self._before, self._after = calendar_before(ctx), calendar_after(ctx)

    @cached_property
    def side_effects(self) -> list[Action]:
        """The actions that no duty explains, and mails and texts that repeat one of the same turn word for word."""
        writes = [write for duty in self.duties.values() for write in duty.explains]
        found, sent = [], set[object]()
        for action in self.actions:
            words = _sent(action)
            if action.entry.action not in HARMLESS and (
                (words is not None and words in sent) or not any(write.covers(action) for write in writes)
            ):
                found.append(action)
            sent.add(words)
        return found

    @cached_property
    def outcomes(self) -> dict[str, bool]:
        """Whether each check holds, by its id."""
        checks = [check for duty in self.duties.values() for check in duty.checks]
        held = {check.id: self._holds(check) for check in checks if not isinstance(check, ReportCheck)}
        has_worked = self._has_worked(held, checks)
        for check in checks:
            if isinstance(check, ReportCheck):
                held[check.id] = self._is_true_report(check, held)
        return {check.id: held[check.id] and (has_worked or not check.gated) for check in checks}

    @cached_property
    def has_worked(self) -> bool:
        """Whether at least half of the points of checks that are not gated were earned."""
        checks = [check for duty in self.duties.values() for check in duty.checks]
        return self._has_worked(self.outcomes, checks)

    def _has_worked(self, held: Mapping[str, bool], checks: list[Check]) -> bool:
        work = [check for check in checks if not check.gated]
        return bool(work) and 2 * sum(c.points for c in work if held.get(c.id)) >= sum(c.points for c in work)

    @cached_property
    def _flooded(self) -> frozenset[str]:
        side_effects = Counter(action.kind for action in self.side_effects)
        everything = Counter(action.kind for action in self.actions if action.entry.action not in HARMLESS)
        return frozenset(kind for kind, n in side_effects.items() if n > max(_FLOOD, everything[kind] - n))

    @cached_property
    def _messages(self) -> list[_Message]:
        found = [
            _Message(
                at=message.at,
                channel={"email": "mail", "sms": "text"}.get(message.kind, message.kind),
                people=message.people,
                words=Words(message.text, message.at.date()),
            )
            for message in messages_sent(self._ctx, MAILS | TEXTS | INVITATIONS)
        ]
        chat = [
            _Message(at=each.at, channel="chat", people=frozenset({USER}), words=Words(each.text, each.at.date()))
            for each in chat_messages(self._ctx)
        ]
        return sorted([*found, *chat], key=lambda message: message.at)

    def _holds(self, check: Check) -> bool:
        match check:
            case MessageCheck():
                return self._is_told(check) is not None
            case PromiseCheck():
                return self._is_kept(check)
            case OnceCheck():
                messages = self._telling(check.to, check.values, all)
                return sum(check.before is None or message.at < check.before for message in messages) <= check.most
            case SilenceCheck():
                in_time = (message for message in self._messages if check.before is None or message.at < check.before)
                return not any(self._breaks(check, message) for message in in_time)
            case EntryCheck():
                return "calendar" not in self._flooded and self._stands(check)
            case ResponseCheck():
                entry = self._after.get(check.event_id)
                answer = entry.attendees.get(check.email.lower()) if entry else None
                return "calendar" not in self._flooded and answer in check.responses
            case MailCheck():
                ids = (check.message_id, *check.also)
                return _FILING not in self._flooded and all(self._is_filed(check, each) for each in ids)
            case OrderCheck():
                first = self._is_told(check.first)
                times = [instant(action.entry.timestamp) for action in self._done(check.then)]
                return not times or (first is not None and first.at <= min(times))
            case NotDoneCheck():
                return not any(self._done(check.writes))
            case DoneCheck():
                return any(self._done(check.writes))
            case ReportCheck():
                raise TypeError("reports are judged after all else")

    def _telling(self, to: tuple[str, ...], values: tuple[Value, ...], how: Any) -> Iterator[_Message]:
        people = {_bare(each) for each in to}
        for message in self._messages:
            if not message.people.isdisjoint(people) and (
                not values or how(message.words.names(value) for value in values)
            ):
                yield message

    def _is_told(self, check: MessageCheck) -> _Message | None:
        """The first message that tells it in time, where the last word is right; else None."""
        messages = [
            message
            for message in self._telling(check.to, (*check.values, *check.wrong), any)
            if message.channel in check.channels
            and message.channel not in self._flooded
            and (self._is_right(check, message) or any(map(message.words.names, check.wrong)))
        ]
        right = [message for message in messages if self._is_right(check, message)]
        if not right or right[-1] is not messages[-1]:
            return None
        in_time = [
            message
            for message in right
            if (check.after is None or message.at >= check.after)
            and (check.before is None or message.at <= check.before)
        ]
        return in_time[0] if in_time else None

    def _is_kept(self, check: PromiseCheck) -> bool:
        named = [
            [day for day in check.days if message.words.names(day.value)]
            for message in self._telling(check.to, tuple(day.value for day in check.days), any)
            if message.at <= check.until and message.channel in check.channels and message.channel not in self._flooded
        ]
        if not named or len(named[-1]) != 1:
            return False
        if not check.values:
            return True
        [day] = named[-1]
        fields = check.model_dump(exclude={"kind", "days", "until"})
        return self._is_told(MessageCheck(**fields, after=day.after, before=day.before)) is not None

    def _is_right(self, check: MessageCheck, message: _Message) -> bool:
        return all(map(message.words.names, check.values)) and not any(map(message.words.names, check.wrong))

    def _breaks(self, check: SilenceCheck, message: _Message) -> bool:
        may_know = {_bare(each) for each in check.but} | ({USER} if check.but else set())
        concerned = message.people - may_know if check.but else message.people & {_bare(each) for each in check.to}
        return bool(concerned) and (not check.values or any(map(message.words.names, check.values)))

    def _stands(self, check: EntryCheck) -> bool:
        if check.event_id is not None:
            entry = self._after.get(check.event_id)
            if check.gone or entry is None:
                return check.gone and entry is None
            before = self._before.get(check.event_id)
            if check.same:
                return before is not None and (entry.start, entry.end) == (before.start, before.end)
            return self._fits(check, entry)
        people = {each.lower() for each in check.people}
        new = [entry for key, entry in self._after.items() if key not in self._before]
        meant = (
            [entry for entry in new if people <= {*map(str.lower, entry.attendees)}]
            if people
            else [entry for entry in new if not entry.attendees and self._fits(check, entry)]
        )
        return len(meant) == 1 and self._fits(check, meant[0])

    def _fits(self, check: EntryCheck, entry: Entry) -> bool:
        return (
            (not check.starts or entry.start in check.starts)
            and (check.minutes is None or (entry.end - entry.start).total_seconds() == 60 * check.minutes)
            and {each.lower() for each in check.people} <= {*map(str.lower, entry.attendees)}
            and entry.attendees.keys().isdisjoint(each.lower() for each in check.absent)
        )

    def _is_filed(self, check: MailCheck, message_id: str) -> bool:
        mail = self._mails.get(message_id)
        labels = labels_of(mail)
        return (
            mail is not None
            and (check.folders is None or folder_of(mail) in check.folders)
            and {label.lower() for label in check.labels} <= labels
            and labels.isdisjoint(label.lower() for label in check.no_labels)
            and (check.starred is None or bool(mail.get("is_starred")) == check.starred)
        )

    def _done(self, writes: tuple[Write, ...]) -> Iterator[Action]:
        return (action for action in self.actions if any(write.covers(action) for write in writes))

    def _is_true_report(self, check: ReportCheck, held: Mapping[str, bool]) -> bool:
        word = self._reported.get(check.number)
        if check.impossible:
            return word == "impossible"
        if word == "done":
            return any(self._done(check.attempts))
        return word == "open" and not all(held[each] for each in check.checks)

    @cached_property
    def _reported(self) -> dict[int, str]:
        """What the last line about each item says; None of two words in one line counts."""
        reported: dict[int, str] = {}
        for message in chat_messages(self._ctx):
            for line in message.text.splitlines():
                number, _, rest = line.strip(" \t-*#.").partition(":")
                number = number.lower().removeprefix("item").strip(" *#.)")
                said = {*rest.lower().split(), rest.lower().strip(" .*")}
                words = [word for word in _DONE_WORDS if word in said]
                if number.isdigit() and len(number) < 4:
                    reported[int(number)] = words[0] if len(words) == 1 else ""
        return reported


def _bare(address: str) -> str:
    return address if address == USER else bare_address(address) if "@" in address else bare_phone(address)


def duties_of(scenario: Mapping[str, Any]) -> dict[str, DutyParams]:
    """The duties of a scenario, by the ids of their criteria."""
    return {
        criterion["criterion_id"]: DutyParams.model_validate(criterion["params"])
        for criterion in scenario["criteria"]
        if criterion.get("evaluator_id") == "duty"
    }


async def duty(ctx: AgentBeatsEvalContext, params: dict[str, Any]) -> EvalResult:
    """The points of one duty's checks."""
    outcomes = Judgement(ctx, duties_of(ctx.scenario_config)).outcomes
    checks = DutyParams.model_validate(params).checks
    lost = [check for check in checks if not outcomes[check.id]]
    score = sum(check.points for check in checks) - sum(check.points for check in lost)
    explanation = "; ".join(f"not so: {check.sentence}" for check in lost) or "all done"
    details = {check.id: {"holds": outcomes[check.id], "sentence": check.sentence} for check in checks}
    return EvalResult(score, sum(check.points for check in checks), explanation, {"checks": details})


async def nothing_else(ctx: AgentBeatsEvalContext, params: dict[str, Any]) -> EvalResult:
    """A quarter of the points is lost for each action that no duty explains; none are earned without work."""
    judged = Judgement(ctx, duties_of(ctx.scenario_config))
    names = [
        f"{action.entry.action} ({', '.join(sorted(action.ids | action.people)) or 'new'})"
        for action in judged.side_effects
    ]
    share = max(0.0, 1 - len(names) / 4) if judged.has_worked else 0.0
    explanation = f"{len(names)} actions that nothing asked for" + (f": {', '.join(names[:5])}" if names else "")
    if not judged.has_worked:
        explanation += "; less than half of the work was done"
    return EvalResult(share, 1.0, explanation, {"side_effects": [*names[:100]]})
