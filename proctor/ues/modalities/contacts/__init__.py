"""Contacts: the user's address book."""

from proctor.ues.modalities.contacts import models, operations, views
from proctor.ues.modality import Action, Modality, State, operations_in, paged_query, read_by_id
from proctor.ues.schema import JsonObject


def _merge(request: models.MergeContactsRequest, _state: State) -> JsonObject:
    return {"contact_id": request.primary_contact_id, "secondary_contact_id": request.secondary_contact_id}


_ONE = models.ContactRequest
_GROUP = models.ContactGroupRequest

MODALITY = Modality(
    name="contacts",
    summary="The user's address book.",
    state=models.ContactsState,
    input=models.ContactsInput,
    operations=operations_in(models.ContactsInput, "operation", operations),
    state_response=(models.ContactsStateResponse,),
    show=views.show,
    digest=views.digest,
    describe=views.describe,
    complete=operations.complete,
    query=paged_query("contacts", models.ContactsQueryRequest, views.query, "contacts", models.Contact),
    reads=(read_by_id("contacts", "contacts", "contact", "contact_id", models.Contact, "ContactIdParams"),),
    actions=(
        Action("create", "create", models.CreateContactRequest, "Make a contact.", participant=True),
        Action("update", "update", models.UpdateContactRequest, "Change a contact.", participant=True),
        Action("delete", "delete", _ONE, "Delete a contact."),
        Action("block", "block", _ONE, "Block a contact: its messages are spam."),
        Action("unblock", "unblock", _ONE, "Unblock a contact."),
        Action("favorite", "favorite", _ONE, "Make a contact a favourite."),
        Action("unfavorite", "unfavorite", _ONE, "Make a contact no favourite."),
        Action("group/add", "add_to_group", _GROUP, "Put a contact into a group.", permission="contacts:group"),
        Action(
            "group/remove", "remove_from_group", _GROUP, "Take a contact out of a group.", permission="contacts:group"
        ),
        Action(
            "merge",
            "merge",
            models.MergeContactsRequest,
            "Merge two contacts: the primary one takes over what it lacks.",
            build=_merge,
        ),
    ),
)
