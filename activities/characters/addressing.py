"""Find the readers of a message: the characters whom it reached, and the users of other roles."""

from collections import Counter
from collections.abc import Iterable

from proctor.activities.characters.messages import OutgoingMessage
from proctor.protocol.modalities import Written
from proctor.protocol.scenario import ScenarioConfig

ANSWERED_IN_A_TURN = 20
"""How many of a turn's messages one character reads; the rest stay unanswered.

Each message that is read is a separate step, with a model call if there is a model. The limit protects the workflow's
history and the operator's bill from a participant that writes thousands of messages.
"""


def answerable(
    messages: Iterable[OutgoingMessage], scenario: ScenarioConfig
) -> list[tuple[OutgoingMessage, list[str]]]:
    """Return the messages of a turn that characters read, each with the readers' ids, in order.

    A character reads the first ``ANSWERED_IN_A_TURN`` messages that reach it.
    """
    read: Counter[str] = Counter()
    messages_with_readers = []
    for message in messages:
        readers = [key for key in characters_addressed(message, scenario) if read[key] < ANSWERED_IN_A_TURN]
        read.update(readers)
        if readers:
            messages_with_readers.append((message, readers))
    return messages_with_readers


def characters_addressed(message: OutgoingMessage, scenario: ScenarioConfig) -> list[str]:
    """Return the ids of the characters whom a message reached and who might reply to it.

    To, CC and BCC count alike. Each id comes once, in the order of the addresses. Deletions and RSVPs reach no
    character. The user, for whom the participant works, is included only if the scenario's ``user_talks`` names the
    modality. Left out are:

    * the sender of an email or SMS, unless it is the user
    * addresses without an owner
    * people whose ``config`` says ``blocked: true``
    * people for whom other participants work
    """
    if message.operation in ("delete", "respond"):
        return []
    user, user_talks = scenario.user_character, message.modality in scenario.user_talks
    reached: dict[str, None] = {user: None} if message.modality == "chat" else {}
    for address in message.recipients:
        character_id = find_character(address, message.modality, scenario)
        is_senders = message.modality != "calendar" and address == message.bare_sender
        # A change to the calendar is the user's own action, whoever organizes the event.
        if character_id is not None and (not is_senders or character_id == user):
            reached.setdefault(character_id)
    return [
        key
        for key in reached
        if (key != user or user_talks)
        and scenario.characters[key].config.get("blocked") is not True
        and key not in scenario.colleagues.values()
    ]


def roles_reached(messages: Iterable[OutgoingMessage], scenario: ScenarioConfig) -> list[tuple[OutgoingMessage, str]]:
    """Return the messages of a turn that users of other roles read, in order. Each pair has a message and one role. A
    user reads the first ``ANSWERED_IN_A_TURN`` messages. Chat messages reach no other role.

    An RSVP goes to the organizer. Other changes of the calendar go to the invited people.
    """
    roles = {user: role for role, user in scenario.colleagues.items()}
    received: Counter[str] = Counter()
    reached = []
    for message in messages if roles else ():
        if message.modality == "chat":
            continue
        addresses = [message.bare_sender] if message.operation == "respond" else message.recipients
        characters = (find_character(address, message.modality, scenario) for address in addresses)
        for user in dict.fromkeys(character for character in characters if character in roles):
            received[user] += 1
            if received[user] <= ANSWERED_IN_A_TURN:
                reached.append((message, roles[user]))
    return reached


def find_character(address: str, modality: Written, scenario: ScenarioConfig) -> str | None:
    """Return the id of the character at a normalized address."""
    for key, person in scenario.characters.items():
        if address and address == (person.bare_phone if modality == "sms" else person.bare_email):
            return key
    return None
