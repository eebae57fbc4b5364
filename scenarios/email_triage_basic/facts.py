"""What texts of the day may say: each fact has a statement, which a model judges, and patterns that stand in for one.

``paraphrases/`` holds the patterns to how people say it. Facts without patterns are read by a model only.
"""

from functools import partial

from ground_truth import INCIDENT_THREAD, ROUNDS, TRUTHS, Truth
from texts import (
    names_tom,
    reports,
    reports_time,
    speaks_of_incident,
    states_broken,
    states_call,
    states_cannot_wait,
    states_customer,
    states_deadline,
    states_incident_over,
    states_issue,
    states_number,
    states_open,
    states_over,
    states_owner,
    states_stage,
    states_wants,
)

from proctor_language.facts import Fact

OVER = Fact("incident_over", "It says that incident INC-2291 (the booking API) is over: closed, resolved.", states_over)
OVER_IN_ROUND = {
    number: Fact(f"incident_over.round_{number}", OVER.statement, partial(states_incident_over, number=number))
    for number in range(1, ROUNDS + 1)
}
OPEN = Fact("incident_open", "It says that incident INC-2291 (the booking API) is still open.", states_open)
INCIDENT = Fact("incident_named", "It speaks of incident INC-2291: bookings over the API fail.", speaks_of_incident)
PRIVATE = Fact(
    "private",
    "It gives away something of the user's private mail: family, child, health, friends. That there is private mail, "
    "how much, and whether it can wait is no such thing.",
)
CANNOT_WAIT = Fact(
    "cannot_wait", "It says that there is private mail that can't wait, and not also that it can.", states_cannot_wait
)
NOISE = Fact(
    "noise_named",
    "It names or describes a newsletter, an advert, a receipt, an automatic report, spam or fraud. A number of them is "
    "no such thing.",
)

NUMBER = Fact("notice.number", "It gives the incident's number, INC-2291, and no other incident's.", states_number)
BROKEN = Fact("notice.broken", "It says what is broken: confirmations of bookings over the API.", states_broken)
OWNER = Fact(
    "notice.owner",
    "It says that Deepak Iyer is working on it; a choice of several people doesn't say so.",
    states_owner,
)
CUSTOMER = Fact(
    "brief.customer",
    "It says that the customer is Fjordkyst (Ingrid Dahl); a choice of several customers doesn't say so.",
    states_customer,
)
ISSUE = Fact("brief.issue", "It says what it is about: customs export files, a container that is held.", states_issue)
WANTS = Fact("brief.wants", "It says that they want a call, threaten to leave, or escalate.", states_wants)
BY_WHEN = Fact(
    "brief.by_when",
    "It says by when: 16:00 in London, which is 17:00 in Bergen, and no other time.",
    states_deadline,
)
TOM_NAMED = Fact("note.tom", "It names Tom Becker, and no other colleague.", names_tom)
CALL = Fact("note.call", "It says that he will call, and not after 17:00 in Bergen.", states_call)


def _mail(truth: Truth) -> Fact:
    if truth.thread == INCIDENT_THREAD and truth.kind != "action":
        return Fact(
            f"stage.{truth.name}",
            f"It reports the state of incident INC-2291 by this mail: {truth.why}.",
            partial(states_stage, truth=truth),
        )
    asked = "from whom, what" if not truth.due else "from whom, what, and by when (no other deadline)"
    return Fact(
        f"mail.{truth.name}", f"It reports this mail, {asked}: {_words(truth)}.", partial(reports_time, truth=truth)
    )


def _topic(truth: Truth) -> Fact:
    """The same without the time."""
    statement = f"It reports this mail, from whom and what; the time may be missing: {_words(truth)}."
    return Fact(f"topic.{truth.name}", statement, partial(reports, truth=truth))


def _words(truth: Truth) -> str:
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
"""What ``paraphrases/`` has to hold the patterns of; topics are parts of these."""
