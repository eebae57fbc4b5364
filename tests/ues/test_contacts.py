"""The address book, and what other modalities ask of it."""

from typing import Any

import pytest

from tests.ues.helpers import START, Sim

PHONE = {"identifier_type": "phone", "value": "+1 (555) 222-0001", "label": "mobile"}
MAIL = {"identifier_type": "email", "value": "Ann@Example.com", "label": None}


def contacts(sim: Sim) -> list[dict[str, Any]]:
    return list(sim.state("contacts")["contacts"].values())


def make(sim: Sim, **fields: Any) -> str:
    sim.do("/contacts/create", **fields)
    return str(contacts(sim)[-1]["contact_id"])


def test_a_contact_is_kept_as_given_but_for_the_form_of_its_number(sim: Sim) -> None:
    key = make(sim, first_name="Ann", last_name="Ash", identifiers=[PHONE, MAIL, PHONE], groups=["team", "team"])
    assert contacts(sim) == [
        {
            "contact_id": key,
            "first_name": "Ann",
            "last_name": "Ash",
            "display_name": "Ann Ash",
            "nickname": None,
            "identifiers": [{**PHONE, "value": "+15552220001"}, MAIL],
            "company": None,
            "job_title": None,
            "addresses": [],
            "birthday": None,
            "notes": None,
            "photo_url": None,
            "is_favorite": False,
            "is_blocked": False,
            "groups": ["team"],
            "created_at": START,
            "updated_at": START,
        }
    ]


def test_update_replaces_a_list_or_changes_it(sim: Sim) -> None:
    key = make(sim, first_name="Ann", identifiers=[PHONE], groups=["a", "b"])
    sim.advance(5)
    sim.do("/contacts/update", contact_id=key, last_name="Ash", add_identifiers=[MAIL], remove_groups=["a"])
    (ann,) = contacts(sim)
    assert (ann["display_name"], ann["groups"], len(ann["identifiers"])) == ("Ann Ash", ["b"], 2)
    assert ann["updated_at"] > ann["created_at"]
    written_otherwise = {"identifier_type": "phone", "value": "+1 555 222 0001"}
    sim.do("/contacts/update", contact_id=key, remove_identifiers=[written_otherwise], groups=["c"], display_name="A.")
    (ann,) = contacts(sim)
    assert (ann["display_name"], ann["groups"], [i["value"] for i in ann["identifiers"]]) == (
        "A.",
        ["c"],
        ["Ann@Example.com"],
    )
    sim.do("/contacts/update", contact_id=key, last_name="Oak")
    assert contacts(sim)[0]["display_name"] == "A."


def test_merging_moves_over_what_the_primary_lacks(sim: Sim) -> None:
    first = make(sim, first_name="Ann", identifiers=[PHONE], notes="mine", groups=["a"])
    second = make(sim, first_name="Anna", last_name="Ash", identifiers=[MAIL, PHONE], notes="theirs", groups=["b"])
    sim.do("/contacts/favorite", contact_id=second)
    sim.do("/contacts/merge", primary_contact_id=first, secondary_contact_id=second)
    (ann,) = contacts(sim)
    assert (ann["contact_id"], ann["display_name"], ann["notes"], ann["is_favorite"]) == (
        first,
        "Ann Ash",
        "mine",
        True,
    )
    assert [i["value"] for i in ann["identifiers"]] == ["+15552220001", "Ann@Example.com"]
    assert ann["groups"] == ["a", "b"]


def test_flags_and_groups(sim: Sim) -> None:
    key = make(sim, nickname="Bo")
    sim.do("/contacts/favorite", contact_id=key)
    sim.do("/contacts/block", contact_id=key)
    sim.do("/contacts/group/add", contact_id=key, group="g")
    state = sim.state("contacts")
    assert (state["favorite_count"], state["blocked_count"], state["groups"]) == (1, 1, ["g"])
    sim.do("/contacts/unfavorite", contact_id=key)
    sim.do("/contacts/unblock", contact_id=key)
    sim.do("/contacts/group/remove", contact_id=key, group="g")
    state = sim.state("contacts")
    assert (state["favorite_count"], state["blocked_count"], state["groups"]) == (0, 0, [])
    sim.do("/contacts/delete", contact_id=key)
    assert contacts(sim) == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("update", {"contact_id": "nobody"}),
        ("delete", {"contact_id": "nobody"}),
        ("block", {"contact_id": "nobody"}),
        ("group/add", {"contact_id": "nobody", "group": "g"}),
        ("merge", {"primary_contact_id": "nobody", "secondary_contact_id": "nobody"}),
    ],
)
def test_an_unknown_contact_fails_the_event(sim: Sim, path: str, body: dict[str, Any]) -> None:
    answer = sim.ok("POST", f"/contacts/{path}", body)
    assert (answer["status"], "nobody" in answer["message"]) == ("failed", True)


def test_a_contact_is_not_merged_with_itself(sim: Sim) -> None:
    key = make(sim, nickname="Bo")
    answer = sim.ok("POST", "/contacts/merge", {"primary_contact_id": key, "secondary_contact_id": key})
    assert (answer["status"], len(contacts(sim))) == ("failed", 1)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("create", {}),
        ("create", {"first_name": "A", "identifiers": [{"identifier_type": "phone"}]}),
        ("create", {"first_name": 5}),
        ("update", {"first_name": "A"}),
        ("group/add", {"contact_id": "x", "group": ""}),
        ("merge", {"primary_contact_id": "x"}),
    ],
)
def test_bad_input_is_refused(sim: Sim, path: str, body: dict[str, Any]) -> None:
    assert sim.post(f"/contacts/{path}", json=body).status_code == 422


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({}, ["Ann", "Bo", "Cy"]),
        ({"limit": 1, "offset": 1}, ["Bo"]),
        ({"sort_order": "desc"}, ["Cy", "Bo", "Ann"]),
        ({"search_text": "EXAMPLE"}, ["Ann"]),
        ({"search_text": "acme"}, ["Bo"]),
        ({"group": "g"}, ["Cy"]),
        ({"is_favorite": True}, ["Bo"]),
        ({"is_blocked": True}, ["Cy"]),
        ({"has_phone": True}, ["Bo"]),
        ({"has_email": False}, ["Bo", "Cy"]),
        ({"identifier_type": "phone"}, ["Bo"]),
        ({"identifier_value": "+1-555-222-0001"}, ["Bo"]),
        ({"identifier_type": "email", "identifier_value": "ANN@example.com"}, ["Ann"]),
    ],
)
def test_queries(sim: Sim, filters: dict[str, Any], names: list[str]) -> None:
    make(sim, display_name="Cy", groups=["g"], is_blocked=True)
    make(sim, display_name="Ann", identifiers=[MAIL])
    make(sim, display_name="Bo", identifiers=[PHONE], company="Acme", is_favorite=True)
    answer = sim.ok("POST", "/contacts/query", filters)
    assert [contact["display_name"] for contact in answer["contacts"]] == names
    assert (answer["returned_count"], answer["query"]["offset"]) == (len(names), filters.get("offset", 0))


def test_what_a_blocked_sender_sends_is_spam(sim: Sim) -> None:
    key = make(sim, nickname="Bo", identifiers=[PHONE, MAIL])
    sim.do("/contacts/block", contact_id=key)
    mail = {"to_addresses": ["user@example.com"], "subject": "s", "body_text": "b"}
    sim.do("/email/receive", from_address="ann@EXAMPLE.com", **mail)
    sim.do("/sms/receive", from_number="+1 555 222 0001", to_numbers=["+15550000000"], body="x")
    sim.do("/contacts/unblock", contact_id=key)
    sim.do("/email/receive", from_address="ann@example.com", **mail)
    sim.do("/sms/receive", from_number="+15552220001", to_numbers=["+15550000000"], body="y")
    assert [mail["folder"] for mail in sim.state("email")["emails"].values()] == ["spam", "inbox"]
    assert [text["is_spam"] for text in sim.state("sms")["messages"].values()] == [True, False]


def test_a_page_about_the_environment_calls_people_by_their_names(sim: Sim) -> None:
    make(sim, first_name="Ann", last_name="Ash", identifiers=[PHONE, MAIL])
    sim.do("/sms/receive", from_number="+15552220001", to_numbers=["+15550000000"], body="Hello")
    page = sim.get("/environment/state", params={"compact": "true", "format": "text"}).text
    assert "Ann Ash: Hello" in page


@pytest.mark.parametrize("written", ["(555) 222-0001", "1-555-222-0001", "001 555 222 0001", "+1.555.222.0001"])
def test_a_number_is_the_same_however_it_is_written(sim: Sim, written: str) -> None:
    key = make(sim, nickname="Bo", identifiers=[{**PHONE, "value": written}], is_blocked=True)
    for other in ("+15552220001", "555 222 0001"):
        assert sim.query("contacts", identifier_type="phone", identifier_value=other)["total_count"] == 1
    assert sim.query("contacts", search_text="222-0001")["total_count"] == 1
    assert sim.query("contacts", search_text="333-0001")["total_count"] == 0
    assert sim.query("contacts", identifier_value="+445552220001")["total_count"] == 0
    sim.do("/sms/receive", from_number="+1 555 222 0001", to_numbers=["+15550000000"], body="x")
    assert [text["is_spam"] for text in sim.state("sms")["messages"].values()] == [True]
    sim.do("/contacts/update", contact_id=key, add_identifiers=[{**PHONE, "value": "+15552220001", "label": None}])
    assert len(contacts(sim)[0]["identifiers"]) == 1
    sim.do("/contacts/update", contact_id=key, remove_identifiers=[{**PHONE, "value": "+15552220001"}])
    assert contacts(sim)[0]["identifiers"] == []


def test_a_sender_with_a_name_before_the_address_is_known(sim: Sim) -> None:
    make(sim, nickname="Bo", identifiers=[MAIL], is_blocked=True)
    mail = {"to_addresses": ["user@example.com"], "subject": "s", "body_text": "b"}
    sim.do("/email/receive", from_address="Ann Ash <ann@example.com>", **mail)
    assert [mail["folder"] for mail in sim.state("email")["emails"].values()] == ["spam"]


def test_what_is_to_be_removed(sim: Sim) -> None:
    key = make(sim, nickname="Bo", identifiers=[PHONE, MAIL], addresses=[{"city": "Bonn"}, {"city": "Bern"}])
    sim.do("/contacts/update", contact_id=key, remove_identifiers=["+1 555 222 0001"], remove_addresses=[{}])
    assert [i["value"] for i in contacts(sim)[0]["identifiers"]] == ["Ann@Example.com"]
    assert [a["city"] for a in contacts(sim)[0]["addresses"]] == ["Bonn", "Bern"]
    sim.do("/contacts/update", contact_id=key, remove_addresses=[{"city": "Bonn"}])
    assert [a["city"] for a in contacts(sim)[0]["addresses"]] == ["Bern"]


def test_a_contact_may_be_given_its_id(sim: Sim) -> None:
    assert make(sim, nickname="Bo", contact_id="bo") == "bo"
    again = sim.ok("POST", "/contacts/create", {"nickname": "Bob", "contact_id": "bo"})
    assert (again["status"], "is taken" in again["message"]) == ("failed", True)
    assert sim.post("/contacts/create", json={"nickname": "Bob", "contact_id": ""}).status_code == 422


def test_an_event_names_contacts_to_merge_as_the_route_does(sim: Sim) -> None:
    for key in ("a", "b"):
        make(sim, nickname=key, contact_id=key)
    merge = {"operation": "merge", "primary_contact_id": "a", "secondary_contact_id": "b"}
    assert sim.event("contacts", merge)["status"] == "executed"
    assert [contact["contact_id"] for contact in contacts(sim)] == ["a"]


def test_a_blank_identifier_survives_export_and_import(sim: Sim) -> None:
    make(sim, nickname="Bo", identifiers=[{**PHONE, "value": " "}, {**MAIL, "value": " "}])
    exported = sim.export()
    sim.ok("POST", "/scenario/import/full", {"scenario": exported})
    assert sim.export()["environment"]["modality_states"] == exported["environment"]["modality_states"]


def test_an_empty_display_name_is_made_up_again(sim: Sim) -> None:
    """As it is in a file that has none."""
    key = make(sim, first_name="Ann", last_name="Ash", display_name="A.")
    sim.do("/contacts/update", contact_id=key, display_name="")
    assert contacts(sim)[0]["display_name"] == "Ann Ash"


def test_two_people_may_share_a_number(sim: Sim) -> None:
    for name in ("Ann", "Bo"):
        make(sim, nickname=name, identifiers=[PHONE])
    assert sim.ok("POST", "/environment/validate")["errors"] == []
