"""Clarifications: a participant gets one more chance if it asks a question, or if its answer can't be read."""

from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures, notes
from proctor.activities.participant.answer import Answer, UnreadableTurnError
from purple_sdk.protocol.json_safe import json_safe_text
from purple_sdk.protocol.problems import show_value
from purple_sdk.protocol.results import Clarification

_LONGEST_PROBLEM = 500

_NO_ANSWER = (
    "No one can answer questions during this assessment. Decide with the information that you have, continue the "
    "turn, and end it with a turn_complete message."
)
_ASKED_AGAIN = (
    "Your answer could not be read. {problem} What you did in this turn counts: don't do it again. Send the turn's "
    'answer once more, as one JSON object and nothing else, such as {{"message_type": "turn_complete", "actions": []}}.'
)


def find_clarification(turn: int, answer: Answer) -> Clarification | None:
    """Return the clarification that an answer to a turn needs; None if it needs none."""
    if answer.has_failed:
        return None
    try:
        answer.read_turn()
    except UnreadableTurnError as error:
        if answer.asks:
            return Clarification(turn=turn, kind="question", problem=json_safe_text(show_value(answer.find_text())))
        return Clarification(turn=turn, kind="unreadable", problem=json_safe_text(str(error)[:_LONGEST_PROBLEM]))
    except ApplicationError:
        return None  # too large: ``read_turn`` will say so
    return None


def noted_clarifications() -> list[Clarification]:
    """Return the clarifications that attempts of this step have sent, or were about to send."""
    return [note.clarification for note in notes.noted(notes.ClarificationNote)]


def word_clarification(clarification: Clarification) -> str:
    """Return the sentence to send to the participant."""
    return _NO_ANSWER if clarification.kind == "question" else _ASKED_AGAIN.format(problem=clarification.problem)


def with_clarifications(error: ApplicationError) -> ApplicationError:
    """Return the same failure, with the clarifications that the participant got before it."""
    words = [error.message]
    for clarification in noted_clarifications():
        if clarification.kind == "question":
            words.insert(0, clarification.sentence())
        elif error.type == failures.PARTICIPANT_MISBEHAVED:
            words.append("It was asked once more.")
    return failures.altered(error, message=" ".join(words))
