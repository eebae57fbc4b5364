"""What the activity of the characters takes and returns."""

from typing import Any

from pydantic import Field, model_validator

from activities.characters.messages import CharacterReply, OutgoingMessage
from activities.plan import Model
from proctor_protocol.provenance import ModelUse
from proctor_storage.blobs import BlobRef


class RespondInput(Model):
    """Let a character decide on an answer to a message."""

    scenario: BlobRef
    seed: int
    turn: int
    offline: bool
    character_id: str
    message: OutgoingMessage


class Responded(Model):
    """What a character made of a message: its reply, None for silence, and what was asked of models for that."""

    reply: CharacterReply | None = None
    usage: list[ModelUse] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _read_those_of_proctor_0_1(cls, data: Any) -> Any:
        return {"reply": data} if isinstance(data, dict) and "character_id" in data else data
