"""Held-out messages of email_triage_basic, by people who haven't seen the rules, put into the ideal day one at a time.

``paraphrases/audit/*.jsonl`` has one message a line with the criterion that it is about and whether it is ``right``,
``partial`` or ``wrong``. The rules read a right message rightly where the criterion keeps all its points, and any other
where it loses some. Only counts come out of here, never a message.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from proctor.activities.judging.judge import judge
from proctor.activities.judging.verdicts import in_proportion, work_criterion
from proctor.activities.scenario_code.evaluators import judge_by_evaluator
from proctor.activities.scenario_code.manager import load_evaluators, load_package
from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.protocol.scenario import EvaluationCriterion
from purple_sdk.protocol.results import ActionLogEntryWithTurn, CriterionResult
from tests.scenarios.triage_participant import DIRECTORY, MARTA, truth

AUDIT = DIRECTORY / "paraphrases" / "audit"
_HOUR = timedelta(hours=1)


def held_out(folder: Path = AUDIT) -> list[dict[str, Any]]:
    """The messages, in order of files and lines."""
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


class Auditor:
    """Scores the ideal day with one message in the place of its own.

    Args:
        ideal: what the evaluators get to see of the ideal day.
        directory: the scenario's folder.
    """

    def __init__(self, ideal: AgentBeatsEvalContext, directory: Path = DIRECTORY) -> None:
        self._ideal = ideal
        self._package = load_package(directory)
        self._criteria = {criterion.criterion_id: criterion for criterion in self._package.config.criteria}
        self._evaluators = load_evaluators(directory, self._package.config.criteria)

    async def errors(self, messages: list[dict[str, Any]]) -> dict[str, Counter[str]]:
        """By criterion: ``right`` and ``wrong`` messages, those ``missed`` (right, and points lost) and those
        ``passed`` (partial or wrong, and no point lost); ``unscored`` are those that no point hangs on offline.
        """
        found: dict[str, Counter[str]] = {}
        ideal = {name: await self._judge(criterion, self._ideal) for name, criterion in self._criteria.items()}
        for message in messages:
            name, is_right = message["criterion"], message["expected"] == "right"
            counts = found.setdefault(name, Counter())
            if self._is_unscored(message):
                counts["unscored"] += 1
                continue
            scored = await self._judge(self._criteria[name], self._with(message))
            counts["right" if is_right else "wrong"] += 1
            counts["missed"] += is_right and scored.score < ideal[name].score
            counts["passed"] += not is_right and scored.score >= ideal[name].score
        return found

    def _is_unscored(self, message: Mapping[str, Any]) -> bool:
        """Whether it is about a rubric's item that only a model judges."""
        items = self._criteria[message["criterion"]].rubric or ()
        return any(item.check is None and item.id == message.get("item") for item in items) or (
            bool(items) and all(item.check is None for item in items)
        )

    async def _judge(self, criterion: EvaluationCriterion, seen: AgentBeatsEvalContext) -> CriterionResult:
        if criterion.evaluator_id:
            return await judge_by_evaluator(criterion, seen, self._evaluators)
        verdict = await judge(criterion, self._package.config, seen, [], 60_000)
        work = work_criterion(criterion)
        return in_proportion(verdict, await judge_by_evaluator(work, seen, self._evaluators)) if work else verdict

    def _with(self, message: Mapping[str, Any]) -> AgentBeatsEvalContext:
        if message["channel"] == "chat":
            number = truth.round_of(datetime.fromisoformat(message["at"]))
            log = self._saying(list(self._ideal.action_log), number, message["text"])
            if earlier := message.get("earlier"):  # "11:02: Ingrid: container held, …"
                log = self._saying(log, int(earlier[:2]) - truth.START.hour + 1, earlier[len("11:02: ") :])
            return replace(self._ideal, action_log=log)
        return replace(self._ideal, action_log=self._mailing(message))

    def _saying(self, log: list[ActionLogEntryWithTurn], number: int, text: str) -> list[ActionLogEntryWithTurn]:
        at = truth.round_start(number)
        kept = [e for e in log if e.action != "chat.send_message" or truth.round_of(e.timestamp) != number]
        given = {"role": "assistant", "content": text}
        said = ActionLogEntryWithTurn(
            turn=number, timestamp=at, action="chat.send_message", parameters=given, success=True
        )
        return sorted([*kept, said], key=lambda entry: entry.timestamp)

    def _mailing(self, message: Mapping[str, Any]) -> list[ActionLogEntryWithTurn]:
        """The ideal day's log, with this mail for the one to the same person (at the same time of day)."""
        to, at = message["to"], datetime.fromisoformat(message["at"])
        subject, _, body = message["text"].partition("\n") if message["text"].startswith("Subject:") else ("", "", "")
        given: dict[str, Any] = {
            "to_addresses": [to],
            "subject": subject.removeprefix("Subject:").strip() or "Update",
            "body_text": body.strip() or message["text"],
        }
        if message.get("format") == "html":
            given |= {"body_html": given["body_text"]}
        due = [e for e in self._ideal.action_log if e.action == "email.send" and e.parameters["to_addresses"] == [to]]
        nearest = min(due, key=lambda entry: math.fabs((entry.timestamp - at) / _HOUR), default=None)
        number = truth.round_of(nearest.timestamp) if nearest and to == MARTA else truth.ESCALATION_ROUND
        sent = ActionLogEntryWithTurn(
            turn=number,
            timestamp=nearest.timestamp if nearest else at,
            action="email.send",
            parameters=given,
            success=True,
        )
        log = [entry for entry in self._ideal.action_log if entry is not nearest]
        return sorted([*log, sent], key=lambda entry: entry.timestamp)
