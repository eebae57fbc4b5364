"""A short talk."""

from tests.ues.helpers import Sim


def tell(sim: Sim) -> None:
    """Talk in two conversations, delete a message, clear one conversation."""
    sim.do("/chat/send", role="user", content="Any news? " * 30, metadata={"n": [1, {"deep": None}]})
    sim.do("/chat/send", role="assistant", content=[{"type": "text", "text": "None – yet 🙂"}])
    sim.do("/chat/send", role="user", content="aside", conversation_id="aside")
    sim.do("/chat/delete", message_id=sim.state("chat")["messages"][0]["message_id"])
    sim.do("/chat/clear", conversation_id="aside")
    sim.do("/chat/send", role="user", content="Fine")
