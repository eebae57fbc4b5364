"""What the agent writes: short, kind, and without a reason."""

from datetime import datetime

from purple_sdk.examples.reschedule_agent.times import in_words

_REASON = "something unavoidable has come up"


def request(name: str, user: str, title: str, proposal: datetime, city: str, *, is_text: bool) -> str:
    """Ask to move a meeting."""
    if is_text:
        return (
            f"Hi {name}, sorry, {_REASON} and {user} can't do tomorrow ({title}). "
            f"Would {in_words(proposal)} work for you? Thank you!"
        )
    return (
        f"Dear {name},\n\nI'm sorry for the short notice: {_REASON}, and {user} can't make it tomorrow ({title}). "
        f"Would {in_words(proposal)} ({city} time) suit you instead?\n\nMany thanks and kind regards\nfor {user}"
    )


def other_time(name: str, user: str, proposal: datetime, city: str, *, is_text: bool, was_settled: bool) -> str:
    """Turn an offer down, or undo what was agreed, and offer another time."""
    why = "another meeting has been moved onto our slot" if was_settled else "that time doesn't work here"
    if is_text:
        return f"Hi {name}, sorry, {why}. Would {in_words(proposal)} work for you instead? Thank you!"
    return (
        f"Dear {name},\n\nthank you for your answer. I'm afraid {why}. Would {in_words(proposal)} ({city} time) suit "
        f"you? As to the reason, I can only say that {_REASON}.\n\nMany thanks and kind regards\nfor {user}"
    )


def confirmation(name: str, user: str, agreed: datetime, city: str, *, is_text: bool) -> str:
    """Confirm a time."""
    if is_text:
        return f"Great, {in_words(agreed)} it is. Thanks, {name}!"
    return (
        f"Dear {name},\n\n{in_words(agreed)} ({city} time) suits {user} well, and I have moved the invitation. Thank "
        f"you very much for making room.\n\nKind regards\nfor {user}"
    )


def absence(name: str, user: str, title: str) -> str:
    """Say that the user won't be there."""
    return (
        f"Dear {name},\n\n{_REASON}, and {user} can't attend the {title} tomorrow. Please go ahead without her; I have "
        f"declined the invitation. I'm sorry to let you know so late, and thank you for your understanding.\n\n"
        f"Kind regards\nfor {user}"
    )
