"""The content of a simulation, as a person reads it: mails in threads, texts and chat in conversations, events by day.

Everything is plain text, an HTML mail too: templates escape it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from proctor.viewer.versions import Version
from proctor.viewer.words import clip, when
from purple_sdk.protocol.readings import chat_text

_HEADINGS = {"email": "Mail", "sms": "Texts", "chat": "Chat", "calendar": "Calendar", "contacts": "Contacts"}
_ENTRIES = {"email": ("emails", "drafts"), "sms": ("messages",), "chat": ("messages",), "calendar": ("events",)}


@dataclass(frozen=True)
class AttachedFile:
    """A file of a mail: its name, its type and size in words, and the SHA-256 of its content, where that is known."""

    name: str
    about: str
    sha256: str | None


@dataclass(frozen=True)
class Card:
    """One item as it is shown, and when: see ``Version``."""

    version: Version
    who: str
    title: str
    time: str
    text: str
    facts: list[str] = field(default_factory=list)
    files: list[AttachedFile] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    is_unread: bool = False
    is_own: bool = False
    order: str = ""

    def is_shown(self, turn: int) -> bool:
        return self.version.is_at(turn)


@dataclass(frozen=True)
class Group:
    """Cards that belong together: a thread, a conversation, a day."""

    name: str
    cards: list[Card]

    def is_shown(self, turn: int) -> bool:
        return any(card.is_shown(turn) for card in self.cards)

    def count(self, turn: int) -> int:
        return sum(card.is_shown(turn) for card in self.cards)


@dataclass(frozen=True)
class ModalityView:
    key: str
    name: str
    groups: list[Group]

    @property
    def cards(self) -> list[Card]:
        """All cards, in the order in which they are shown."""
        return [card for group in self.groups for card in group.cards]

    def only(self, is_kept: Callable[[Card], bool]) -> "ModalityView":
        """The same with some of its cards, and without groups that have none of them."""
        groups = [Group(group.name, list(filter(is_kept, group.cards))) for group in self.groups]
        return ModalityView(self.key, self.name, [group for group in groups if group.cards])

    def count(self, turn: int) -> int:
        return sum(group.count(turn) for group in self.groups)

    def unread(self, turn: int) -> int:
        return sum(card.is_shown(turn) and card.is_unread for group in self.groups for card in group.cards)


def modality_views(versions: Iterable[Version], zone: tzinfo | None) -> list[ModalityView]:
    by_modality: dict[str, list[Version]] = {}
    owner: dict[str, str] = {}
    for version in versions:
        if version.path in ("email/user_email_address", "sms/user_phone_number"):
            owner[version.modality] = str(version.item)
        elif isinstance(version.item, Mapping):
            by_modality.setdefault(version.modality, []).append(version)
    views = []
    for key, name in _HEADINGS.items():
        chosen = [v for v in by_modality.get(key, []) if v.section in _ENTRIES.get(key, (v.section,))]
        groups = _grouped(key, chosen, owner.get(key, ""), zone)
        if groups:
            views.append(ModalityView(key, name, groups))
    return views


def _grouped(key: str, versions: list[Version], owner: str, zone: tzinfo | None) -> list[Group]:
    named: dict[str, list[Card]] = {}
    for version in versions:
        item: Mapping[str, Any] = version.item
        if key == "email":
            named.setdefault(str(item.get("thread_id") or version.path), []).append(_mail(version, item, owner, zone))
        elif key in ("sms", "chat"):
            thread = str(item.get("thread_id") or item.get("conversation_id") or "")
            named.setdefault(thread, []).append(_message(key, version, item, zone))
        elif key == "calendar":
            card = _event(version, item, zone)
            named.setdefault(when(item.get("start"), zone, "%Y-%m-%d %A %d %B"), []).append(card)
        else:
            named.setdefault("", []).append(_contact(version, item))
    for cards in named.values():
        cards.sort(key=lambda card: (card.order, card.version.path, card.version.since))
    if key == "email":
        groups = [Group(cards[0].title, cards) for cards in named.values()]
        return sorted(groups, key=lambda group: group.cards[-1].order, reverse=True)
    if key == "sms":
        others = ((dict.fromkeys(card.who for card in cards if not card.is_own), cards) for cards in named.values())
        return [Group(", ".join(names), cards) for names, cards in others]
    if key == "calendar":
        return [Group(day.partition(" ")[2], named[day]) for day in sorted(named)]
    return [Group("", cards) for cards in named.values()]


def _mail(version: Version, item: Mapping[str, Any], owner: str, zone: tzinfo | None) -> Card:
    sender, folder = str(item.get("from_address") or ""), str(item.get("folder") or "")
    to = [f"{word} {clip(_listed(item, name))}" for word, name in _RECIPIENTS if item.get(name)]
    text = item.get("body_text") or item.get("body_html") or ""
    at = item.get("received_at") or item.get("sent_at")
    labels = [clip(label, 40) for label in item.get("labels") or [] if isinstance(label, str)]
    return Card(
        version=version,
        who=clip(sender, 120),
        title=clip(item.get("subject") or "(no subject)"),
        time=when(at, zone),
        text=str(text),
        facts=[*to, *(["shown as text: it has HTML only"] if not item.get("body_text") and text else [])],
        files=[_file(each) for each in item.get("attachments") or [] if isinstance(each, Mapping)],
        marks=[*(["★"] if item.get("is_starred") else []), *labels, *([folder] if folder not in ("", "inbox") else [])],
        is_unread=item.get("is_read") is False,
        is_own=bool(owner) and sender == owner,
        order=str(at or ""),
    )


def _file(item: Mapping[str, Any]) -> AttachedFile:
    about = f"{clip(item.get('mime_type') or 'file', 60)}, {clip(item.get('size'), 20)} bytes"
    sha256 = item.get("sha256")
    return AttachedFile(clip(item.get("filename") or "(no name)", 120), about, str(sha256) if sha256 else None)


_RECIPIENTS = (("to", "to_addresses"), ("cc", "cc_addresses"), ("bcc", "bcc_addresses"))


def _listed(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    return ", ".join(str(each) for each in value) if isinstance(value, list) else str(value or "")


def _message(key: str, version: Version, item: Mapping[str, Any], zone: tzinfo | None) -> Card:
    role = str(item.get("role") or "")
    at = item.get("timestamp") or item.get("sent_at")
    own = role == "assistant" if key == "chat" else item.get("direction") == "outgoing"
    return Card(
        version=version,
        who=clip({"assistant": "participant"}.get(role, role) or item.get("from_number"), 120),
        title="",
        time=when(at, zone),
        text=str(chat_text(item.get("content")) or item.get("body") or ""),
        is_unread=key == "sms" and item.get("is_read") is False,
        is_own=own,
        order=str(at or ""),
    )


def _event(version: Version, item: Mapping[str, Any], zone: tzinfo | None) -> Card:
    attendees = [each for each in item.get("attendees") or [] if isinstance(each, Mapping)]
    who = [
        f"{each.get('display_name') or each.get('email')}: {each.get('response') or 'no answer'}"
        + (f" “{clip(each['comment'], 200)}”" if each.get("comment") else "")
        for each in attendees
    ]
    return Card(
        version=version,
        who=clip(item.get("organizer"), 120),
        title=clip(item.get("title") or "(no title)"),
        time=f"{when(item.get('start'), zone, '%H:%M')}–{when(item.get('end'), zone, '%H:%M')}",
        text=str(item.get("description") or ""),
        facts=[*([clip(item.get("location"))] if item.get("location") else []), *map(clip, who)],
        marks=[str(item["status"])] if item.get("status") not in (None, "confirmed") else [],
        order=when(item.get("start"), zone, "%Y-%m-%dT%H:%M"),
    )


def _contact(version: Version, item: Mapping[str, Any]) -> Card:
    name = item.get("display_name") or item.get("name") or item.get("email") or version.path
    facts = [f"{key}: {clip(value, 120)}" for key, value in item.items() if isinstance(value, str) and value != name]
    return Card(version=version, who="", title=clip(name), time="", text="", facts=facts, order=clip(name))
