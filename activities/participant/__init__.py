"""Conversations with participants over A2A, and their turns.

* ``client``: sends a message, waits for the answer, finds a task again
* ``answer``: what came back, and what it means
* ``plain``: agents that have no A2A
* ``errors``: what went wrong, and whose fault it is
* ``addresses``: where connections may go
* ``bounded_http``: how much is read
"""

from proctor.activities.participant.answer import Answer
from proctor.activities.participant.client import ParticipantClient, ParticipantClients, message_id
from proctor.activities.participant.errors import AnswerLostError
from proctor.activities.participant.plain import PlainParticipant

__all__ = ["Answer", "AnswerLostError", "ParticipantClient", "ParticipantClients", "PlainParticipant", "message_id"]
