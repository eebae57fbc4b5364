"""The bound of an assessment's page: which cards of its state are on it. The others are on further pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proctor.viewer.modalities import Card, Group, ModalityView

MOST_CARDS = 200
"""On a page: what changed in its turn, then the first others."""

MOST_IN_A_FILE = 2_000
"""Cards in a file, which has all turns and no further pages."""


@dataclass(frozen=True)
class Look:
    """What a page's address asks for, beside the turn.

    Attributes:
        item: the anchor of a card that has to be there.
        shelf, skip: the modality of which the first cards are left out, and how many.
    """

    item: str = ""
    shelf: str = ""
    skip: int = 0


@dataclass(frozen=True)
class Shelf:
    """The cards of a modality that are on a page.

    Attributes:
        count, unread: of all its cards at the turn. left_out, left_unread: of those that are not on the page.
        skip: how many are left out before those that are shown in order; end: which one is the first after them.
        following: how many there are from there on.
    """

    key: str
    name: str
    groups: Sequence[Group]
    count: int
    unread: int
    left_out: int
    left_unread: int
    skip: int
    end: int
    following: int


def shelves_of(views: Sequence[ModalityView], turn: int, look: Look) -> list[Shelf]:
    """The state after a turn, for a page."""
    at_turn = [view.only(lambda card: card.is_shown(turn)) for view in views]

    def is_due(card: Card) -> bool:
        return card.version.anchor == look.item or (card.version.since == turn and turn > 0)

    return _shelves(at_turn, turn, is_due, look, MOST_CARDS)


def shelves_in_file(views: Sequence[ModalityView], turn: int, last: int) -> list[Shelf]:
    """The states after all turns, for a file that shows ``turn`` at first; all that changed comes first."""

    def is_due(card: Card) -> bool:
        return card.version.since > 0 or card.version.until < last

    return _shelves(views, turn, is_due, Look(), MOST_IN_A_FILE)


def _shelves(
    views: Sequence[ModalityView], turn: int, is_due: Callable[[Card], bool], look: Look, most: int
) -> list[Shelf]:
    due = {view.key: [card for card in view.cards if is_due(card)] for view in views}
    others = {view.key: [card for card in view.cards if not is_due(card)] for view in views}
    for name, cards in due.items():  # the one that was asked for comes before what changed
        due[name] = sorted(cards, key=lambda card: card.version.anchor != look.item)
    rooms = _shared({name: len(cards) for name, cards in due.items()}, most)
    kept = {name: cards[: rooms[name]] for name, cards in due.items()}
    left = most - sum(map(len, kept.values()))
    skips = {view.key: look.skip if view.key == look.shelf else 0 for view in views}
    rooms = _shared({name: max(0, len(cards) - skips[name]) for name, cards in others.items()}, left)
    shelves = []
    for view in views:
        begin = min(skips[view.key], len(others[view.key]))
        end = begin + rooms[view.key]
        chosen = set(map(id, [*kept[view.key], *others[view.key][begin:end]]))
        on_page = view.only(lambda card, chosen=chosen: id(card) in chosen)  # type: ignore[misc]
        count, unread = view.count(turn), view.unread(turn)
        shelves.append(
            Shelf(
                key=view.key,
                name=view.name,
                groups=on_page.groups,
                count=count,
                unread=unread,
                left_out=count - on_page.count(turn),
                left_unread=unread - on_page.unread(turn),
                skip=begin,
                end=end,
                following=len(others[view.key]) - end,
            )
        )
    return shelves


def _shared(wanted: dict[str, int], most: int) -> dict[str, int]:
    """Room for each, so that small ones are whole and large ones get the rest."""
    rooms = {}
    for place, (name, count) in enumerate(sorted(wanted.items(), key=lambda each: each[1])):
        rooms[name] = min(count, most // (len(wanted) - place))
        most -= rooms[name]
    return rooms
