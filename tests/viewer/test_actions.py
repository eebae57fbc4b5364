"""What a reader can have done from a page, and who can't."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from starlette.testclient import TestClient

from proctor.storage.archive import Archive
from proctor.viewer.actions import Action, ActionRefusedError, ActionRequest, Actions, Field
from proctor.viewer.app import create_app
from tests.sentences import says
from tests.viewer.under_way import ScriptedLive

HERE = "http://127.0.0.1:8000"


@dataclass
class Doer:
    """Does what is asked, and knows what that was."""

    asked: list[ActionRequest] = field(default_factory=list)
    refuses: str | None = None

    async def do(self, asked: ActionRequest) -> str:
        if self.refuses:
            raise ActionRefusedError(self.refuses)
        self.asked.append(asked)
        return "day-two"


@pytest.fixture
def doer() -> Doer:
    return Doer()


def actions(doer: Doer, *, for_everybody: bool = False) -> Actions:
    return Actions(
        [
            Action("replay", "Replay", doer.do, lambda e, t: f"Back to {t}?", at_each_turn=True, needs_history=True),
            Action("judge", "Judge", doer.do, lambda e, t: f"{e.status}: anew?", fields=[Field("agent", "Agent")]),
        ],
        for_nameless="all" if for_everybody else "loopback",
    )


@pytest.fixture
def browser(archive: Archive, doer: Doer) -> Iterator[TestClient]:
    with TestClient(create_app(archive.folder.root, None, ScriptedLive(), actions(doer)), base_url=HERE) as client:
        yield client


def form_of(page: str) -> dict[str, str]:
    """The hidden fields of the page that asks."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))


def test_the_page_asks_and_then_it_is_done(browser: TestClient, doer: Doer) -> None:
    page = browser.get("/view/day-one?turn=2").text
    assert 'href="/view/day-one/do/replay?turn=2"' in page
    question = browser.get("/view/day-one/do/replay?turn=2").text
    assert "Back to 2?" in question
    assert doer.asked == [], "asking does nothing"
    done = browser.post(
        "/view/day-one/do/replay", data=form_of(question), headers={"Origin": HERE}, follow_redirects=False
    )
    assert (done.status_code, done.headers["location"]) == (303, "/view/day-two")
    assert [(asked.entry.id, asked.turn) for asked in doer.asked] == [("day-one", 2)]

    question = browser.get("/view/day-one/do/judge").text
    assert "completed: anew?" in question
    said = {**form_of(question), "agent": "http://other.example", "unknown": "x"}
    browser.post("/view/day-one/do/judge", data=said, headers={"Origin": HERE}, follow_redirects=False)
    assert doer.asked[-1].fields == {"agent": "http://other.example"}


def test_what_can_not_be_done_is_said_where_it_was_asked(browser: TestClient, doer: Doer) -> None:
    doer.refuses = "it has never been judged"
    form = form_of(browser.get("/view/day-one/do/judge").text)
    answer = browser.post("/view/day-one/do/judge", data=form, headers={"Origin": HERE})
    assert answer.status_code == 409
    assert says().within(answer.text)
    assert form_of(answer.text) == form


@pytest.mark.parametrize(
    ("headers", "changes"),
    [
        ({}, {}),
        ({"Origin": "null"}, {}),
        ({"Origin": "http://elsewhere.example"}, {}),
        ({"Origin": "http://127.0.0.1:9000"}, {}),
        ({"Origin": HERE, "Sec-Fetch-Site": "cross-site"}, {}),
        ({"Origin": HERE, "Sec-Fetch-Site": "same-site"}, {}),
        ({"Origin": HERE}, {"token": ""}),
        ({"Origin": HERE}, {"token": "0" * 64}),
        ({"Origin": HERE}, {"token": "é"}),
        ({"Origin": "http://["}, {}),
        ({"Origin": HERE}, {"turn": "1"}),
        ({"Origin": "http://rebound.example", "Host": "rebound.example"}, {}),
    ],
)
def test_no_other_site_has_anything_done(
    browser: TestClient, doer: Doer, headers: dict[str, str], changes: dict[str, str]
) -> None:
    form = form_of(browser.get("/view/day-one/do/replay?turn=2").text)
    answer = browser.post("/view/day-one/do/replay", data={**form, **changes}, headers=headers)
    assert answer.status_code == 403
    assert doer.asked == []


def test_who_comes_by_another_name_than_loopbacks_is_offered_nothing(archive: Archive, doer: Doer) -> None:
    rebound = {"Host": "rebound.example"}
    with TestClient(create_app(archive.folder.root, None, ScriptedLive(), actions(doer)), base_url=HERE) as browser:
        assert "/do/" not in browser.get("/view/day-one", headers=rebound).text
        assert browser.get("/view/day-one/do/judge", headers=rebound).status_code == 403
    everybody = create_app(archive.folder.root, None, ScriptedLive(), actions(doer, for_everybody=True))
    with TestClient(everybody, base_url="http://evaluator.example") as browser:
        assert "/do/judge" in browser.get("/view/day-one").text
    with TestClient(create_app(archive.folder.root), base_url=HERE) as browser:
        assert "/do/" not in browser.get("/view/day-one").text


def test_what_needs_a_history_is_offered_while_there_is_one(archive: Archive, doer: Doer) -> None:
    live = ScriptedLive(known=set())
    with TestClient(create_app(archive.folder.root, None, live, actions(doer)), base_url=HERE) as browser:
        page = browser.get("/view/day-one").text
        assert ("/do/replay" in page, "/do/judge" in page) == (False, True)
        assert "/do/" not in browser.get("/view/run-1").text, "a campaign is no assessment"
        assert browser.get("/view/run-1/do/judge").status_code == 404
        assert browser.get("/view/day-one/do/nothing").status_code == 404
        assert browser.get("/view/day-one/do/replay").status_code == 400
        long = browser.post("/view/day-one/do/judge", content=b"a=" + b"x" * 100_000, headers={"Origin": HERE})
        assert long.status_code == 413
