"""What a message does, told by its words: agree, refuse, ask, speak of the panel.

Also the source of the characters' scripted replies, so that they and the evaluators hear the same.
"""

import re

FLAGS = re.IGNORECASE | re.DOTALL

AGREEMENT = (
    r"\b(?:works|work for|suits|fine|perfect|great|good for|confirm(?:ed|s|ing)?|agreed|lovely|ideal|settled|booked|"
    r"see you|moved (?:the|our|it)|updated)\b"
)
REFUSAL = (
    r"(?:n['’]t\b|\bcannot\b|\bunable\b|\bnot"
    r" (?:possible|free|available|able|work|suit)|\bunfortunately\b|\bafraid\b|"
    r"\bclash|\bconflict|\balready\b|\banother (?:appointment|commitment|engagement)|\bno longer\b|\bimpossible\b)"
)


def agrees(text: str) -> bool:
    """Whether a message takes up what was offered."""
    return bool(re.search(AGREEMENT, text, FLAGS)) and not refuses(text)


def refuses(text: str) -> bool:
    """Whether a message turns something down."""
    return bool(re.search(REFUSAL, text, FLAGS))


def asks(text: str) -> bool:
    """Whether a message wants an answer."""
    return "?" in text


def mentions_panel(text: str) -> bool:
    """Whether a message is about the vendor panel and the user's absence from it."""
    return bool(re.search(r"panel|LIMS|shortlist|15[:.]30|3[:.]30", text, FLAGS))
