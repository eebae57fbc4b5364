"""Conversations with participants over A2A, and their turns.

* ``client``: sends a message, waits for the answer, finds a task again
* ``answer``: reads the participant's answer
* ``plain``: agents without A2A
* ``errors``: turns errors into failures that name whose fault they are
* ``addresses``: allowed destinations of connections
* ``bounded_http``: limits of responses
"""

from proctor.activities.participant.answer import Answer
from proctor.activities.participant.client import ParticipantClient, ParticipantClients, message_id
from proctor.activities.participant.errors import AnswerLostError
from proctor.activities.participant.plain import PlainParticipant

__all__ = ["Answer", "AnswerLostError", "ParticipantClient", "ParticipantClients", "PlainParticipant", "message_id"]
