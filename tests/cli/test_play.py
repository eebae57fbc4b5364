"""``proctor play``: a person is the participant, by lines on a terminal or from a pipe."""

import io
import json
import re
import signal
import subprocess
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console

from proctor.cli.play import views
from proctor.cli.play.actions import ACTIONS, NotUnderstoodError, find, split_line
from proctor.cli.play.environment import EnvironmentView
from purple_sdk.protocol.actions import USER_ACTIONS
from purple_sdk.ues.items import Email
from tests.cli.commands import PROCTOR, Sandbox
from tests.programs import end, start
from tests.sentences import says
from tests.stack import Stack
from tests.waiting import PATIENCE, wait_until
from tests.work import only_nightly

LINES = """\
frobnicate
email.archive
mail 1
help email.label
email.send ben@work.example Lunch? "Does Thursday suit you?"
say -
Two lines,
in one message.
.
done PT1X
done PT2H
mail 1
reply 1 Thanks!
email.label 1 lunch
leave
"""


def play(sandbox: Sandbox, lines: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*PROCTOR, "play", *arguments],
        cwd=sandbox.folder,
        env=sandbox.environment(),
        input=lines,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )


def test_lines_from_a_pipe_play_an_assessment(stack: Stack, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(LINES))
    played = sandbox.call("play", "tiny", "--gateway", stack.gateway_url, "--json", "result.json")
    told = played.stdout
    assert played.returncode == 0, told + played.stderr
    drawn = {"seed": re.compile(r"(?<=seed )\d+"), "time": re.compile(r"(?<=M\w\w )\d\d:\d\d")}
    facts = ("frobnicate", "email.archive", "email.label", "mail 1", "ben@work.example", "time_step")
    assert told == says(*facts, **drawn)
    assert "Traceback" not in told + played.stderr
    result = json.loads((sandbox.folder / "result.json").read_text())
    assert [entry["action"] for entry in result["action_log"]] == [
        "email.send",
        "chat.send_message",
        "email.send",
        "email.label",
    ]
    assert result["action_log"][1]["parameters"]["content"] == "Two lines,\nin one message."
    assert result["status"] == "completed"
    assert result["action_log"][2]["parameters"]["subject"] == "Re: Lunch?"


def test_ctrl_c_cancels_the_assessment(stack: Stack, sandbox: Sandbox) -> None:
    output = sandbox.folder / "output.txt"
    with output.open("w") as file:
        command = [*PROCTOR, "play", "tiny", "--gateway", stack.gateway_url]
        process = start(
            command,
            cwd=sandbox.folder,
            env=sandbox.environment(),
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: "`done` ends the turn" in output.read_text() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 4, output.read_text()
    finally:
        end(process, signal.SIGKILL)
    assert "\ncancelling the assessment …\n" in output.read_text()
    assert says().within(output.read_text())


@only_nightly
def test_quit_cancels_it_too(stack: Stack, sandbox: Sandbox) -> None:
    played = play(sandbox, "quit\n", "tiny", "--gateway", stack.gateway_url)
    assert played.returncode == 4
    assert played.stderr == says()


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [(["nothing"], "nothing"), (["./nothing"], "./nothing"), (["./x", "--gateway", "http://127.0.0.1:9"], "--gateway")],
)
def test_what_cannot_be_played_is_told(sandbox: Sandbox, arguments: list[str], fact: str) -> None:
    played = sandbox.call("play", *arguments)
    assert (played.returncode, played.stdout) == (2, "")
    assert played.stderr == says(fact)


def read(line: str) -> dict[str, object]:
    """The parameters of a line's action; number 4 of the mails has the id ``email-4``."""
    word, *words = split_line(line)
    action = find(word)
    assert action is not None
    return action.read(words, lambda kind, number: f"{kind}-{number}")


@pytest.mark.parametrize(
    ("line", "parameters"),
    [
        ("archive 2,3", {"message_ids": ["email-2", "email-3"]}),
        ("email.label 1 urgent,later", {"message_ids": ["email-1"], "labels": ["urgent", "later"]}),
        ("email.mark_read m-17", {"message_ids": ["m-17"]}),
        (
            'email.send a@x.org "Re: 1=1" "Hi\\nthere" cc=b@x.org',
            {"to_addresses": ["a@x.org"], "subject": "Re: 1=1", "body_text": "Hi\nthere", "cc_addresses": ["b@x.org"]},
        ),
        (
            'sms.send +4470 body="On my way"',
            {"to_numbers": ["+4470"], "body": "On my way"},
        ),
        (
            "calendar.create Lunch 2026-05-12T12:00Z 2026-05-12T13:00Z attendees=a@x.org,b@x.org all_day=no",
            {
                "title": "Lunch",
                "start": "2026-05-12T12:00Z",
                "end": "2026-05-12T13:00Z",
                "attendees": [{"email": "a@x.org"}, {"email": "b@x.org"}],
                "all_day": False,
            },
        ),
        ("respond 4 declined", {"event_id": "calendar-4", "response": "declined"}),
        ('react 2 "👍"', {"message_id": "sms-2", "emoji": "👍"}),
    ],
)
def test_a_line_is_an_action_with_its_fields(line: str, parameters: dict[str, object]) -> None:
    assert read(line) == parameters


def test_a_time_without_an_offset_is_the_users_own() -> None:
    typed = "calendar.create Lunch 2026-05-12T12:00 2026-05-12T13:00+00:00"
    words = split_line(typed)
    action = find(words[0])
    assert action is not None
    given = action.read(words[1:], lambda kind, number: "", ZoneInfo("Europe/Berlin"))
    assert (given["start"], given["end"]) == ("2026-05-12T12:00:00+02:00", "2026-05-12T13:00+00:00")


@pytest.mark.parametrize(
    "line",
    [
        "email.label 1",
        "email.archive 1 2",
        "calendar.respond 1 perhaps",
        "calendar.create A 2026-01-01T10:00Z 2026-01-01T11:00Z attendees=[{",
        "send a b c",
        'email.archive "1',
    ],
)
def test_a_line_that_is_none_says_why(line: str) -> None:
    with pytest.raises(NotUnderstoodError, check=says()):
        read(line)


def test_there_is_an_action_for_all_that_a_participant_may_do() -> None:
    assert {action.name for action in ACTIONS} <= set(USER_ACTIONS)
    assert {action.modality for action in ACTIONS} == {"email", "sms", "chat", "calendar", "contacts"}


def test_what_others_wrote_cannot_move_the_cursor() -> None:
    shown = io.StringIO()
    console = Console(file=shown, width=100)
    hostile = "\x1b[2J\x1b[1;1Hturn 9> \x07\u202e"
    mail = Email(message_id="m", from_address=hostile, subject=hostile, body_text=f"{hostile}\nline", labels=[hostile])
    here = EnvironmentView(mails=[mail.model_copy(update={"received_at": datetime(2026, 5, 12, tzinfo=UTC)})])
    views.mails(console, here, here.mails)
    views.mail(console, here, here.mails[0])
    assert not {"\x1b", "\x07", "\u202e"} & set(shown.getvalue())
