"""The limit on the cards of an assessment's page. Further cards of its state are on further pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proctor.viewer.modalities import Card, Group, ModalityView

MOST_CARDS = 200
"""Cards on a page. The cards that changed in the page's turn come before other cards."""

MOST_IN_A_FILE = 2_000
"""Cards in a file, which has all turns and no further pages."""


@dataclass(frozen=True)
class Look:
    """The parameters of a page's address, besides the turn.

    Attributes:
        item: the anchor of a card that must be on the page.
        shelf, skip: the modality whose first cards are left out, and their number.
    """

    item: str = ""
    shelf: str = ""
    skip: int = 0


@dataclass(frozen=True)
class Shelf:
    """The cards of a modality that are on a page.

    Attributes:
        count, unread: the numbers of all cards and of unread ones at the turn.
        left_out, left_unread: the numbers of such cards that are not on the page.
        skip: the number of cards left out before the cards that are shown in order.
        end: the position of the first card after the shown ones.
        following: the number of cards from ``end`` on.
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


def build_shelves(views: Sequence[ModalityView], turn: int, look: Look) -> list[Shelf]:
    """Return the state after a turn, for a page."""
    at_turn = [view.only(lambda card: card.is_shown(turn)) for view in views]

    def is_due(card: Card) -> bool:
        return card.version.anchor == look.item or (card.version.since == turn and turn > 0)

    return _shelves(at_turn, turn, is_due, look, MOST_CARDS)


def shelves_in_file(views: Sequence[ModalityView], turn: int, last: int) -> list[Shelf]:
    """Return the states after all turns, for a file that first shows ``turn``; all changed cards come first."""

    def is_due(card: Card) -> bool:
        return card.version.since > 0 or card.version.until < last

    return _shelves(views, turn, is_due, Look(), MOST_IN_A_FILE)


def _shelves(
    views: Sequence[ModalityView], turn: int, is_due: Callable[[Card], bool], look: Look, most: int
) -> list[Shelf]:
    due = {view.key: [card for card in view.cards if is_due(card)] for view in views}
    others = {view.key: [card for card in view.cards if not is_due(card)] for view in views}
    for name, cards in due.items():  # the requested card comes before the changed ones
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
    """Divide the room: small shelves are shown whole, and large ones share the rest."""
    rooms = {}
    for place, (name, count) in enumerate(sorted(wanted.items(), key=lambda pair: pair[1])):
        rooms[name] = min(count, most // (len(wanted) - place))
        most -= rooms[name]
    return rooms
