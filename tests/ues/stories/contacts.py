"""An address book in use."""

from tests.ues.helpers import Sim


def tell(sim: Sim) -> None:
    """Make, change, group, block, favour and merge contacts, and delete one."""
    phone = {"identifier_type": "phone", "value": "+1 (555) 222-0001", "label": "mobile"}
    mail = {"identifier_type": "email", "value": "Ann@Example.com"}
    sim.do("/contacts/create", first_name="Ann", last_name="Ash", identifiers=[phone], groups=["team"])
    sim.do("/contacts/create", nickname="Annie", identifiers=[mail], company="Ash & Co", birthday="1990-02-03")
    sim.do("/contacts/create", display_name="Spammer", identifiers=[{"identifier_type": "email", "value": "s@p.am"}])
    ann, annie, spammer = list(sim.state("contacts")["contacts"])[-3:]
    sim.do("/contacts/update", contact_id=ann, job_title="Judge", add_addresses=[{"city": "Oslo"}], add_groups=["law"])
    sim.do("/contacts/favorite", contact_id=ann)
    sim.do("/contacts/group/add", contact_id=annie, group="friends 🙂")
    sim.do("/contacts/group/remove", contact_id=ann, group="law")
    sim.do("/contacts/block", contact_id=spammer)
    sim.do("/contacts/merge", primary_contact_id=ann, secondary_contact_id=annie)
    sim.do("/contacts/unblock", contact_id=spammer)
    sim.do("/contacts/unfavorite", contact_id=ann)
    sim.do("/contacts/delete", contact_id=spammer)
