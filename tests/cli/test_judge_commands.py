"""``proctor judge calibrate``: figures on standard output, progress beside it, and a file in the state folder."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.commands import Sandbox
from tests.openai_endpoint import OpenAIEndpoint

NAME = "openai/scripted"


def _always_met(prompt: str) -> dict[str, object]:
    [(item, points)] = re.findall(r"^- (\S+) \((\d) points", prompt, re.MULTILINE)
    records = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"id"')]
    quotes = [{"record": row["id"], "quote": row["text"][:20]} for row in records if row["text"].strip()][:1]
    return {"items": [{"id": item, "quotes": quotes, "reason": "r", "points": int(points)}], "explanation": "e"}


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def test_it_prints_figures_and_keeps_them(sandbox: Sandbox) -> None:
    with OpenAIEndpoint() as endpoint:
        endpoint.answer("now judge", _always_met)
        done = sandbox.call(
            *("judge", "calibrate", "email_triage_basic", "--model", NAME, "--base-url", endpoint.base_url),
            *("--limit", "24", "--state", "state", "--json", "all.json"),
        )
    assert done.returncode == 0, done.stderr
    for said in (f"{NAME} as judge of email_triage_basic", "Cohen's kappa 0.00", "below 0.6", "cost unknown"):
        assert said in done.stdout
    assert "courtesy.greets" in done.stdout
    assert "24/24" in done.stderr
    written = json.loads((sandbox.folder / "all.json").read_text())
    [kept] = (sandbox.folder / "state" / "calibrations").iterdir()
    assert json.loads(kept.read_text()) == written
    assert {kind: row["cases"] for kind, row in written["by_kind"].items()} == {
        "clear": 4,
        "borderline": 4,
        "hostile": 4,
        "fact": 12,
    }
    assert written["shipped_cases"] > 128, "those of rubrics and those of facts"
    assert written["outcomes"][0]["quotes"]
    assert written["overall"]["too_low"] == written["overall"]["refused"] == 0
    assert (written["usage"]["calls"], written["usage"]["input_tokens"]) == (24, 24)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nonesuch", "--model", NAME), "scenario"),
        (("email_triage_basic", "--model", "strange-1"), "unknown model"),
        (("email_triage_basic", "--model", NAME, "--limit", "0"), "--limit"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(sandbox: Sandbox, arguments: tuple[str, ...], said: str) -> None:
    done = sandbox.call("judge", "calibrate", *arguments, "--state", "state")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
