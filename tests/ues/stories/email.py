"""A morning's mail."""

from tests.ues.helpers import Sim, receive


def tell(sim: Sim) -> None:
    """Receive, answer, file, draft and delete."""
    first = receive(sim, "Offer", labels=["x"], attachments=[{"filename": "a", "size": 1, "mime_type": "x"}])
    second = receive(sim, "Re: Offer", in_reply_to=first, body_text="long " * 300)
    sim.do("/email/label", message_ids=[first, second], labels=["work", "später"])
    sim.event("email", {"operation": "reply_all", "message_id": second, "body_text": "Thanks"})
    sim.event("email", {"operation": "save_draft", "message_id": f"draft of {first}", "subject": "Later"})
    sim.do("/email/star", message_ids=[second])
    sim.do("/email/read", message_ids=[first, second])
    sim.do("/email/move", message_ids=[first], folder="clients")
    sim.do("/email/delete", message_ids=[second])
    sim.do("/email/delete", message_ids=[second])
    sim.do("/email/unlabel", message_ids=[first], labels=["work"])
