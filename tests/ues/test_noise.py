"""Noise and a running clock in the simulator: requests fail, cost time, and read old or half answers."""

import asyncio
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any

import httpx
import orjson
import pytest

from proctor.ues import USER_PERMISSIONS, checkpoint
from proctor.ues.claims import Claim, claim
from proctor.ues.course import Course, TurnConditions
from proctor.ues.host import Host
from proctor.ues.http.mcp import USUAL_NAME, _make_tool
from proctor.ues.http.routes import SIMULATION_ROUTES
from proctor.ues.http.tool_names import drawn_names, is_renamed, reworded
from proctor.ues.noise import RATES, Noise, draw
from proctor.ues.pace import LONGEST_GAP, TICK_SECONDS, Pace
from proctor.ues.problems import Broken, Problem, Unavailable
from proctor.ues.server import create_app
from proctor.ues.simulation import Author, Simulation
from proctor.ues.steps import Step, carry_out
from tests.ues.helpers import START, at

ADMIN, SECRET = "admin-key-of-the-noise", "participant-key-of-the-noise"


MCP = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


class Noisy:
    """A simulation under conditions, in this process; requests are the participant's."""

    def __init__(self, clock: Callable[[], float] = monotonic, **conditions: Any) -> None:
        app = create_app(host_key="host-key-of-the-noise")
        self._host: Host = app.host
        self.simulation: Simulation = app.host.create("noisy", ADMIN, "seed")
        self.simulation.clear(START)
        self.simulation.start(auto_advance=False, time_scale=1.0)
        keys = self.simulation.keys
        keys.create("participant", "participant", list(USER_PERMISSIONS), SECRET, "admin", self.simulation.ids)
        self.simulation.course = Course(TurnConditions(turn=1, **{"seed": 1, **conditions}), clock)
        self._http = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://noisy/simulations/noisy", headers={"X-API-Key": SECRET}
        )

    def ask(self, method: str, path: str, body: Any = None, key: str = SECRET) -> httpx.Response:
        request = self._http.request(method, path, json=body, headers={"X-API-Key": key, **MCP})
        return asyncio.run(request)

    def say(self, words: str) -> int:
        body = {"role": "assistant", "content": words, "conversation_id": "default"}
        return self.ask("POST", "/chat/send", body).status_code

    def claim(self, **asked: Any) -> None:
        claim(self._host, "noisy", Claim.model_validate({"fence": 1, "admin_key": ADMIN, **asked}), b"")

    @property
    def said(self) -> list[str]:
        return [message["content"] for message in self.simulation.states["chat"]["messages"]]


def test_what_is_due_happens_before_the_request_is_served() -> None:
    noisy = Noisy(seconds=10.0)
    chat = {"operation": "send_message", "role": "user", "content": "Hurry!", "conversation_id": "default"}
    noisy.simulation.schedule("chat", chat, at(15), author=Author("admin", "admin"), priority=50, metadata={})
    assert noisy.ask("GET", "/chat/state").json()["messages"] == []
    found = noisy.ask("GET", "/chat/state").json()["messages"]
    assert [(message["content"], message["timestamp"]) for message in found] == [("Hurry!", at(15))]
    assert noisy.simulation.clock.text == at(20)
    course = noisy.simulation.course
    assert course is not None
    assert (course.requests, course.events_executed) == (2, 1)


def test_neither_the_evaluator_nor_a_turn_that_is_over_spends_time() -> None:
    noisy = Noisy(seconds=10.0)
    assert noisy.ask("GET", "/simulator/time", key=ADMIN).json()["current_time"] == START
    noisy.ask("GET", "/chat/state")
    carry_out(noisy.simulation, Step(ends_turn=True, to=at(1), actions_of="participant", actions_at=START))
    assert noisy.ask("GET", "/simulator/time").json()["current_time"] == at(11)


class Seconds:
    """A clock in a test's hand, with regular ticks while time passes."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def run(self, seconds: float, pace: Pace) -> None:
        for _ in range(round(seconds / TICK_SECONDS)):
            self.now += TICK_SECONDS
            pace.tick()


def test_a_measured_clock_counts_the_participants_time_alone() -> None:
    seconds = Seconds()
    noisy = Noisy(seconds, factor=10.0)
    course = noisy.simulation.course
    assert course is not None
    assert course.pace is not None
    seconds.run(3, course.pace)
    noisy.ask("GET", "/chat/state")
    assert noisy.simulation.clock.text == at(30)
    seconds.run(2, course.pace)
    noisy.ask("GET", "/simulator/time", key=ADMIN)  # the evaluator was at work until now
    seconds.run(1, course.pace)
    noisy.ask("GET", "/chat/state")
    assert noisy.simulation.clock.text == at(40)
    seconds.now += 3600  # the server, or its machine, was stopped
    noisy.ask("GET", "/chat/state")
    assert noisy.simulation.clock.text == at(40 + 10 * LONGEST_GAP)
    assert course.moves == course.describe()["moves"] == [30.0, 10.0, 10 * LONGEST_GAP]


def test_the_evaluators_time_until_another_attempt_takes_over_is_not_charged() -> None:
    seconds = Seconds()
    noisy = Noisy(seconds, factor=10.0)
    noisy.simulation.mark = "turn 1"
    course = noisy.simulation.course
    assert course is not None
    assert course.pace is not None
    seconds.run(3, course.pace)  # an attempt died, and the next one comes now
    noisy.claim(keep="turn 1")
    seconds.run(1, course.pace)
    noisy.ask("GET", "/chat/state")
    assert noisy.simulation.clock.text == at(10)


def test_a_turn_that_begins_again_where_it_stands_has_a_course_of_its_own() -> None:
    """Reading under noise changes nothing, so the simulation still stands at the turn's checkpoint."""
    noisy = Noisy(noise=3)
    digest, _ = checkpoint.take(noisy.simulation)
    answers = []
    for again in range(2):
        noisy.claim(checkpoint=digest, mark=f"try {again}", conditions={"turn": 1, "seed": 1, "noise": 3})
        answers.append([noisy.ask("GET", "/email/state").status_code for _ in range(40)])
        assert noisy.simulation.equals_checkpoint(digest)
    assert answers[0] == answers[1]
    assert len({*answers[0]}) > 1, "noise was met"
    noisy.claim(checkpoint=digest, mark="a turn without conditions")
    assert noisy.simulation.course is None


def test_a_request_that_fails_was_done_or_not_and_looks_the_same() -> None:
    noisy = Noisy(noise=3)
    answers = {words: noisy.ask("POST", "/chat/send", _chat(words)) for words in map(str, range(150))}
    failed = {words: answer for words, answer in answers.items() if answer.status_code >= 500}
    done = {words for words in failed if words in noisy.said}
    course = noisy.simulation.course
    assert course is not None
    assert course.noise is not None
    counts = course.noise.counts
    assert len(done) == counts["after"] > 0
    assert len(failed) - len(done) == counts["before"] > 0
    assert {answer.status_code for answer in failed.values()} == {500, 503}
    bodies = {answer.text for answer in failed.values() if answer.status_code == 500}
    assert len(bodies) == 1
    assert len(noisy.said) == 150 - counts["before"]
    assert noisy.simulation.clock.text == START


def _chat(words: str) -> dict[str, str]:
    return {"role": "assistant", "content": words, "conversation_id": "default"}


def test_a_simulation_that_is_restored_has_no_course() -> None:
    noisy = Noisy(seconds=10.0)
    _, before = checkpoint.take(noisy.simulation)
    checkpoint.restore(noisy.simulation, before)
    noisy.ask("GET", "/chat/state")
    assert noisy.simulation.clock.text == START


def test_a_late_answer_costs_time_where_the_clock_runs() -> None:
    course = Course(TurnConditions(turn=1, seed=1, seconds=2.0, noise=3))
    costs = [course.begin_request() for _ in range(200)]
    assert set(costs) > {2.0}
    assert all(cost == 2.0 or 7.0 <= cost <= 62.0 for cost in costs)
    assert sum(cost > 2.0 for cost in costs) == course.describe()["noise"]["late"]
    standing = Course(TurnConditions(turn=1, seed=1, noise=3))
    assert {standing.begin_request() for _ in range(200)} == {0.0}


def test_lists_are_halved_and_say_how_many_entries_there_are() -> None:
    entries = [{"id": number} for number in range(9)]
    answer = orjson.dumps({"emails": entries, "total_count": 9, "returned_count": 9, "query": {}})
    noise = Noise(3, 1, 1)
    got = []
    for number in range(60):
        noise.begin()
        got.append(orjson.loads(noise.alter(b"%d" % number, answer, is_list=True)))
    short = [reply for reply in got if reply["returned_count"] == 5]
    assert short
    assert len(short) == noise.counts["half"]
    assert all(reply["emails"] == entries[:5] and reply["total_count"] == 9 for reply in short)
    assert all(reply == orjson.loads(answer) for reply in got if reply not in short)


def test_a_stale_answer_is_one_that_the_same_request_got_before() -> None:
    noise = Noise(3, 1, 1)
    asked: dict[bytes, list[bytes]] = {b"one": [], b"two": []}
    for number in range(200):
        noise.begin()
        key = b"one" if number % 2 else b"two"
        asked[key].append(noise.alter(key, b"%d" % number, is_list=False))
    stale = 0
    for got in asked.values():
        assert got == sorted(got, key=int)
        stale += len(got) - len(set(got))
    assert stale == noise.counts["stale"] > 0


def test_the_same_requests_meet_the_same_noise() -> None:
    def play(turn: int) -> tuple[list[str], Counter[str]]:
        noise = Noise(2, 42, turn)
        met = []
        for _ in range(100):
            noise.begin()
            try:
                noise.fail_before()
                noise.fail_after()
                met.append("done")
            except Problem as error:
                met.append(type(error).__name__)
        return met, Counter(noise.counts)

    assert play(1) == play(1)
    assert play(1) != play(2)
    assert {Unavailable.__name__, Broken.__name__, "done"} == set(play(1)[0])


@pytest.mark.parametrize("level", RATES)
def test_draws_come_as_often_as_their_rates_say(level: int) -> None:
    rate = RATES[level].before
    came = sum(draw(7, 1, number, "before") < rate for number in range(4000))
    assert abs(came / 4000 - rate) < 0.02


def test_tools_have_other_names_and_words_and_do_the_same() -> None:
    noisy = Noisy(noise=2)
    usual = {_make_tool(route).name: route.summary for route in SIMULATION_ROUTES if route.participant}
    shown = {tool["name"]: tool["description"] for tool in _mcp(noisy, "tools/list")["tools"]}
    names = drawn_names(usual, 1, 2)
    assert set(shown) == set(names.values())
    assert 0 < len(set(shown) - set(usual)) < len(usual)
    assert shown == {names[name]: reworded(words) if is_renamed(name, 1, 2) else words for name, words in usual.items()}
    name = next(name for name in usual if names[name] != name and name.endswith("_state"))
    assert _mcp(noisy, "tools/call", name=name, arguments={})["isError"], "the usual name is unknown"
    answers = [_mcp(noisy, "tools/call", name=names[name], arguments={})["isError"] for _ in range(5)]
    assert False in answers
    course = noisy.simulation.course
    assert course is not None
    assert course.requests == 5, "a tool call is one request"
    assert _mcp(noisy, "tools/call", name=names[name], arguments={})["_meta"] == {USUAL_NAME: name}


def _mcp(noisy: Noisy, method: str, **params: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return noisy.ask("POST", "/mcp", message).json()["result"]
