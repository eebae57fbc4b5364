"""Facts that texts of the day may state: each has a statement for a judge model, and patterns to use without a model.

``paraphrases/`` tests the patterns on people's wordings. Facts without patterns are read by a model only.
"""

import tomllib
from functools import partial
from pathlib import Path

import texts
from ground_truth import INCIDENT_THREAD, ROUNDS, TRUTHS, Truth

from proctor.language.facts import Fact, Patterns

_STATEMENTS: dict[str, str] = tomllib.loads(Path(__file__).with_name("facts.toml").read_text(encoding="utf-8"))


def _fact(name: str, patterns: Patterns | None = None) -> Fact:
    return Fact(name, _STATEMENTS[name], patterns)


OVER = _fact("incident_over", texts.states_over)
OVER_IN_ROUND = {
    number: Fact(f"incident_over.round_{number}", OVER.statement, partial(texts.states_incident_over, number=number))
    for number in range(1, ROUNDS + 1)
}
OPEN = _fact("incident_open", texts.states_open)
INCIDENT = _fact("incident_named", texts.speaks_of_incident)
PRIVATE = _fact("private")
CANNOT_WAIT = _fact("cannot_wait", texts.states_cannot_wait)
NOISE = _fact("noise_named")

NUMBER = _fact("notice.number", texts.states_number)
BROKEN = _fact("notice.broken", texts.states_broken)
OWNER = _fact("notice.owner", texts.states_owner)
CUSTOMER = _fact("brief.customer", texts.states_customer)
ISSUE = _fact("brief.issue", texts.states_issue)
WANTS = _fact("brief.wants", texts.states_wants)
BY_WHEN = _fact("brief.by_when", texts.states_deadline)
TOM_NAMED = _fact("note.tom", texts.names_tom)
CALL = _fact("note.call", texts.states_call)


def _mail(truth: Truth) -> Fact:
    if truth.thread == INCIDENT_THREAD and truth.kind != "action":
        return Fact(
            f"stage.{truth.name}",
            f"It reports the state of incident INC-2291 by this mail: {truth.why}.",
            partial(texts.states_stage, truth=truth),
        )
    asked = "from whom, what" if not truth.due else "from whom, what, and by when (no other deadline)"
    return Fact(
        f"mail.{truth.name}",
        f"It reports this mail, {asked}: {_describe_mail(truth)}.",
        partial(texts.reports_time, truth=truth),
    )


def _topic(truth: Truth) -> Fact:
    """The fact of a mail without its time."""
    statement = f"It reports this mail, from whom and what; the time may be missing: {_describe_mail(truth)}."
    return Fact(f"topic.{truth.name}", statement, partial(texts.reports, truth=truth))


def _describe_mail(truth: Truth) -> str:
    return f"{truth.name.replace('-', ' ')} ({truth.why})"


REPORTED = {truth.name: _mail(truth) for truth in TRUTHS if truth.kind in ("urgent", "action", "fyi")}
TOPICS = {
    truth.name: _topic(truth) if truth.due else REPORTED[truth.name] for truth in TRUTHS if truth.name in REPORTED
}

FACTS = [
    *(OVER, OPEN, INCIDENT, PRIVATE, CANNOT_WAIT, NOISE),
    *(NUMBER, BROKEN, OWNER, CUSTOMER, ISSUE, WANTS, BY_WHEN, TOM_NAMED, CALL),
    *REPORTED.values(),
]
"""The facts whose patterns ``paraphrases/`` has to test; topics are parts of these."""
