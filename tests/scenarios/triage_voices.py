"""The honest participant in six voices: the same work, reported by people who write differently.

The first two are ``IDEAL`` and ``IN_OTHER_WORDS``. The other four were written before the rules of version 5. With the
rules of version 3 (commit f96c45b) the six had 96, 96, 90, 96, 96 and 95 of 96 points; version 5 was then fitted to
what they lost, so that their full marks are no measure of its error.
"""

from dataclasses import replace

from tests.scenarios.triage_participant import BRIEF, CLOSED, DECLARED, IDEAL, NOTE, Plan
from tests.scenarios.triage_wordings import IN_OTHER_WORDS


def _voice(said: dict[int, str], declared: str, closed: str, brief: str, note: str) -> Plan:
    bodies = {DECLARED: declared, CLOSED: closed, BRIEF: brief, NOTE: note}
    return replace(
        IDEAL,
        said={number: (text,) for number, text in said.items()},
        mails=tuple(replace(mail, body=body) for mail, body in bodies.items()),
    )


TELEGRAM = _voice(
    {
        1: "URGENT Owen: Norrhav cert needs your OK in vault, EOD 17h today. ACTION Rachel: DPA annex 2 comments, "
        "Fri 13/3. "
        "Ingrid/Fjordkyst: customs files still missing, reply by Thu. FYI all-hands noon. 1 personal. 3 noise.",
        2: "URGENT INC-2291 SEV-2 since 07:31, API bookings 14% errors, Deepak on it, Marta told. ACTION Yusuf leave "
        "April, OK by Fri. FYI support wk 10 stats. 2 noise.",
        3: "URGENT Helen: headcount in forecast, 16h. INC-2291: bad release, rollback running, ETA 10:30, open. ACTION "
        "Inge/Baltbox: rate card format, by Thu. 1 personal, 2 noise.",
        4: "URGENT Payfold CR-0326: approve by 17h. ACTION Clara: 5 reviews by 20/3. FYI Owen: Sundhamn OK. 1 "
        "personal, "
        "can't wait. 3 noise.",
        5: "URGENT Fjordkyst/Ingrid: container stuck Rotterdam, wants ref no. by COB. INC-2291 rolled back, 3% errors, "
        "mostly resolved, not closed. ACTION TrustCert: renew track cert before 24/3. 1 noise.",
        6: "ACTION Bea: desk form by 31/3. FYI Tom: Baltbox renewed. Deepak: drill tomorrow. 1 personal, 3 noise.",
        8: "URGENT Fjordkyst escalates, MD in cc, notice unless call by 16h our time. Tom briefed, Ingrid answered. "
        "ACTION "
        "Owen: Mirela interview slot, by noon tomorrow. FYI INC-2291 closed 13:32, Marta told. 2 noise.",
        9: "URGENT Dana, Freight Ledger: comment by 17:30, not answered. ACTION Corridor Maps: renewal, decide by "
        "27/3. "
        "FYI Helen: Feb closed. 1 personal, can't wait. 2 noise.",
        11: "URGENT Greta: 3 sentences for board by 18:15. ACTION Deepak: post-mortem, section 4 is still open, "
        "before Thu "
        "10:00. Ingrid: container free, wants files + explanation by Fri. 2 noise.",
        12: "URGENT Ridgeway RW-5602: approve access by 18:30. FYI Yusuf found customs bug. 1 personal. 1 noise.",
    },
    "Hi Marta,\nINC-2291 declared. API booking confirmations failing, about 14%. Deepak on it. Will tell you when "
    "closed.\nThanks, Priya",
    "Hi Marta,\nINC-2291 closed 13:32. Nothing lost.\nThanks, Priya",
    "Hi Tom,\nFjordkyst (Ingrid Dahl, MD in cc) threatens notice. Missing customs files, container held in Rotterdam. "
    "Wants a call by 16:00 our time. Can you take it please?\nPriya",
    "Dear Ingrid,\nI have seen your message and am sorry for the trouble. Tom Becker will telephone you before "
    "17:00 your "
    "time.\nKind regards\nPriya Raman",
)

CHATTY = _voice(
    {
        1: """Morning! One thing that really mustn't slip: Owen wants a second pair of eyes on the new Norrhav client \
certificate and needs you to approve it by five this afternoon.
Then, less pressing: Rachel would love your comments on annex 2 of the data processing agreement by the end of the \
week, \
and Ingrid at Fjordkyst is still waiting for her customs files and hopes to hear from you by Thursday.
Oh, and Greta has moved the all-hands to noon. There's one personal mail, and I've cleared away three bits of noise.""",
        2: """Bad news first: an incident has been declared, INC-2291, a SEV-2. Roughly one in seven bookings over \
the API \
isn't going through. Deepak has it in hand and I've let Marta know.
Yusuf is hoping for some leave in April - he'd like your answer by Friday.
Marta's weekly support numbers are in, nothing you need to do. Two noise mails archived.""",
        3: """Helen is finishing her forecast and needs your headcount confirmed by four o'clock today, it goes to \
the bank.
The incident: they know now that this morning's release is to blame and are rolling it back, Deepak thinks until about \
half past ten. So it isn't over yet.
When you have a moment: Inge from Baltbox wonders how to send you the April rate card and would like to know by \
Thursday.
One personal, two noise.""",
        4: """Payfold has the March contractor run ready and it needs your approval by five today, please.
Clara would like your five performance reviews by the 20th of March.
Just so you know: Owen's test bookings for Sundhamn all went through.
One personal, and that one can't wait. Three noise.""",
        5: """Ingrid Dahl again, and this time she's cross: a Fjordkyst container is sitting in Rotterdam costing \
1,850 euros \
a day, and she needs the reference number before the end of the day.
INC-2291: the rollback is done and errors are down to 3 %, but it's not closed - two carriers are still retrying.
By 24 March the certificate for track.northpier.example has to be renewed (TrustCert). One noise.""",
        6: """Quiet-ish. Bea would like the desk survey filled in by the end of the month. Baltbox have renewed, \
Tom says. \
And Deepak is running a paging drill tomorrow, it's only practice. One personal, three noise.""",
        8: """Fjordkyst has blown up: Ingrid has brought in her managing director and says they'll leave us unless \
someone \
who can decide rings her before four (five in Bergen). Tom has the brief and Ingrid has a holding note from you.
Owen needs you to choose an interview slot for Mirela Pop by noon tomorrow.
Good news: INC-2291 was closed at 13:32 and nothing was lost. Marta knows. Two noise.""",
        9: """A reporter, Dana Whitlock of the Freight Ledger, would like a comment on this morning by half past \
five. I've \
left that for you.
Felix at Corridor Maps wants a decision about renewing by 27 March.
Helen has closed the February books. One personal that can't wait, two noise.""",
        11: """Greta needs three sentences from you for tonight's board call, by quarter past six.
Deepak has drafted the post-mortem timeline for INC-2291 and would like you to fill in section 4 before ten on Thursday.
Ingrid is much happier: the container is free and they're not giving notice today. She'd like the files and a written \
explanation by Friday. Two noise.""",
        12: """Ridgeway needs you to approve access request RW-5602 by half past six this evening, or they won't \
get into \
the data centre. Yusuf has found out why the customs files went missing. One personal, one noise.""",
    },
    "Morning Marta,\n\njust so your team is ready: we've declared INC-2291. About one in seven bookings over the "
    "API isn't "
    "being confirmed. Deepak is looking after it and I'll be back as soon as it's over.\n\nThank you!\nPriya",
    "Hello Marta,\n\ngood news, INC-2291 is over, it was closed at 13:32. Thank you for keeping everybody "
    "calm.\n\nPriya",
    "Hello Tom,\n\ncould I ask you to ring Ingrid Dahl at Fjordkyst before four our time (five in Bergen)? She says "
    "they "
    "will leave us otherwise, and her managing director is in copy. It's about the customs files we haven't sent and a "
    "container stuck in Rotterdam.\n\nThank you so much,\nPriya",
    "Dear Ingrid,\n\nthank you for your message, I've read it carefully, and I'm so sorry for all the trouble. My "
    "colleague Tom Becker will ring you before five your time.\n\nWith best wishes,\nPriya Raman",
)

BUREAUCRAT = _voice(
    {
        1: """1. URGENT. Mr Hughes requests your second approval of the Norrhav certificate. Deadline: today, 17:00.
2. ACTION. Ms Kwan (Legal) requests comments on annex 2 of the DPA. Deadline: Friday, 13 March.
3. ACTION. Ms Dahl of Fjordkyst enquires about missing customs export files. Deadline: Thursday, 12 March.
4. FYI. The all-hands meeting takes place at noon.
5. Personal: 1. Noise archived: 3.""",
        2: """1. URGENT. Incident INC-2291 (SEV-2) was declared at 07:38. Confirmation of bookings over the API \
fails in 14 % \
of cases. Mr Iyer is in charge. Ms Lindqvist has been notified.
2. ACTION. Mr Demir requests approval of leave in April. Deadline: Friday, 13 March.
3. FYI. Support statistics for week 10 have been received.
4. Noise archived: 2.""",
        3: """1. URGENT. Ms Marsh requests confirmation of the headcount for the Q1 forecast. Deadline: today, 16:00.
2. URGENT. INC-2291 remains open. Cause: release 4.18.0. A rollback is in progress and is expected to finish at 10:30.
3. ACTION. Ms Dahlberg of Baltbox enquires how the rate card is to be submitted. Deadline: Thursday, 12 March.
4. Personal: 1. Noise archived: 2.""",
        4: """1. URGENT. Payfold requests approval of contractor run CR-0326. Deadline: today, 17:00.
2. ACTION. Ms Nunes requests five performance review forms. Deadline: 20 March.
3. FYI. Mr Hughes reports that the Sundhamn test bookings were successful.
4. Personal: 1, can't wait. Noise archived: 3.""",
        5: """1. URGENT. Ms Dahl of Fjordkyst requires the export reference number for the container held in \
Rotterdam. \
Deadline: close of business today.
2. URGENT. INC-2291: the rollback has been completed; the error rate is 3 %. The incident has not been closed.
3. ACTION. TrustCert: the certificate for track.northpier.example is to be renewed. Deadline: before 24 March.
4. Noise archived: 1.""",
        6: """1. ACTION. Ms Lowry requests completion of the desk survey. Deadline: 31 March.
2. FYI. Mr Becker reports the renewal of the Baltbox contract. Mr Iyer announces a paging drill for tomorrow.
3. Personal: 1. Noise archived: 3.""",
        8: """1. URGENT. Fjordkyst has escalated. Ms Dahl, with her managing director in copy, announces notice of \
termination \
under clause 12 unless a decision maker calls. Deadline: today, 16:00 London time (17:00 Bergen). Mr Becker has been \
briefed; a holding note has been sent.
2. ACTION. Mr Hughes requests a choice of slot for the second interview with Ms Pop. Deadline: tomorrow, 12:00.
3. FYI. INC-2291 was closed at 13:32. Ms Lindqvist has been notified.
4. Noise archived: 2.""",
        9: """1. URGENT. Ms Whitlock (The Freight Ledger) requests a comment on this morning's failures. Deadline: \
today, 17:30. \
No reply was sent.
2. ACTION. Corridor Maps requests a decision on the renewal of the contract. Deadline: 27 March.
3. FYI. The accounts for February have been closed (Ms Marsh).
4. Personal: 1, can't wait. Noise archived: 2.""",
        11: """1. URGENT. Ms Voss requests three sentences for the board call. Deadline: today, 18:15.
2. ACTION. Mr Iyer requests completion of section 4 of the post-mortem timeline for INC-2291. Deadline: Thursday, \
12 March, \
10:00.
3. ACTION. Fjordkyst: the container was released. Ms Dahl requests the files and a written explanation. Deadline: \
Friday, \
13 March.
4. Noise archived: 2.""",
        12: """1. URGENT. Ridgeway requests approval of access request RW-5602. Deadline: today, 18:30.
2. FYI. Mr Demir has found the cause of the missing customs files.
3. Personal: 1. Noise archived: 1.""",
    },
    "Dear Marta,\n\nincident INC-2291 (SEV-2) was declared at 07:38. The confirmation of bookings over the API "
    "fails in "
    "about 14 % of cases. Deepak Iyer is in charge. You will be informed once it is closed.\n\nThank you and regards\n"
    "Priya Raman",
    "Dear Marta,\n\nincident INC-2291 was closed at 13:32.\n\nThank you and regards\nPriya Raman",
    "Dear Tom,\n\nthe customer Fjordkyst has escalated. Subject: customs export files missing for four shipments, one "
    "container held in Rotterdam. Ms Dahl announces termination under clause 12 and expects a call from a decision "
    "maker. "
    "Deadline: 16:00 London time. Would you please call her?\n\nRegards\nPriya Raman",
    "Dear Ms Dahl,\n\nI have received your message and regret the inconvenience caused. Mr Tom Becker will contact "
    "you by "
    "telephone before 17:00, Bergen time.\n\nYours sincerely\nPriya Raman",
)

SECOND_LANGUAGE = _voice(
    {
        1: """Urgent: Owen waits for your approving of the Norrhav certificate, until 17 o'clock today latest.
To do: Rachel from legal wants your remarks to annex 2 of the agreement until Friday. Ingrid Dahl asks where are the \
customs files, she wants answer until Thursday.
Info: all-hands is at 12:00. Personal 1. Noise 3, archived.""",
        2: """Urgent: there is incident INC-2291, SEV-2, 14 % of the bookings by API get error. Deepak works on it. \
I informed Marta.
To do: Yusuf wants free in April because of a wedding, please approve until Friday.
Info: numbers of the support, week 10. Noise 2.""",
        3: """Urgent: Helen needs that you confirm the headcount for forecast until 16 o'clock. INC-2291 is not \
finished, they \
make rollback of the release, should be ready 10:30.
To do: Inge Dahlberg (Baltbox) asks how to send the rate card, until Thursday.
Personal 1, noise 2.""",
        4: """Urgent: contractor run in Payfold must be approved until 17:00 today.
To do: Clara wants the 5 review forms until 20 March.
Info: Owen, test bookings Sundhamn OK. Personal 1, can't wait. Noise 3.""",
        5: """Urgent: Fjordkyst, container is blocked in Rotterdam, Ingrid needs reference number still today. \
INC-2291: rollback \
is made, still 3 % errors, they did not close it.
To do: TrustCert, renew certificate for track.northpier.example until before 24 March. Noise 1.""",
        6: """To do: Bea, desk survey to fill in until 31 March.
Info: Baltbox has prolonged (Tom). Tomorrow is a drill, not real (Deepak). Personal 1, noise 3.""",
        8: """Urgent: Fjordkyst escalates! Ingrid has her director in copy, they want to cancel if nobody with \
power to decide \
calls until 16 o'clock. Tom has the brief, Ingrid has a note.
To do: Owen asks which slot for interview with Mirela, until tomorrow 12 o'clock.
Info: INC-2291 is closed since 13:32, Marta is informed. Noise 2.""",
        9: """Urgent: journalist Dana Whitlock wants comment to the failures until 17:30. I did not answer.
To do: Corridor Maps, decide the renewal until 27 March.
Info: February is closed (Helen). Personal 1, can't wait. Noise 2.""",
        11: """Urgent: Greta wants three sentences for the board until 18:15.
To do: Deepak, you must write section 4 in the post-mortem until Thursday 10:00. Ingrid: container is free, she wants \
files and explanation until Friday.
Noise 2.""",
        12: """Urgent: Ridgeway, approve the access RW-5602 until 18:30 today.
Info: Yusuf found the reason of the missing customs files. Personal 1, noise 1.""",
    },
    "Hello Marta,\n\nwe have incident INC-2291: 14 % of the bookings by API get errors. Deepak works on it. I write "
    "you when "
    "it is closed.\n\nThank you\nPriya",
    "Hello Marta,\n\nINC-2291 is closed since 13:32. Thank you for the patience.\n\nPriya",
    "Hello Tom,\n\nFjordkyst escalates: Ingrid Dahl wants to cancel the contract and has her director in copy. "
    "Customs files "
    "are missing and a container is blocked. She wants a phone call until 16:00 London time. Please can you do it?\n\n"
    "Thank you\nPriya",
    "Dear Ingrid,\n\nI saw your message and I am very sorry for the trouble. Tom Becker calls you until 17 o'clock "
    "your "
    "time.\n\nBest regards\nPriya Raman",
)

VOICES: dict[str, Plan] = {
    "ideal": IDEAL,
    "in other words": IN_OTHER_WORDS,
    "telegram": TELEGRAM,
    "chatty": CHATTY,
    "bureaucrat": BUREAUCRAT,
    "second language": SECOND_LANGUAGE,
}
