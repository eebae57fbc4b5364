"""What A2A itself asks of a message, checked before any assessment starts."""

from a2a.types import Message, Role
from a2a.utils.errors import InvalidParamsError


def check_message(message: Message) -> None:
    """Refuse a message without what the protocol requires.

    Raises:
        InvalidParamsError: no message id, no known role, no parts, or a part without content.
    """
    if not message.message_id:
        raise InvalidParamsError("message.messageId is missing: give every message an id of its own, such as a UUID.")
    check_role(message.role)
    if not message.parts:
        raise InvalidParamsError("message.parts is missing or empty: send the request as a data part or as JSON text.")
    for number, part in enumerate(message.parts):
        if part.WhichOneof("content") is None:
            raise InvalidParamsError(f"message.parts[{number}] has no content: give it text, data, raw or url.")


def check_role(role: int) -> None:
    """Refuse a role that the protocol doesn't know.

    Raises:
        InvalidParamsError: it is missing, or neither of the two roles.
    """
    if role not in (Role.ROLE_USER, Role.ROLE_AGENT):
        raise InvalidParamsError(
            "message.role is missing or unknown: it is ROLE_USER (in protocol 0.3: user) for a caller's message."
        )
