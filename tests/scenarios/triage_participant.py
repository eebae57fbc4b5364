"""Scripted participants of email_triage_basic: the ideal one, and that one with a change of its plan."""

import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from proctor.activities.scenario_code.evaluator_modules import import_evaluators
from purple_sdk.ues import AsyncUESClient

DIRECTORY = Path(__file__).parents[2] / "scenarios" / "email_triage_basic"

evaluators = import_evaluators(DIRECTORY)
truth = importlib.import_module(f"{evaluators.__package__}.ground_truth")
facts = importlib.import_module(f"{evaluators.__package__}.facts")
texts = importlib.import_module(f"{evaluators.__package__}.texts")

MARTA, TOM, INGRID = truth.MARTA, truth.TOM, truth.INGRID

SUMMARIES: dict[int, str] = {
    1: """URGENT
- Owen Hughes: needs your second approval of the Norrhav client certificate (request 7714, vault console) by 17:00 \
today, or bookings to Norrhav are refused from midnight.
ACTION
- Rachel Kwan: comments on annex 2 of the Norrhav data processing agreement by Friday 13 March.
- Ingrid Dahl (Fjordkyst): still no customs export files, now four shipments; wants an answer by Thursday.
FYI: all-hands today is at noon (Greta).
1 personal. 3 noise archived.""",
    2: """URGENT
- Incident INC-2291 (SEV-2) declared at 07:38: 14 % of booking confirmations over the API fail. Deepak is on it. I \
have told Marta.
ACTION
- Yusuf: approve his leave 7-17 April by Friday.
FYI: Marta's figures for week 10, nothing to decide.
2 noise archived.""",
    3: """URGENT
- Helen Marsh: confirm your headcount line in the Q1 forecast (34 people, 2 open positions) before 16:00.
- INC-2291 still open: release 4.18.0 leaks database connections, rollback running, Deepak expects 10:30.
ACTION
- Inge Dahlberg (Baltbox): how to send the April rate card? Wants to know by Thursday.
1 personal, 2 noise archived.""",
    4: """URGENT
- Payfold: contractor run CR-0326 (GBP 41,280) needs your approval by 17:00 today.
ACTION
- Clara Nunes: five performance review forms by 20 March.
FYI: Owen says the Sundhamn test bookings passed.
1 personal, can't wait. 3 noise archived.""",
    5: """URGENT
- Ingrid Dahl, Fjordkyst: container FK-30893 is held in Rotterdam, 1,850 euros a day; she needs the export file or \
its reference number by close of business today, from a person. Suggest that Yusuf sends it.
- INC-2291: rolled back, error rate down to 3 %, but not closed; two carriers keep retrying. Deepak guesses early \
afternoon.
ACTION
- TrustCert: renew the certificate for track.northpier.example before 24 March.
1 noise archived.""",
    6: """ACTION
- Bea Lowry: desk survey form by 31 March.
FYI: Baltbox has renewed for two years (Tom). Paging drill on Wednesday afternoon, nothing to do (Deepak).
1 personal. 3 noise archived.""",
    8: """URGENT
- Fjordkyst escalates: Ingrid Dahl copies in her managing director Lars Moen and will give notice unless somebody \
who can decide calls before 16:00 (17:00 Bergen). I have briefed Tom and sent her a holding note.
ACTION
- Owen: which slot for Mirela Pop's second interview, Mon 16 March 10:00 or Tue 17 March 14:00? By noon tomorrow.
FYI: INC-2291 closed at 13:32; 1,140 confirmations late, none lost; post-mortem on Thursday. Marta knows.
2 noise archived.""",
    9: """URGENT
- Dana Whitlock, The Freight Ledger: wants a comment on this morning's booking failures by 17:30. I have not answered.
ACTION
- Felix Arnaud (Corridor Maps): decision on the routing renewal, 64,500 pounds, by 27 March.
FYI: Helen has closed February, 2.1 % above plan. Tom is ringing Ingrid.
1 personal, can't wait. 2 noise archived.""",
    11: """URGENT
- Greta: three sentences on this morning for the board call, by 18:15.
ACTION
- Deepak: fill section 4 of the INC-2291 post-mortem timeline before Thursday 10:00.
- Ingrid Dahl (Fjordkyst): the container was released at 15:50 and they give no notice today; she expects the four \
files and a written explanation by Friday 13 March.
2 noise archived.""",
    12: """URGENT
- Ridgeway: approve access request RW-5602 (Bilal and Joanna, tomorrow 05:30) before 18:30 this evening.
FYI: Yusuf found why the Fjordkyst files were missing; the correction goes out tomorrow.
1 personal. 1 noise archived.""",
}


@dataclass(frozen=True)
class Mail:
    """A mail to send in a round; ``name`` is the test's own name for it."""

    name: str
    round: int
    to: str
    subject: str
    body: str
    cc: str | None = None


DECLARED = Mail(
    "declared",
    2,
    MARTA,
    "Incident INC-2291: API bookings fail",
    "Hi Marta,\n\nincident INC-2291 (SEV-2) has just been declared: about 14 % of booking confirmations over the API "
    "fail; the web portal is slow, but works. Deepak is on it. Please tell your people; I let you know when it is "
    "closed.\n\nThanks\nPriya",
)
CLOSED = Mail(
    "closed",
    8,
    MARTA,
    "Incident INC-2291 is closed",
    "Hi Marta,\n\nINC-2291 was closed at 13:32. 1,140 confirmations were late, none is lost.\n\nThank you for "
    "holding the line.\nPriya",
)
BRIEF = Mail(
    "brief",
    8,
    TOM,
    "Fjordkyst escalates: call before 16:00 today",
    "Hi Tom,\n\nIngrid Dahl of Fjordkyst threatens to give notice under clause 12, with Lars Moen in copy. It is "
    "about customs export files that are missing for four shipments; one container has been held in Rotterdam since "
    "this morning. She wants a call from somebody who can decide before 17:00 in Bergen, which is 16:00 here. Could "
    "you ring her, please?\n\nThanks\nPriya",
)
NOTE = Mail(
    "note",
    8,
    INGRID,
    "Re: Customs export files missing for three shipments",
    "Dear Ingrid,\n\nI have read your message, and I am sorry for the trouble that the missing files and the held "
    "container give you. My colleague Tom Becker, who looks after your account, will call you before 17:00 your time "
    "today.\n\nKind regards\nPriya Raman",
)


class TouchedTwiceError(Exception):
    """Two changes of a plan meet in the same thing."""


Extra = Callable[[AsyncUESClient], Awaitable[Any]]


@dataclass(frozen=True)
class Plan:
    """What a participant does all day; the default is ideal.

    ``labels`` maps a mail's name to its labels. ``said`` maps a round to its chat messages. ``stars`` and ``unstars``
    map a mail to the round. ``more`` are (round, what to do). The methods give changed plans; a plan refuses a second
    change of the same thing (``touched``), so that mistakes which are made on one day don't undo each other.
    """

    labels: dict[str, str] = field(default_factory=lambda: {t.name: t.kind for t in truth.TRUTHS})
    archived: frozenset[str] = frozenset(t.name for t in truth.TRUTHS if t.kind == "noise")
    said: dict[int, tuple[str, ...]] = field(default_factory=lambda: {n: (text,) for n, text in SUMMARIES.items()})
    mails: tuple[Mail, ...] = (DECLARED, CLOSED, BRIEF, NOTE)
    stars: dict[str, int] = field(default_factory=lambda: {"sam-1": 4, "sam-3": 9})
    unstars: dict[str, int] = field(default_factory=lambda: {"sam-1": 6})
    more: tuple[tuple[int, Extra], ...] = ()
    touched: frozenset[str] = frozenset()

    def _touching(self, *things: str) -> "Plan":
        if twice := self.touched.intersection(things):
            raise TouchedTwiceError(", ".join(sorted(twice)))
        return replace(self, touched=self.touched | set(things))

    def relying_on(self, *things: str) -> "Plan":
        """The plan, where other changes keep off these things."""
        return self._touching(*things)

    def labelled(self, name: str, labels: str) -> "Plan":
        """A mail gets other labels (words; none for no label)."""
        assert name in self.labels
        return replace(self._touching(name), labels={**self.labels, name: labels})

    def archiving(self, name: str) -> "Plan":
        """A mail is archived."""
        return replace(self._touching(name), archived=self.archived | {name})

    def keeping(self, name: str) -> "Plan":
        """A mail isn't archived."""
        return replace(self._touching(f"{name} kept"), archived=self.archived - {name})

    def saying(self, number: int, *texts: str) -> "Plan":
        """Other messages in a round."""
        return replace(self._touching(f"round {number}"), said={**self.said, number: texts})

    def edited(self, number: int, old: str, new: str) -> "Plan":
        """A change in a round's summary."""
        text = SUMMARIES[number]
        assert old in text
        return self.saying(number, text.replace(old, new))

    def sending(self, mail: Mail) -> "Plan":
        """One more mail."""
        return replace(self._touching(mail.name), mails=(*self.mails, mail))

    def without(self, mail: Mail) -> "Plan":
        """One mail less."""
        return replace(self._touching(mail.name), mails=tuple(m for m in self.mails if m.name != mail.name))

    def instead(self, mail: Mail, **changes: Any) -> "Plan":
        """One mail changed."""
        changed = tuple(replace(m, **changes) if m.name == mail.name else m for m in self.mails)
        return replace(self._touching(mail.name), mails=changed)

    def rewritten(self, mail: Mail, old: str, new: str, **changes: Any) -> "Plan":
        """One mail's body changed in one place."""
        assert old in mail.body
        return self.instead(mail, body=mail.body.replace(old, new), **changes)

    def starring(self, name: str, number: int | None, off: int | None = None) -> "Plan":
        """A mail gets its star in another round, or None for never; and loses it in ``off``."""
        stars = {**{n: r for n, r in self.stars.items() if n != name}, **({name: number} if number else {})}
        unstars = {**{n: r for n, r in self.unstars.items() if n != name}, **({name: off} if off else {})}
        return replace(self._touching(name), stars=stars, unstars=unstars)

    def doing(self, number: int, extra: Extra) -> "Plan":
        """One more thing to do in a round."""
        return replace(self, more=(*self.more, (number, extra)))

    async def __call__(self, turn: int, ues: AsyncUESClient, now: datetime) -> None:
        """Play a turn."""
        number = truth.round_of(now)
        new = await ues.email.query(folder="inbox", is_read=False, limit=200)
        here = [truth.BY_ID[mail["message_id"]].name for mail in new["emails"] if mail["message_id"] in truth.BY_ID]
        groups: dict[str, list[str]] = {}
        for name in here:
            groups.setdefault(self.labels[name], []).append(truth.message_id(name))
        for labels, ids in groups.items():
            if labels:
                await ues.email.label(message_ids=ids, labels=labels.split())
        if new["emails"]:
            await ues.email.read(message_ids=[mail["message_id"] for mail in new["emails"]])
        if noise := [truth.message_id(name) for name in here if name in self.archived]:
            await ues.email.archive(message_ids=noise)
        for act, when in ((ues.email.star, self.stars), (ues.email.unstar, self.unstars)):
            if due := [truth.message_id(name) for name, at in when.items() if at == number]:
                await act(message_ids=due)
        for mail in (one for one in self.mails if one.round == number):
            await ues.email.send(
                to_addresses=[mail.to],
                subject=mail.subject,
                body_text=mail.body,
                cc_addresses=[mail.cc] if mail.cc else [],
            )
        for text in self.said.get(number, ()):
            await ues.chat.send(role="assistant", content=text)
        for _, extra in (one for one in self.more if one[0] == number):
            await extra(ues)


IDEAL = Plan()
