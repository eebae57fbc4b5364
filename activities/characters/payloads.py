"""What the activity of the characters takes and returns."""

from pydantic import Field

from activities.characters.messages import CharacterReply, OutgoingMessage
from activities.plan import Model, OfSeveral, OfTurn
from proctor_protocol.provenance import Drafts, ModelUse
from proctor_storage.blobs import BlobRef


class RespondInput(OfTurn, OfSeveral):
    """Let a character decide on a reply to a message."""

    scenario: BlobRef
    seed: int
    offline: bool
    character_id: str
    message: OutgoingMessage

    @property
    def about(self) -> str:
        return self.character_id


class Responded(Model):
    """A character's reply to a message, None for silence, the model use that it cost, and its drafts."""

    reply: CharacterReply | None = None
    usage: list[ModelUse] = Field(default_factory=list)
    drafts: Drafts = Drafts()
