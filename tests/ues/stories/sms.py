"""A day on the phone."""

from tests.ues.helpers import Sim

ME, ANN, BEN = "+15550000000", "+15551110001", "+15551110002"


def event(sim: Sim, action: str, **parts: object) -> None:
    """Run an event that has no route of its own."""
    sim.event("sms", {"action": action, **parts})


def tell(sim: Sim) -> None:
    """Write to and fro, react, edit, delete, make a group and leave it, keep conversations tidy."""
    sim.do("/sms/receive", from_number=ANN, to_numbers=[ME], body="Lunch? 🥗")
    sim.do("/sms/send", from_number=ME, to_numbers=[ANN], body="Yes", message_type="rcs")
    photo = {"filename": "a.png", "size": 5, "mime_type": "image/png"}
    sim.do("/sms/receive", from_number=BEN, to_numbers=[ME, ANN], body="Photo", attachments=[photo])
    first, second, third = list(sim.state("sms")["messages"])[-3:]
    sim.do("/sms/read", message_ids=[first, third])
    sim.do("/sms/unread", message_ids=[third])
    sim.do("/sms/react", message_id=first, phone_number=ME, emoji="👍")
    sim.do("/sms/react", message_id=first, phone_number=ME, emoji="❤️")
    event(sim, "edit_message", edit_data={"message_id": second, "new_body": "Yes, at noon"})
    event(sim, "remove_reaction", reaction_data={"message_id": first, "phone_number": ME})
    event(sim, "create_group", group_data={"group_name": "Trip", "participant_numbers": [ANN]})
    group = list(sim.state("sms")["conversations"])[-1]
    event(sim, "add_participant", participant_data={"thread_id": group, "phone_number": BEN})
    event(sim, "update_group", group_data={"thread_id": group, "group_name": "The trip"})
    event(sim, "remove_participant", participant_data={"thread_id": group, "phone_number": ANN})
    event(sim, "leave_group", group_data={"thread_id": group})
    event(sim, "update_delivery_status", delivery_update_data={"message_id": second, "new_status": "failed"})
    thread = sim.state("sms")["messages"][first]["thread_id"]
    sim.do("/sms/conversation", thread_id=thread, is_pinned=True, is_muted=True, draft_message="and then")
    sim.do("/sms/delete", message_ids=[third])
