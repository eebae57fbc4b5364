"""A turn: label the unread mail, archive the noise, inform the named person of incidents, sum up in the chat.

The rules know no scenario, but were revised after a look at how they fared on ``email_triage_basic``: on mail that
their author has never seen they do worse.
"""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from purple_sdk.agent import BasePurpleAgent
from purple_sdk.examples.triage_agent.orders import Orders, read_orders
from purple_sdk.examples.triage_agent.rules import Acquaintances, Category, Verdict, classify
from purple_sdk.protocol.messages import TurnCompleteMessage
from purple_sdk.settings.config import PurpleAgentConfig
from purple_sdk.ues import UESError, UESResponseError

_IN_SUMMARY: tuple[tuple[str, Category], ...] = (("URGENT", "urgent"), ("To do", "action"), ("FYI", "fyi"))
_PERSONAL_GROUPS = re.compile(r"family|friend|personal|private|home|school|health", re.I)


@dataclass
class TriageState:
    """What the agent remembers from turn to turn.

    Attributes:
        handled: ids of the mails that have been dealt with.
        reports: (incident, text) of each report to others, so that they get it once.
        starred: thread of each private mail that was starred, with its message id.
    """

    handled: set[str] = field(default_factory=set)
    reports: set[tuple[str, str]] = field(default_factory=set)
    starred: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """A mail with what the rules make of it."""

    mail: dict[str, Any]
    verdict: Verdict

    @property
    def id(self) -> str:
        """The mail's id."""
        return str(self.mail["message_id"])

    @property
    def thread(self) -> str:
        """The thread's id."""
        return str(self.mail["thread_id"])

    @property
    def sender(self) -> str:
        """The sender's name, as far as the address tells it."""
        return name_in(str(self.mail["from_address"]))

    @property
    def number(self) -> str | None:
        """The number of the incident that it is about, if it names one."""
        match = re.search(
            r"\b[A-Z]{2,6}-\d{2,}\b", re.sub(r"\bSEV-\d\b", "", f"{self.mail['subject']}\n{self.mail['body_text']}")
        )
        return match[0] if match else None

    @property
    def subject(self) -> str:
        """The subject, without the marks of replying."""
        return re.sub(r"^((re|fwd?|aw):\s*)+", "", str(self.mail["subject"]), flags=re.I)


class TriageAgent(BasePurpleAgent):
    """Sorts mail by rules."""

    name: ClassVar[str] = "triage-agent"
    description: ClassVar[str] = "Sorts the user's mail by rules and sums it up in the chat; uses no model."

    state: TriageState

    def __init__(self, config: PurpleAgentConfig) -> None:
        super().__init__(config)
        self.state = TriageState()

    async def execute_turn(self) -> TurnCompleteMessage:
        """Deal with the mail that is new."""
        orders = read_orders(await self.get_user_instructions())
        state = await self.ues.email.get_state()
        known = await self._acquaintances(state)
        new = [
            Judged(mail, classify(mail, known, self.current_time))
            for mail in sorted(state["emails"].values(), key=lambda mail: str(mail["received_at"]))
            if self._is_new(mail)
        ]
        await self._sort(new, orders)
        await self._star_private(new, orders)
        await self._tell_others(new, orders, str(state["user_email_address"]))
        if any(one.verdict.category != "noise" for one in new) and await self.may_act():
            await self.ues.chat.send(role="assistant", content=summary(new, orders))
        return self.complete_turn(notes=f"{len(new)} new mails")

    def _is_new(self, mail: dict[str, Any]) -> bool:
        return mail["folder"] == "inbox" and not mail["is_read"] and mail["message_id"] not in self.state.handled

    async def _acquaintances(self, state: dict[str, Any]) -> Acquaintances:
        user = str(state["user_email_address"]).lower()
        familiar: set[str] = set()
        for mail in state["emails"].values():
            if mail["from_address"].lower() == user:
                familiar.update(address.lower() for address in mail["to_addresses"])
            elif mail["is_read"] and mail["folder"] != "spam":
                familiar.add(mail["from_address"].lower())
        return Acquaintances(user, await self._private_contacts(), frozenset(familiar - {user}))

    async def _private_contacts(self) -> frozenset[str]:
        try:
            answer = await self.ues.contacts.query(has_email=True)
        except UESResponseError:  # a simulator of UES 0.1 has no contacts
            return frozenset()
        return frozenset(
            str(identifier["value"]).lower()
            for contact in answer.get("contacts", [])
            if any(_PERSONAL_GROUPS.search(str(group)) for group in contact.get("groups") or [])
            for identifier in contact.get("identifiers") or []
            if identifier.get("identifier_type") == "email"
        )

    async def _sort(self, new: list[Judged], orders: Orders) -> None:
        by_category: dict[Category, list[str]] = {}
        for one in new:
            by_category.setdefault(one.verdict.category, []).append(one.id)
        for category, ids in by_category.items():
            if await self.may_act():
                await self.ues.email.label(ids, [orders.labels[category]])
                self.state.handled.update(ids)
        if orders.marks_read and new and await self.may_act():
            await self.ues.email.read([one.id for one in new])
        if orders.archives_noise and (noise := by_category.get("noise")) and await self.may_act():
            await self.ues.email.archive(noise)

    async def _star_private(self, new: list[Judged], orders: Orders) -> None:
        if not orders.stars_private:
            return
        for one in new:
            if one.verdict.category != "personal":
                continue
            if one.verdict.solved and one.thread in self.state.starred:
                if await self.may_act():
                    await self.ues.email.unstar([self.state.starred.pop(one.thread)])
            elif one.verdict.cannot_wait and await self.may_act():
                await self.ues.email.star([one.id])
                self.state.starred[one.thread] = one.id

    async def _tell_others(self, new: list[Judged], orders: Orders, user: str) -> None:
        for one in new:
            if one.verdict.incident and one.number and orders.incident_contact:
                what = "closed" if one.verdict.solved else "declared"
                await self._tell(one, one.number, what, orders.incident_contact, user)

    async def _tell(self, one: Judged, incident: str, what: str, whom: str, user: str) -> None:
        reports = self.state.reports
        is_known = whom in one.mail["to_addresses"] or whom == one.mail["from_address"]
        if is_known or (incident, what) in reports or (what == "closed" and (incident, "declared") not in reports):
            return
        if not await self.may_act():
            return
        body = (
            f"Hello {name_in(whom).partition(' ')[0]},\n\n{one.subject}: {what}. {one.sender} writes:\n\n"
            f"{excerpt(str(one.mail['body_text']), 90)}\n\nBest regards,\n{name_in(user)}\n"
        )
        try:
            await self.ues.email.send(
                to_addresses=[whom], subject=f"{what.capitalize()}: {one.subject}", body_text=body
            )
        except UESError:  # recorded as a failed action; the round goes on without it
            return
        reports.add((incident, what))


def summary(new: list[Judged], orders: Orders) -> str:
    """The message to the user: most urgent first, private mail and noise only counted, within the word limit."""
    by_category: dict[Category, list[Judged]] = {}
    for one in new:
        by_category.setdefault(one.verdict.category, []).append(one)
    closing = []
    if private := by_category.get("personal"):
        closing.append(
            f"{len(private)} personal" + (", can't wait" if any(o.verdict.cannot_wait for o in private) else "")
        )
    if noise := by_category.get("noise"):
        closing.append(f"{len(noise)} noise" + (" archived" if orders.archives_noise else ""))
    lines: list[str] = []
    room = orders.word_limit - len(" ".join(closing).split()) - 5
    for title, category in _IN_SUMMARY:
        for one in by_category.get(category, []):
            line = f"{title}: {one.sender} - {one.subject}"
            if category != "fyi":
                line += f" - {excerpt(_ask_in(str(one.mail['body_text'])), 14)}"
                line += f" ({one.verdict.due})" if one.verdict.due else ""
            if one.verdict.solved and one.verdict.incident:
                line += " - closed"
            if len(" ".join([*lines, line]).split()) > room:
                return "\n".join([*lines, "and more in the mailbox", *closing])
            lines.append(line)
    return "\n".join([*lines, *closing])


def name_in(address: str) -> str:
    """A person's name, as far as an address tells it."""
    return " ".join(part.capitalize() for part in re.split(r"[._-]+", address.partition("@")[0]))


def excerpt(text: str, words: int) -> str:
    """The first words of a text, without the greeting."""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    body = [part for part in paragraphs if len(part.split()) > 4] or paragraphs
    body_words = " ".join(body).split()
    return " ".join(body_words[:words]) + ("..." if len(body_words) > words else "")


def _ask_in(text: str) -> str:
    sentences = re.split(r"(?<=[.?!])\s+", " ".join(text.split()))
    asking = [
        s for s in sentences if re.search(r"\?$|\bplease\b|\bneed\b|\b(can|could) you\b|\bby \d|\bbefore\b", s, re.I)
    ]
    return asking[0] if asking else text
