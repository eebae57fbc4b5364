"""schemathesis against ``/openapi.json``: whatever is sent, no 500, no undeclared status, every answer as declared,
and nothing unexpected within an event.

Only ``make nightly`` plays it: at least 20,000 requests, to the host, too, and with events and files. One for each of
the schema's boundaries is among them, and they are other ones every night (the seed is in the failure's text).
By default test_contract.py sends requests at the schema's bounds, and test_permissions.py asks for every endpoint with
every kind of key.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from proctor.ues.modalities import MODALITIES
from proctor.ues.modality import Modality
from tests.ues.helpers import HOST_KEY, Server, Sim, at
from tests.ues.test_every_modality import tell
from tests.work import only_nightly

ADMIN_KEY = "admin-key-of-the-fuzz-0123456789"
ROOT = Path(__file__).parents[2]

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
)
"""Not among them: whether all that the schema refuses is refused. Requests are read as pydantic reads them, so that
``0`` will do for ``false``, and a validator may ask for more than a schema can say."""


def fuzz(document: str, key: str, folder: Path, *options: str, **environment: str) -> dict[str, Any]:
    """Send what schemathesis thinks of, and return its report. Fails with all that it found."""
    report = folder / "report.json"
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", document, "--no-color"),
            *("--header", f"X-API-Key: {key}", "--checks", ",".join(CHECKS), "--continue-on-failure"),
            *("--report", "json", "--report-json-path", str(report)),
            *options,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    content: dict[str, Any] = json.loads(report.read_text())
    assert content["complete"], content
    assert content["operations"]["tested"] == content["operations"]["selected"], content
    return content


def amount(examples: int) -> tuple[str, ...]:
    """So many requests at random for each operation, and before them one for each of the schema's bounds."""
    return "--phases", "coverage,fuzzing", "--max-examples", str(examples)


class Populated:
    """A single simulation in which something has happened in every modality, and where to find it."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.url = server.url
        made = {"simulation_id": "default", "base_url": server.url, "admin_key": ADMIN_KEY}
        with Sim(server, made) as sim:
            sim.ok("POST", "/simulation/clear", {"reset_time_to": at(0)})
            for name in MODALITIES:
                tell(sim, name)
            for minute in range(5):
                sim.event("chat", {"operation": "delete_message", "message_id": "x"}, seconds=60 * minute + 60)
            self.known = self._known(sim)
            self.document: dict[str, Any] = sim.ok("GET", "/openapi.json")
            (folder / "checkpoint").write_bytes(sim.get("/simulation/checkpoint").content)
        self.environment = {
            "SCHEMATHESIS_HOOKS": "tests.ues.fuzz_hooks",
            "FUZZ_URL": server.url,
            "FUZZ_KEY": ADMIN_KEY,
            "FUZZ_CHECKPOINT": str(folder / "checkpoint"),
        }
        (folder / "schemathesis.toml").write_text("".join(self._settings()))

    def _known(self, sim: Sim) -> dict[str, list[str]]:
        """Values that mean something in this simulation, by the parameter or the field of a body that may hold them."""
        states = sim.export()["environment"]["modality_states"]
        messages = [*states["email"]["emails"], *states["sms"]["messages"]]
        pending = [event["event_id"] for event in sim.ok("GET", "/events", status="pending")["events"]]
        contacts, numbers = list(states["contacts"]["contacts"]), ["+15550000000", "+15551110001"]
        return {
            "path.modality_name": list(MODALITIES),
            "path.event_id": pending,
            "body.modality": list(MODALITIES),
            "body.message_ids[*]": messages,
            "body.message_id": [*messages, *(message["message_id"] for message in states["chat"]["messages"])],
            "body.thread_id": [*states["email"]["threads"], *states["sms"]["conversations"]],
            "body.conversation_id": list(states["chat"]["conversations"]),
            "body.event_id": list(states["calendar"]["events"]),
            "body.calendar_id": list(states["calendar"]["calendars"]),
            "body.contact_id": contacts,
            "body.primary_contact_id": contacts,
            "body.secondary_contact_id": contacts,
            "body.phone_number": numbers,
            "body.from_number": numbers,
            "body.to_numbers[*]": numbers,
            "body.sort_by": ["timestamp", "subject", "start", "display_name"],
            "body.start": [at(0), at(86400 * 30)],
            "body.end": [at(3600), at(86400 * 60)],
        }

    def _settings(self) -> Iterator[str]:
        for number, (field, values) in enumerate(self.known.items()):
            yield f"[dictionaries.known{number}]\nvalues = {json.dumps(values)}\n"
            for where in dict.fromkeys((field, field.replace("body.", "body.data."))):
                yield f'[parameters."{where}"]\ndictionary = "known{number}"\nprobability = 0.6\n'


def sharpened(document: dict[str, Any]) -> dict[str, Any]:
    """The document, in which the events' data and the scenario files' states, any object as served, are described.

    Only the requests that take them are left.
    """
    schemas = document["components"]["schemas"]

    def described(model: type[BaseModel], modality: str, part: str) -> dict[str, Any]:
        prefix = f"{modality}.{part}"
        schema = model.model_json_schema(ref_template=f"#/components/schemas/{prefix}.{{model}}")
        for name, part in schema.pop("$defs", {}).items():
            schemas[f"{prefix}.{name}"] = part
        # The engine knows the time of what happens, and that an event's data are its modality's.
        schema["required"] = [name for name in schema.get("required", ()) if name != "timestamp"]
        schema["properties"]["modality_type"] = {"const": modality}
        return schema

    def event(name: str, modality: Modality, *required: str) -> dict[str, Any]:
        fields = {
            "modality": {"const": name},
            "data": described(modality.input, name, "input"),
            "scheduled_time": {"enum": [at(0), at(60), at(3600), "2025-02-30T00:00:00Z", "0001-01-01", "9999-12-31"]},
            "priority": {"type": "integer", "minimum": 0, "maximum": 100},
            "status": {"enum": ["pending", "executed", "failed", "skipped", "cancelled"]},
            "event_id": {"type": "string"},
            "created_at": {"type": "string", "format": "date-time"},
        }
        return {"type": "object", "properties": fields, "required": ["modality", "data", *required]}

    def an(**properties: Any) -> dict[str, Any]:
        return {"type": "object", "properties": properties, "required": list(properties)}

    now = {"anyOf": [event(name, item) for name, item in MODALITIES.items()]}
    later = {"anyOf": [event(name, item, "scheduled_time") for name, item in MODALITIES.items()]}
    events = an(events={"type": "array", "items": later})
    states = {name: described(item.state, name, "state") for name, item in MODALITIES.items()}
    scale = {"type": "number", "exclusiveMinimum": 0}
    environment = an(
        time_state={"type": "object", "properties": {"current_time": {"enum": [at(0), at(-60)]}, "time_scale": scale}},
        modality_states={"type": "object", "properties": states},
    )
    bodies = {
        "/events/immediate": now,
        "/events": later,
        "/events/batch": events,
        "/scenario/import/environment": an(data=environment),
        "/scenario/import/events": an(data=events),
        "/scenario/import/full": an(scenario=an(metadata={"type": "object"}, environment=environment, events=events)),
    }
    paths = {path: {"post": document["paths"][path]["post"]} for path in bodies}
    for path, schema in bodies.items():
        paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"] = schema
    return {**document, "paths": paths}


@contextmanager
def quiet_server(folder: Path, *arguments: str, **environment: str) -> Iterator[Server]:
    """A server that must log no error: an operation's defect makes its event fail, not the request."""
    with (folder / "log").open("w+") as log:
        server = Server(*arguments, log=log, **environment)
        yield server
        server.stop()
        log.seek(0)
        logged = log.read()
        assert "Traceback" not in logged, logged


@pytest.fixture
def single(tmp_path: Path) -> Iterator[Server]:
    with quiet_server(tmp_path, "--single", "--seed", "fuzz", UES_ADMIN_KEY=ADMIN_KEY) as server:
        yield server


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Server]:
    with quiet_server(tmp_path) as server:
        yield server


@pytest.fixture
def populated(single: Server, tmp_path: Path) -> Populated:
    return Populated(single, tmp_path)


@only_nightly
@pytest.mark.timeout(3600)
def test_no_request_breaks_a_simulation(populated: Populated, tmp_path: Path) -> None:
    report = fuzz(f"{populated.url}/openapi.json", ADMIN_KEY, tmp_path, *amount(60), **populated.environment)
    assert report["operations"]["tested"] == report["operations"]["total"] > 100
    assert report["test_cases"]["generated"] >= 8_000


@only_nightly
@pytest.mark.timeout(3600)
def test_no_event_and_no_file_breaks_a_simulation(populated: Populated, tmp_path: Path) -> None:
    (tmp_path / "sharpened.json").write_text(json.dumps(sharpened(populated.document)))
    # The document names only some of a path's methods, so which others there are is for the test above.
    methods = "unsupported_method,allow_header_conformance"
    options = ("--url", populated.url, "--exclude-checks", methods, *amount(25))
    report = fuzz(str(tmp_path / "sharpened.json"), ADMIN_KEY, tmp_path, *options, **populated.environment)
    assert report["operations"]["tested"] == 6
    assert report["test_cases"]["generated"] >= 12_000


@only_nightly
def test_no_request_breaks_the_host(host: Server, tmp_path: Path) -> None:
    report = fuzz(f"{host.url}/openapi.json", HOST_KEY, tmp_path, "--include-tag", "host", *amount(200))
    assert report["operations"]["tested"] == 7
