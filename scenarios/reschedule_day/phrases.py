"""What a message does, told by its words: agree, refuse, ask, speak of the panel.

Also the source of the characters' scripted replies, so that they and the evaluators hear the same.
"""

from proctor_protocol.patterns import compiled, is_found

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
_SENTENCE = r"[^.!?;\n]*(?:[.!?;]+[^\s.!?;][^.!?;\n]*)*[.!?;]*"


def agrees(text: str) -> bool:
    """Whether a sentence of a message takes up what was offered."""
    sentences = (found.group() for found in compiled(_SENTENCE).finditer(text))
    return any(is_found(AGREEMENT, s) and not refuses(s) and not s.rstrip().endswith("?") for s in sentences)


def refuses(text: str) -> bool:
    """Whether a text turns something down."""
    return is_found(REFUSAL, text)


def asks(text: str) -> bool:
    """Whether a message wants an answer."""
    return "?" in text


def mentions_panel(text: str) -> bool:
    """Whether a message is about the vendor panel."""
    return is_found(r"panel|LIMS|shortlist|15[:.]30|3[:.]30", text)
