"""Answers of a small real model as characters: the number that the guard's rules refuse, and fifty for a reader.

    python -m benchmarks.guarded --answers 1000 --threads 1 --into guarded/

It writes ``figures.json`` and ``answers.jsonl`` (all of them). ``to-read.md`` has fifty answers without the guard's
verdict, half of them refused if there are enough; ``verdicts.json`` has the verdicts of these fifty. A reader decides
whether each could be sent; ``--agree FILE`` compares a JSON list of the numbers that the reader would not send.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from pydantic import ValidationError

from proctor.activities.characters.addressing import characters_addressed
from proctor.activities.characters.guard import rule_broken
from proctor.activities.characters.messages import OutgoingMessage
from proctor.activities.characters.prompts import TextAnswer, persona, reply_question
from proctor.protocol.scenario import ScenarioConfig
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.duty import Act
from proctor.scenarios.kit.making.wording import VOICES, message
from tests.served_model import served_model

_FAMILIES = Path(__file__).parents[1] / "scenarios" / "families"
_NAMES = ("which_alex", "too_risky_to_guess", "need_to_know", "expense_report", "deadline_desk", "invoice_fraud")
_TO_READ = 50
_LONGEST = 320  # characters of an answer


def main() -> int:
    """Draw the answers, or compare a reader's verdicts; the exit code is 1 when the model's server doesn't start."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    reader.add_argument("--answers", type=int, default=1000)
    reader.add_argument("--draws", type=int, default=8, help="answers to each message")
    reader.add_argument("--threads", type=int, default=1)
    reader.add_argument("--minutes", type=float, default=60.0, help="stop after so long")
    reader.add_argument("--into", type=Path, default=Path("guarded"))
    reader.add_argument("--agree", type=Path, help="a reader's list of the numbers that can't be sent")
    options = reader.parse_args()
    if options.agree is not None:
        return _compare(options.into, options.agree)
    options.into.mkdir(parents=True, exist_ok=True)
    with served_model(options.threads, options.draws) as url:
        _draw(options, url)
    return 0


def situations() -> Iterator[tuple[str, ScenarioConfig, str, OutgoingMessage]]:
    """Yield the audit oracle's messages to people and to the user: name, scenario, character and message."""
    for seed in count(21):
        for name in _NAMES:
            day = make_day(_FAMILIES / name, 1 + seed % 4, seed)
            scenario = ScenarioConfig.admitted(day.scenario())
            for number, act in enumerate(act for duty in day.duties for act in duty.acts if act.action == "tell"):
                sent = _message(act, day, number)
                for character in characters_addressed(sent, scenario)[:1]:
                    yield f"{name} {seed} {act.id}", scenario, character, sent


def _message(act: Act, day: Day, voice: int) -> OutgoingMessage:
    words = message(act, day.user, voice % VOICES)
    at: datetime = act.at
    if act.to is None:
        fields: dict[str, Any] = {"modality": "chat", "sender": "assistant", "thread_id": "default"}
    elif act.channel == "text":
        fields = {"modality": "sms", "sender": day.user.phone, "to": [act.to.phone]}
    else:
        fields = {"modality": "email", "sender": day.user.email, "to": [act.to.email], "subject": words["subject"]}
    return OutgoingMessage(message_id=act.id, body=words["body"], sent_at=at, **fields)


def _draw(options: argparse.Namespace, address: str) -> None:
    began, rows, unusable = time.monotonic(), list[dict[str, Any]](), 0
    with (options.into / "answers.jsonl").open("w", encoding="utf-8") as kept, httpx.Client(timeout=600) as client:
        for name, scenario, character, sent in situations():
            if len(rows) >= options.answers or time.monotonic() - began > 60 * options.minutes:
                break
            role = persona(character, scenario)
            question = reply_question(sent, scenario, "it concerns you")
            for answer in _answers(client, address, role, question, min(options.draws, options.answers - len(rows))):
                try:
                    text = TextAnswer.model_validate_json(answer).text.strip()
                except ValidationError:
                    unusable += 1
                    continue
                fault = rule_broken(text, sent, character, scenario)
                rows.append({"name": name, "role": role, "message": sent.body, "answer": text, "fault": fault})
                kept.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
                kept.flush()
    figures = _figures(rows, unusable, time.monotonic() - began)
    (options.into / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=1))
    _for_a_reader(rows, options.into)


def _answers(client: httpx.Client, address: str, role: str, question: str, count: int) -> list[str]:
    """Return the model's answers to one prompt, in the evaluator's shape. Lengths are limited, as the model rambles."""
    schema = TextAnswer.model_json_schema()
    schema["properties"]["text"]["maxLength"] = _LONGEST
    body = {
        "messages": [{"role": "system", "content": role}, {"role": "user", "content": question}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
        "n": count,
        "temperature": 0.7,
        "seed": 1,
        "max_tokens": 160,
    }
    response = client.post(f"{address}/v1/chat/completions", json=body).raise_for_status()
    return [choice["message"]["content"] for choice in response.json()["choices"]]


def _figures(rows: list[dict[str, Any]], unusable: int, seconds: float) -> dict[str, Any]:
    refused = [row["fault"] for row in rows if row["fault"]]
    kinds = Counter(fault.partition(":")[0].partition("'")[0].partition('"')[0].strip() for fault in refused)
    return {
        "answers": len(rows),
        "unusable": unusable,
        "refused": len(refused),
        "share": round(len(refused) / len(rows), 3) if rows else None,
        "faults": dict(kinds.most_common()),
        "seconds": round(seconds),
    }


def _for_a_reader(rows: list[dict[str, Any]], folder: Path) -> None:
    draws = Draws("guarded")
    refused = draws.shuffled([row for row in rows if row["fault"]], "refused")
    fine = draws.shuffled([row for row in rows if not row["fault"]], "fine")
    half = min(_TO_READ // 2, len(refused))
    chosen = draws.shuffled([*refused[:half], *fine[: _TO_READ - half]], "chosen")
    lines = ["# Could these answers be sent in the person's name?", ""]
    for number, row in enumerate(chosen, start=1):
        lines += [f"## {number}", "", "Who answers:", "", row["role"], "", "The message:", "", row["message"]]
        lines += ["", "The answer:", "", row["answer"], ""]
    (folder / "to-read.md").write_text("\n".join(lines), encoding="utf-8")
    verdicts = {str(number): row["fault"] for number, row in enumerate(chosen, start=1)}
    (folder / "verdicts.json").write_text(json.dumps(verdicts, indent=1) + "\n", encoding="utf-8")


def _compare(folder: Path, file: Path) -> int:
    verdicts = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))
    refused_by_reader = {str(number) for number in json.loads(file.read_text(encoding="utf-8"))}
    table = Counter((fault is not None, number in refused_by_reader) for number, fault in verdicts.items())
    agreed = table[True, True] + table[False, False]
    print(f"guard and reader agree on {agreed} of {len(verdicts)}")
    print(f"refused by both {table[True, True]}, by the guard alone {table[True, False]}")
    print(f"by the reader alone {table[False, True]}, by neither {table[False, False]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
