"""What a message does, told by its words: agree, refuse, ask, speak of the panel.

Also the source of the characters' scripted replies, so that they and the evaluators hear the same.
"""

import re

FLAGS = re.IGNORECASE | re.DOTALL

AGREEMENT = (
    r"\b(?:works|work for|suits|fine|perfect|great|good for|confirm(?:ed|s|ing)?|agreed|lovely|ideal|settled|booked"
    r"|see you|moved (?:the|our|it)|updated)\b"
)
REFUSAL = (
    r"(?:n['’]t\b|\bcannot\b|\b(?:cant|wont|doesnt|isnt)\b|\bunable\b"
    r"|\bnot (?:possible|free|available|able|work|suit|an option)"
    r"|\bunfortunately\b|\bafraid\b|\bclash|\bconflict|\balready (?:booked|taken|busy|has|committed)"
    r"|\b(?:appointment|engagement|commitment|dentist)\b|\bno longer\b|\bimpossible\b|\bis out\b|\brule[sd]? out\b"
    r"|\bno good\b|\btoo late\b|\b(?:has|have|needs?) to leave\b|\bleaves\b)"
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")


def agrees(text: str) -> bool:
    """Whether a sentence of a message takes up what was offered."""
    sentences = _SENTENCE_END.split(text)
    return any(re.search(AGREEMENT, s, FLAGS) and not refuses(s) and not s.rstrip().endswith("?") for s in sentences)


def refuses(text: str) -> bool:
    """Whether a text turns something down."""
    return bool(re.search(REFUSAL, text, FLAGS))


def asks(text: str) -> bool:
    """Whether a message wants an answer."""
    return "?" in text


def mentions_panel(text: str) -> bool:
    """Whether a message is about the vendor panel."""
    return bool(re.search(r"panel|LIMS|shortlist|15[:.]30|3[:.]30", text, FLAGS))
