"""Answers of a real UES 0.1 server (``contract/examples_of_01``), told again here: ours have the same shape.

Every field of the example is there, of the same type, in objects all the way down; what ours have besides is listed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ues.helpers import Sim

FOLDER = Path(__file__).parent / "contract" / "examples_of_01"
EXAMPLES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}

STATES = [name for name in EXAMPLES if name.startswith("modality-")]
QUERIES = [name for name in EXAMPLES if name.startswith("query-")]

BY_ID = {"emails", "threads", "messages", "conversations", "events", "calendars", "locations", "labels", "drafts"}
"""Objects whose keys are ids; one entry of each is compared."""

ALSO_OURS = {
    "modality_type": "in the results of every query, as the modality's own route has it",
    "returned_count": "in the results of every query",
    "query": "in the results of every query",
    "query_params": "in the results of every query",
    "count": "in the results of every query",
    "contacts": "an eighth modality",
}
MAYBE_LEFT_OUT = "query-"
"""In the records that a query finds 0.1 leaves out what is null or empty; ours have every field."""


@pytest.fixture
def told(sim: Sim) -> Sim:
    """The little life that the examples show."""
    sim.do("/email/receive", from_address="alice@example.com", to_addresses=["user@example.com"], subject="Hi",
           body_text="Hello there")  # fmt: skip
    sim.do("/sms/receive", from_number="+1-555-0199", to_numbers=["+15550000000"], body="yo")
    sim.do("/chat/send", role="user", content="hi")
    event = {"title": "T", "start": "2030-01-01T10:00:00Z", "end": "2030-01-01T11:00:00Z"}
    sim.do("/calendar/create", calendar_id="work", **event)
    sim.do("/location/update", latitude=1.0, longitude=2.0, named_location="Home")
    return sim


def differences(theirs: Any, ours: Any, where: str) -> Iterator[str]:
    """What of an example an answer of ours lacks or has in another type, and what it has that nobody accounts for."""
    if type(theirs) is not type(ours):
        yield f"{where}: {theirs!r} there, {ours!r} here"
    elif isinstance(theirs, list) and theirs:
        if not ours:
            yield f"{where}: empty here"
        else:
            yield from differences(theirs[0], ours[0], f"{where}[0]")
    elif isinstance(theirs, dict):
        name = where.rsplit(".", 1)[-1]
        if name in BY_ID and set(theirs) != set(ours):
            if len(theirs) != len(ours):
                yield f"{where}: {len(theirs)} there, {len(ours)} here"
            theirs, ours = ({"ID": next(iter(answer.values()))} for answer in (theirs, ours))
        for field in theirs.keys() - ours.keys():
            yield f"{where}.{field} is missing"
        in_record = where.startswith(MAYBE_LEFT_OUT) and where.endswith("[0]")
        for field in ours.keys() - theirs.keys():
            if field not in ALSO_OURS and not in_record:
                yield f"{where}.{field} is only here"
        for field in theirs.keys() & ours.keys():
            yield from differences(theirs[field], ours[field], f"{where}.{field}")


@pytest.mark.parametrize("name", STATES)
def test_a_modality_is_shown_as_the_example_shows_it(told: Sim, name: str) -> None:
    ours = told.ok("GET", f"/environment/modalities/{name.removeprefix('modality-')}")
    assert list(differences(EXAMPLES[name], ours, name)) == []


def test_the_environment_is_shown_as_the_example_shows_it(told: Sim) -> None:
    ours = told.ok("GET", "/environment/state")
    assert list(differences(EXAMPLES["environment-state"], ours, "environment")) == []
    assert {item["modality_type"] for item in ours["summary"]} == set(ours["modalities"])


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "query-weather"])
def test_a_query_is_answered_as_the_example_answers_it(told: Sim, name: str) -> None:
    modality = name.removeprefix("query-")
    ours = told.ok("POST", f"/environment/modalities/{modality}/query", {})
    assert list(differences(EXAMPLES[name], ours, name)) == []
    filtered = told.ok("POST", f"/environment/modalities/{modality}/query", {"limit": 1})
    assert filtered["query"] == {"limit": 1}
    assert filtered["results"]["count"] == 1


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "query-weather"])
def test_a_query_ignores_parameters_that_the_modality_does_not_know(told: Sim, name: str) -> None:
    path = f"/environment/modalities/{name.removeprefix('query-')}/query"
    known, unknown = told.ok("POST", path, {}), told.ok("POST", path, {"colour": "red"})
    assert unknown["query"] == {"colour": "red"}
    assert unknown["results"]["total_count"] == known["results"]["total_count"]


def test_queries_take_the_parameters_that_only_the_page_names(told: Sim) -> None:
    def query(modality: str, **parameters: Any) -> Any:
        return told.ok("POST", f"/environment/modalities/{modality}/query", parameters)["results"]

    everything = query("sms")["messages"]
    word = everything[0]["body"].split()[0]
    assert 0 < query("sms", search_text=word.upper())["total_count"] <= len(everything)
    assert query("sms", search_text="no message says this")["total_count"] == 0
    assert query("time", format_preference="12h", sort_by="timezone")["total_count"] >= 0
    assert {one["format_preference"] for one in query("time", format_preference="24h")["settings"]} <= {"24h"}


@pytest.mark.parametrize(
    ("modality", "parameters"),
    [
        ("weather", {}),
        ("weather", {"lat": 1}),
        ("email", {"is_read": "perhaps"}),
        ("chat", {"role": "system"}),
        ("sms", {"limit": 0}),
    ],
)
def test_parameters_that_a_modality_cannot_use(sim: Sim, modality: str, parameters: dict[str, Any]) -> None:
    answer = sim.post(f"/environment/modalities/{modality}/query", json=parameters)
    assert answer.status_code == 400
    # As in the example: the sentence begins with what failed.
    assert answer.json()["detail"].startswith(EXAMPLES["query-weather"]["detail"].split(":")[0].split(" for ")[0])
    assert f"for {modality}:" in answer.json()["detail"]


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", "/query")])
def test_a_modality_that_there_is_not(sim: Sim, method: str, path: str) -> None:
    answer = sim.request(method, f"/environment/modalities/telex{path}", json={})
    assert answer.status_code == 404
    told = answer.json()
    assert set(told) == {"error", "detail", "requested_modality", "available_modalities"}
    assert told["requested_modality"] == "telex"
    assert told["available_modalities"] == sim.ok("GET", "/environment/modalities")["modalities"]


def test_an_environment_is_checked_at_the_simulators_time(sim: Sim) -> None:
    sim.advance(5)
    assert sim.ok("POST", "/environment/validate")["checked_at"] == sim.ok("GET", "/simulator/time")["current_time"]


def test_an_email_can_be_moved_to_the_drafts(told: Sim) -> None:
    (message_id,) = told.state("email")["emails"]
    told.do("/email/move", message_ids=[message_id], folder="drafts")
    assert told.state("email")["folders"]["drafts"] == [message_id]
    assert [email["message_id"] for email in told.query("email", folder="drafts")["emails"]] == [message_id]
    told.ok("POST", "/scenario/import/full", {"scenario": told.export()})
    assert told.state("email")["folders"]["drafts"] == [message_id]
    told.event("email", {"operation": "send_draft", "message_id": message_id})
    assert told.state("email")["emails"][message_id]["folder"] == "sent"
    assert told.ok("POST", "/environment/validate")["errors"] == []
