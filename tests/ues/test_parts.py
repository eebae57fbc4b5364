"""Checkpoints in parts: what has changed is all that is written, and what is joined is what there was."""

import json
import random
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ues import checkpoint, parts
from proctor.ues.modalities import MODALITIES
from proctor.ues.problems import Impossible
from proctor.ues.scenario import import_full
from proctor.ues.simulation import Author, Simulation
from tests.ues.helpers import HOST_KEY, START, Server, Sim, at

ADMIN = Author("admin", "admin")
SECRET = "the-admin-key-of-this-test"
MEGABYTE = 1_000_000


def mail(number: int, size: int = 100) -> dict[str, Any]:
    return {
        "message_id": f"mail-{number}",
        "thread_id": f"thread-{number % 7}",
        "from_address": "ben@work.example",
        "to_addresses": ["user@example.com"],
        "subject": f"Report {number}",
        "body_text": random.Random(number).randbytes(size // 2).hex(),
        "sent_at": START,
        "received_at": START,
    }


def simulation(mails: int = 0, size: int = 100) -> Simulation:
    made = Simulation("one", SECRET, "seed")
    made.clock.move_to_text(START)
    emails = {email["message_id"]: email for email in (mail(number, size) for number in range(mails))}
    import_full(made, {"environment": {"modality_states": {"email": {"emails": emails}}}, "events": {}}, strict=True)
    made.is_running = True
    return made


def told(simulation: Simulation) -> Any:
    """All that there is to a simulation, in order, but for what the wall clock says."""
    simulation.note_change()
    data = json.loads(checkpoint.take(simulation)[1])
    del data["seal"], data["clock"]["last_wall_time_update"]
    return json.dumps(data)


class Store:
    """What an evaluator keeps, and how many bytes each checkpoint has added to it, compressed as blobs are."""

    def __init__(self) -> None:
        self.parts: dict[str, bytes] = {}
        self.given: list[int] = []

    def keep(self, simulation: Simulation, *, everything: bool = False) -> checkpoint.Taken:
        taken = checkpoint.take_in_parts(simulation, everything=everything)
        assert all(sha256(content).hexdigest() == name for name, content in taken.new.items())
        self.parts |= taken.new
        self.given.append(sum(len(zlib.compress(content, 1)) for content in (taken.manifest, *taken.new.values())))
        checkpoint.note_stored(simulation, taken.digest)
        return taken

    def restore(self, simulation: Simulation, taken: checkpoint.Taken) -> int:
        """Have it stand there, given only what it lacks; how many parts that were."""
        indexes = {name: self.parts[name] for name in named(taken.manifest, "index")}
        lacking = checkpoint.find_lacking(simulation, taken.manifest, indexes)
        given = indexes | {name: self.parts[name] for name in lacking}
        assert checkpoint.restore(simulation, taken.manifest, given) == taken.digest
        checkpoint.note_stored(simulation, taken.digest)
        return len(lacking)


def named(manifest: bytes, kind: str) -> list[str]:
    return [name for part in json.loads(manifest)["parts"] for name, _ in part[kind]]


def act(simulation: Simulation, modality: str = "email", **data: Any) -> None:
    simulation.schedule(modality, data, simulation.clock.text, author=ADMIN, priority=50, metadata={})
    simulation.advance(1)


def receive(simulation: Simulation, subject: str = "Hello") -> None:
    sender, user = "ben@work.example", ["user@example.com"]
    act(
        simulation,
        operation="receive",
        from_address=sender,
        to_addresses=user,
        subject=subject,
        body_text=subject * 20,
    )


def test_a_small_simulation_has_no_parts() -> None:
    small = simulation(20)
    taken = checkpoint.take_in_parts(small)
    assert (named(taken.manifest, "pages"), taken.new) == ([], {})
    copy = simulation()
    checkpoint.restore(copy, taken.manifest)
    assert told(copy) == told(small)


def test_a_checkpoint_costs_what_has_changed() -> None:
    """Three mails to six megabytes: some kilobytes; a moved clock: the manifest alone; an old mail: its page."""
    large, store = simulation(800, 10_000), Store()
    store.keep(large)
    whole = store.given[0]
    for _ in range(20):
        for number in range(3):
            receive(large, f"News {number}")
        store.keep(large)
        large.advance(60)
        before = len(store.parts)
        store.keep(large)
        assert len(store.parts) == before
    assert max(store.given[1:]) < min(24 * 1024, whole / 50)
    act(large, operation="mark_read", message_ids=["mail-400"])
    store.keep(large)
    act(large, operation="mark_unread", message_ids=["mail-400"])
    last = store.keep(large)
    assert store.given[-2] < 3 * parts.LARGE_PAGE
    assert store.given[-1] < 8 * parts.PAGE  # a page that is touched is cut finer
    copy = simulation()
    assert store.restore(copy, last) > 50
    assert told(copy) == told(large)
    assert store.keep(copy).new == {}  # it is cut as the original is


def test_restoring_takes_only_what_differs() -> None:
    large, store = simulation(300, 10_000), Store()
    start, before = store.keep(large), told(large)
    act(large, operation="delete", message_ids=["mail-7"])
    receive(large)
    later, after = store.keep(large), told(large)
    assert 0 < store.restore(large, start) < 6
    assert told(large) == before
    assert 0 < store.restore(large, later) < 6
    assert told(large) == after
    assert store.restore(large, later) == 0


def test_a_restored_simulation_shows_valid_json_before_it_changes() -> None:
    original, restored = simulation(40, size=3000), simulation()
    taken = checkpoint.take_in_parts(original, everything=True)
    checkpoint.restore(restored, taken.manifest, taken.new)
    checkpoint.take_in_parts(restored)
    shown, _ = restored.parts.shorten_shown({"email": MODALITIES["email"].show_state(restored.view("email"))})
    assert json.loads(orjson.dumps(shown))["email"]["emails"]


def test_everything_is_new_to_whoever_asks_for_everything() -> None:
    large, store = simulation(300, 1000), Store()
    first = store.keep(large)
    assert store.keep(large).new == {}
    again = checkpoint.take_in_parts(large, everything=True)
    assert (again.digest, again.new) == (first.digest, first.new)
    copy = simulation()
    store.restore(copy, first)
    assert checkpoint.take_in_parts(copy).new == {}
    assert checkpoint.take_in_parts(copy, everything=True).new == first.new


def test_what_is_missing_is_named_and_nothing_changes() -> None:
    large, store = simulation(300, 1000), Store()
    taken = store.keep(large)
    copy = simulation(3)
    before = told(copy)
    some = dict(list(store.parts.items())[1:])
    [lacking] = checkpoint.find_lacking(copy, taken.manifest, some)
    with pytest.raises(Impossible, match=lacking):
        checkpoint.restore(copy, taken.manifest, some)
    assert told(copy) == before


def test_a_checkpoint_of_0_1_is_restored() -> None:
    """Recorded with the simulator of 0.1: three mails came, the last was undone, a chat message is still to come."""
    recorded = (Path(__file__).parent / "recorded" / "checkpoint-0.1.json").read_bytes()
    found, store = simulation(3), Store()
    assert checkpoint.find_lacking(found, recorded, {}) == []
    assert checkpoint.restore(found, recorded) == sha256(recorded).hexdigest()
    assert [email["subject"] for email in found.states["email"]["emails"].values()] == ["Mail 0", "Mail 1"]
    assert (found.events.count("executed"), found.events.count("pending")) == (3, 1)
    assert (len(found.redo(5)), found.equals_checkpoint(sha256(recorded).hexdigest())) == (1, False)
    taken, expected = store.keep(found), told(found)
    copy = simulation()
    store.restore(copy, taken)
    assert told(copy) == expected


def test_the_access_log_loses_its_oldest_entries_page_by_page() -> None:
    busy, store = simulation(), Store()
    for number in range(25_000):
        busy.access_log.record((START, "admin", "Admin", "GET", f"/email/state?{number}", 200, 1.0))
        if number % 5_000 == 4_999:
            busy.note_change()
            taken = store.keep(busy)
            copy = simulation()
            store.restore(copy, taken)
            assert copy.access_log.dump() == busy.access_log.dump()
    busy.access_log.clear()
    busy.note_change()
    assert named(store.keep(busy).manifest, "pages") == []


ACTIONS: dict[str, Callable[[Simulation, int], object]] = {
    "receive": lambda s, n: receive(s, f"Mail {n}"),
    "read": lambda s, n: act(s, operation="mark_read", message_ids=[f"mail-{n}"]),
    "delete": lambda s, n: act(s, operation="delete", message_ids=[f"mail-{n}"]),
    "label": lambda s, n: act(s, operation="add_label", message_ids=[f"mail-{n}", f"mail-{n + 1}"], labels=["x"]),
    "move": lambda s, n: act(s, operation="move", message_id=f"mail-{n}", folder="archive"),
    "draft": lambda s, n: act(s, operation="save_draft", to_addresses=["a@b.example"], subject=f"{n}", body_text="b"),
    "chat": lambda s, n: act(s, "chat", role="user", content=f"Hello {n}"),
    "text": lambda s, n: act(
        s, "sms", action="receive_message", message_data={"from_number": "+1", "to_numbers": ["+2"], "body": f"{n}"}
    ),
    "later": lambda s, n: s.schedule(
        "chat", {"role": "user", "content": "x"}, at(10_000 + n), author=ADMIN, priority=50, metadata={}
    ),
    "cancel": lambda s, n: [s.cancel(e["event_id"]) for e in s.events.list_all()[-3:] if e["status"] == "pending"],
    "undo": lambda s, n: s.undo(1 + n % 5),
    "redo": lambda s, n: s.redo(1 + n % 3),
    "log": lambda s, n: s.access_log.record((START, "admin", "Admin", "GET", f"/{n}", 200, 1.0)),
    "reset": lambda s, n: reset(s),
}


def reset(simulation: Simulation) -> None:
    simulation.reset()
    simulation.start(auto_advance=False, time_scale=1.0)


@given(story=st.lists(st.tuples(st.sampled_from(sorted(ACTIONS)), st.integers(0, 40), st.integers(0, 3)), max_size=30))
def test_whatever_happened_parts_make_the_whole(story: list[tuple[str, int, int]]) -> None:
    """Cut as small as can be, so that a few mails make many pages; every so often one goes back to another one."""
    with pytest.MonkeyPatch.context() as patch:
        small = {"CUT_FROM": 300, "PAGE": 400, "LARGE_PAGE": 1500, "LARGE": 4000, "TAIL": 250, "INDEXED": 2}
        for name, value in {**small, "_NESTED_FROM": 4}.items():
            patch.setattr(parts, name, value)
        one, store = simulation(30), Store()
        kept = [(store.keep(one), told(one))]
        for name, number, then in story:
            ACTIONS[name](one, number)
            if then == 0:
                one.note_change()
                taken = store.keep(one)
                expected = told(one)
                other = simulation(5)
                store.restore(other, taken)
                assert told(other) == expected
                kept.append((taken, expected))
            elif then == 1:
                taken, expected = kept[number % len(kept)]
                store.restore(one, taken)
                assert told(one) == expected


# --- over HTTP --------------------------------------------------------------------------------------------------------


def pieces(answer: bytes) -> tuple[dict[str, Any], list[bytes]]:
    head, _, content = answer.partition(b"\n")
    said, found, place = json.loads(head), [], 0
    for length in said["lengths"]:
        found.append(content[place : place + length])
        place += length
    return said, found


def framed(head: dict[str, Any], contents: list[bytes]) -> bytes:
    return json.dumps({**head, "lengths": [len(content) for content in contents]}).encode() + b"\n" + b"".join(contents)


def filled(sim: Sim, mails: int) -> None:
    emails = {email["message_id"]: email for email in (mail(number, 10_000) for number in range(mails))}
    scenario = {"environment": {"modality_states": {"email": {"emails": emails}}}, "events": {}}
    sim.ok("POST", "/scenario/import/full", {"scenario": scenario})


def test_new_parts_come_along_or_are_fetched_and_go_back_to_a_simulator_that_has_lost_them(server: Server) -> None:
    sim = server.new_simulation()
    filled(sim, 300)
    said, (manifest, *along) = pieces(sim.get("/simulation/checkpoint/parts").content)
    assert said["checkpoint"] == sha256(manifest).hexdigest()
    assert sim.ok("GET", "/simulation/checkpoint/current")["checkpoint"] == said["checkpoint"]
    assert 0 < len(along) < len(said["new"])
    assert sum(map(len, along)) <= MEGABYTE * 1.05
    store = {name: sim.get(f"/simulation/checkpoint/parts/{name}").content for name, _ in said["new"]}
    assert all(sha256(content).hexdigest() == name for name, content in store.items())
    assert sim.get(f"/simulation/checkpoint/parts/{'0' * 64}").status_code == 404
    state = sim.state("email")

    path = f"/simulations/{sim.simulation_id}"
    asked = {"fence": 7, "admin_key": sim.secret, "checkpoint": said["checkpoint"]}
    server.client.delete(path).raise_for_status()
    lost = server.client.post(f"{path}/step", content=json.dumps(asked).encode() + b"\n")
    assert (lost.status_code, lost.json()["detail"].get("parts")) == (409, None)
    indexes = [store[name] for name in named(manifest, "index")]
    lacks = server.client.post(f"{path}/step", content=framed(asked, [manifest, *indexes]))
    assert lacks.status_code == 409
    lacking = lacks.json()["detail"]["parts"]
    assert set(lacking) == store.keys() - set(named(manifest, "index"))
    for place in range(0, len(lacking), 5):
        left = [store[name] for name in lacking[place : place + 5]]
        answer = server.client.post(f"{path}/parts", content=framed({}, left))
        assert answer.json()["count"] == min(place + 5, len(lacking))
    wrong = framed(asked, [manifest, *indexes]).replace(b'"lengths": [', b'"lengths": [1, ')
    assert server.client.post(f"{path}/step", content=wrong).status_code == 400
    back = server.client.post(f"{path}/step", content=framed({**asked, "takes_parts": True}, [manifest, *indexes]))
    again, (same,) = pieces(back.content)
    assert (again["checkpoint"], again["new"], same) == (said["checkpoint"], [], manifest)
    assert sim.state("email") == state
    assert server.client.post(f"{path}/parts", content=b'{"lengths": []}').status_code == 422
    sim.delete_me()


def test_parts_are_left_by_whoever_has_the_host_key(server: Server) -> None:
    sim = server.new_simulation()
    body = framed({}, [b"{}"])
    for key, status in ((sim.secret, 401), (HOST_KEY, 200)):
        path = f"/simulations/{sim.simulation_id}/parts"
        assert server.client.post(path, content=body, headers={"X-API-Key": key}).status_code == status
    sim.delete_me()
