"""How email_triage_basic's evaluators read what people write: many notations, and claims told from their denials."""

import pytest

from tests.scenarios.triage_participant import facts, texts, truth

DAY = {name: truth.BY_NAME[name] for name in truth.BY_NAME}


@pytest.mark.parametrize(
    "text",
    [
        "INC-2291 closed at 13:32",
        "INC-2291 has been resolved.",
        "The incident is over, nothing was lost",
        "All clear on the booking API",
        "The booking API has been fixed and the incident (open since 07:31) is now closed",
        "incident 2291: back to normal since 13:01",
    ],
)
def test_says_that_it_is_over(text: str) -> None:
    assert texts.states_over(text) is True
    assert not texts.states_open(text)


@pytest.mark.parametrize(
    "text",
    [
        "INC-2291 is not closed yet",
        "INC-2291: rolled back, but it isn't over",
        "I'll confirm once the incident is resolved",
        "INC-2291 expected to be resolved by 10:30",
        "Deepak hopes that INC-2291 will be closed in the early afternoon",
        "please don't tell anybody that the incident is over",
        "INC-2291 unresolved, error rate 3 %",
        "INC-2291 is mostly resolved, not closed",
        "INC-2291 stays open until it has been under 1 % for half an hour, then it can be closed",
    ],
)
def test_does_not_say_that_it_is_over(text: str) -> None:
    assert texts.states_over(text) is not True


@pytest.mark.parametrize(
    "text",
    [
        "INC-2291 is still open",
        "The incident is ongoing",
        "Outage: customers can't confirm bookings",
        "INC-2291 not resolved yet",
        "The booking API is degraded",
    ],
)
def test_says_that_it_goes_on(text: str) -> None:
    assert texts.states_open(text)


@pytest.mark.parametrize(
    "text",
    [
        "Post-mortem of INC-2291 on Thursday at 10:00",
        "Dana asks for a comment on the incident",
        "The Fjordkyst complaint is still open",
        "Deepak: post-mortem of INC-2291, section 4 is still open",
        "The board wants to know what happened in the outage",
    ],
)
def test_speaks_of_it_without_saying_that_it_goes_on(text: str) -> None:
    assert not texts.states_open(text)


@pytest.mark.parametrize("time", ["16:00", "1600", "16h00", "4 pm", "4pm", "4:00 p.m.", "four o'clock", "4.00 PM"])
def test_times_in_many_notations(time: str) -> None:
    assert texts.reports_time(f"Helen needs the headcount for her forecast by {time}.", DAY["helen-forecast"])


@pytest.mark.parametrize("time", ["18:00", "6 pm", "16 %", "tomorrow", "14:00", "4 people"])
def test_other_times_are_not_that_time(time: str) -> None:
    assert not texts.reports_time(f"Helen needs the headcount for her forecast by {time}.", DAY["helen-forecast"])


@pytest.mark.parametrize(
    "day",
    ["Friday", "Fri", "13 March", "March 13th", "13th of March", "2026-03-13", "13/3", "13.03.", "the end of the week"],
)
def test_days_in_many_notations(day: str) -> None:
    assert texts.reports_time(f"Yusuf wants leave in April, approve it by {day}", DAY["yusuf-leave"])


@pytest.mark.parametrize("day", ["Thursday", "12 March", "23 March", "2026-03-23", "next month"])
def test_other_days_are_not_that_day(day: str) -> None:
    assert not texts.reports_time(f"Yusuf wants leave in April, approve it by {day}", DAY["yusuf-leave"])


def test_a_report_may_break_over_three_lines_but_not_over_another_report() -> None:
    leave = DAY["yusuf-leave"]
    assert texts.reports_time("**Yusuf Demir**\n- What: leave in April\n- By when: Friday", leave)
    assert not texts.reports_time("Yusuf: leave\nINC-2291: booking API fails\nby Friday", leave)
    assert not texts.reports("leave in April", leave)


def test_the_incidents_status_may_stand_on_the_next_line() -> None:
    assert texts.states_incident_over("**INC-2291**\nStatus: resolved at 13:32", 8) is True
    assert texts.states_incident_over("INC-2291: 3 % errors\nTrustCert: certificate, case closed", 5) is not True


def test_two_customers_with_like_names_are_told_apart() -> None:
    assert not texts.reports("Inge Dahlberg asks how to send the rate card", DAY["ingrid-1"])
    assert not texts.reports("Ingrid Dahl asks about the customs files", DAY["inge-ratecard"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("owen-certificate", "Owen needs the certificate approved by 5pm; their desk closes at 17:30."),
        ("helen-forecast", "Helen must have the headcount before the bank call at 16:00."),
        ("rachel-dpa", "Rachel: comments on annex 2 by Friday, before the call with Norrhav on Monday."),
        ("yusuf-leave", "Yusuf: leave 7-17 April, answer by Friday please"),
        ("deepak-postmortem", "Deepak: section 4 of the draft by Thursday 10:00, they meet until 11:00."),
        ("ingrid-4", "Ingrid: container free, threat withdrawn; she expects the files by Friday."),
        ("corridor-renewal", "Felix: decide on the renewal by Friday 27... (27 March)"),
        ("ridgeway-access", "Ridgeway: visitors come tomorrow at 05:30, approve their access by 18:30."),
    ],
)
def test_natural_reports_are_complete(name: str, text: str) -> None:
    assert texts.reports_time(text, DAY[name])


def test_two_reports_in_one_sentence_keep_their_own_deadlines() -> None:
    text = "Rachel wants comments on annex 2 by Friday, and Ingrid hopes for an answer on the files by Thursday."
    assert texts.reports_time(text, DAY["rachel-dpa"])
    assert texts.reports_time(text, DAY["ingrid-1"])
    swapped = text.replace("Friday", "X").replace("Thursday", "Friday").replace("X", "Thursday")
    assert not texts.reports_time(swapped, DAY["rachel-dpa"])
    assert not texts.reports_time(swapped, DAY["ingrid-1"])


@pytest.mark.parametrize(
    ("text", "harm"),
    [
        ("You wrote on Thursday, and I am sorry. Tom will call you before 17:00 today.", ""),
        ("I am sorry that you have had no answer since Thursday.", ""),
        ("You will have the files on Thursday.", "a coming day"),
        ("We will pay 1,850 euros.", "an amount"),
        ("It is about INC-2291.", "an internal name or number"),
    ],
)
def test_a_note_shows_harm_by_figures_and_names_only(text: str, harm: str) -> None:
    assert texts.harm_in_note(text) == harm


def test_statements_are_english_for_models() -> None:
    """A model judges by them, so no name of a Python module may be in one."""
    for fact in (*facts.REPORTED.values(), *facts.TOPICS.values()):
        assert fact.statement.startswith("It reports "), fact.statement
