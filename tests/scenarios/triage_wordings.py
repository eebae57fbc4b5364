"""The ideal participant once more, by somebody who writes differently: prose, tables, other notations of times."""

from dataclasses import replace

from tests.scenarios.triage_participant import BRIEF, CLOSED, DECLARED, IDEAL, NOTE

_SAID = {
    1: """Good morning, Priya. Most pressing: Owen is waiting for you to approve Norrhav's new certificate in the \
vault (no. 7714) - he has to have it by 5 pm, otherwise their bookings stop at midnight. Later this week: Fjordkyst \
(Ingrid) is asking again about the customs exports and would like to hear back by Thu 12 Mar; Legal would like your \
remarks on the Norrhav DPA (annex 2) by the 13th of March. FYI the all-hands moves to midday. Also 1 personal mail. \
I archived 3 noise mails.""",
    2: """**Urgent**
* SEV-2: the booking API has been failing since 7:31 (INC-2291, 14% errors). On-call: Deepak Iyer. Support has been \
informed.

**Action**
* Yusuf Demir would like 7-17 April off and needs your OK by 13 March

**FYI**
* weekly support figures are in

Noise: 2""",
    3: """### Urgent
**Helen Marsh (CFO)**
  - Wants: a yes or no on your row of the Q1 forecast, 34 heads and 2 openings
  - By: 4pm today
**Outage, update**
  - Cause: this morning's release
  - Status: Deepak is rolling back region by region and hopes to be done by 10:30; not resolved yet
### Action
**Baltbox**
  - Wants: to know how to deliver the new rate card
  - By: Thursday

Private: 1 | Noise: 2""",
    4: """| | Who | What | By |
|---|---|---|---|
| URGENT | Payroll (Payfold) | approve the March contractor run, £41,280 | 17:00 |
| ACTION | HR (Clara) | 5 review forms | Fri 20/3 |
| FYI | Owen | Sundhamn tests OK | - |

1 personal - can't wait. 3 x noise.""",
    5: """1. URGENT: Fjordkyst again, now angry. Salmon container stuck at Rotterdam at EUR 1850/day. Ingrid wants \
the reference number today (COB).
2. URGENT: incident 2291 - INC-2291 rollback is done, errors at 3%, carriers are still retrying, so it stays open \
for now.
3. ACTION: the SSL certificate of track.northpier.example has to be renewed by 24/03 (TrustCert).
Noise: 1""",
    6: """Action: Bea wants the desk form filled in by end of March. Fyi: Tom reports that Baltbox renewed; there is \
a paging drill tomorrow (drill only, no incident). Personal: 1. Noise: 3.""",
    8: """URGENT - Ingrid Dahl has escalated: with her MD in cc she threatens to terminate (clause 12) unless a \
decision maker phones her by 4 pm our time. Tom is briefed, Ingrid has a holding reply.
ACTION - Owen needs you to pick an interview slot for Mirela (16 March at 10 or 17 March at 2 pm) before tomorrow \
noon.
FYI - Good news on the booking API: the incident was resolved at 13:32, nothing lost. Support is informed.
Noise 2""",
    9: """URGENT - a journalist (The Freight Ledger) asks for a comment on the failures this morning, deadline half \
past five. I did not reply.
ACTION - Corridor Maps wants a decision on the contract renewal by Fri 27 Mar.
FYI - Finance: February books closed.
1 personal, cannot wait. 2 noise.""",
    11: """URGENT
The CEO needs a short statement for the board by 6:15 pm (call at 6:30).
ACTION
Post-mortem of INC-2291 (now closed): Deepak asks for your part, section 4, before Thursday's meeting at 10.
Fjordkyst calmer: container freed, no notice today. They still want the export files plus an explanation by 13 March.
2 noise""",
    12: """URGENT: Ridgeway needs your approval of the data centre visit (RW-5602) by 6.30 pm. FYI: Yusuf has found \
the customs bug, the fix goes live tomorrow. Personal 1, noise 1.""",
}

IN_OTHER_WORDS = replace(
    IDEAL,
    labels={name: label.upper() for name, label in IDEAL.labels.items()},
    said={number: (text,) for number, text in _SAID.items()},
    mails=(
        replace(
            DECLARED,
            subject="Heads-up: SEV-2 on the booking API",
            body="Marta, good morning - SEV-2 INC-2291 is on: booking confirmations via the API are failing (about \
one in seven). "
            "Deepak Iyer is on call and working on it. I'll confirm once it's resolved. Thank you!\n\nBest, Priya",
        ),
        replace(
            CLOSED,
            subject="Re: Heads-up: SEV-2 on the booking API",
            body="Marta, all clear: INC-2291 has been resolved (13:32). Thanks for your patience.\n\n-- \nPriya \
Raman",
        ),
        replace(
            BRIEF,
            subject="Fwd: Customs export files missing for three shipments",
            body="Tom, please phone Fjordkyst (Ingrid Dahl) by 4pm London / 5pm CET. She's ready to terminate and \
has pulled in her MD. "
            "Topic: missing customs files, and a container stuck in Rotterdam.\n\nPriya",
        ),
        replace(
            NOTE,
            subject="Your message",
            body="Good afternoon Ms Dahl,\n\nThank you for your message, which I have seen. I apologise for the \
difficulties you "
            "have had. Tom Becker will ring you before 5 pm your time.\n\nWith kind regards,\nPriya Raman\nNorthpier",
        ),
    ),
)
