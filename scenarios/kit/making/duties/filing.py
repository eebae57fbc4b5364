"""Label or file the mails that fit a rule, and no others."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from proctor.scenarios.kit.checks import Check, MailCheck, Write
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.duty import Act, Duty, Solver, besides, forgotten
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.records import Fact, Record
from proctor.scenarios.kit.making.texts import mail_saying, shown
from proctor.scenarios.kit.making.vendors import vendor
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)


def file_mails(
    day: Day,
    key: str,
    *,
    rule: str,
    label: str | None,
    fitting: Sequence[Record],
    nearly: Sequence[Record],
    solve: Solver,
    more: Sequence[Record] = (),
) -> Duty:
    """The user wants the mails that fit a rule to be labelled, or archived.

    Args:
        rule: the request, as a sentence of the brief.
        label: the label; None to archive them.
        fitting: the mails that fit; they are filed in the last turn.
        nearly: at least one mail that misses a condition.
        solve: the solver, which finds the ids of the fitting mails.
        more: further records with facts that the solver needs.
    """
    what = f"labelled {label}" if label else "archived"
    labels = (label,) if label else ()
    filed = partial(MailCheck, labels=labels, folders=("inbox", "archive") if label else ("archive",))
    left = partial(MailCheck, gated=True, no_labels=labels, folders=None if label else ("inbox",))
    checks: list[Check] = []
    for place, record in enumerate(fitting, start=1):
        sentence = f"{record.title!r} is {what}"
        checks.append(filed(id=f"{key}.{place}", points=1, sentence=sentence, message_id=record.id))
    first, *also = (record.id for record in fitting)
    sentence = f"each mail that fits is {what}"
    checks.append(filed(id=f"{key}.all", points=4, sentence=sentence, message_id=first, also=tuple(also)))
    first, *also = (record.id for record in nearly)
    sentence = f"no mail that misses a condition is {what}"
    checks.append(left(id=f"{key}.no-other", points=4, sentence=sentence, message_id=first, also=tuple(also)))

    def filing(place: int, record: Record, *lost: str) -> Act:
        fields = {"message_ids": [record.id], **({"labels": [label]} if label else {})}
        action, last = "email.label" if label else "email.archive", day.starts[-1]
        return Act(f"{key}.{place}", action, max(record.at, last), last, lost, fields=fields)

    acts = [filing(place, record, f"{key}.{place}", f"{key}.all") for place, record in enumerate(fitting, start=1)]
    wrong = [filing(place, record) for place, record in enumerate(nearly, start=101)]
    overlooked = [act.instead(name=f"mail {n} overlooked") for n, act in enumerate(acts, start=1) if len(acts) > 1]
    lapses = [
        forgotten(*acts),
        *overlooked,
        *(
            besides(act, loses=[f"{key}.no-other"], name=f"also mail {n} that nearly fits")
            for n, act in enumerate(wrong, start=1)
        ),
    ]
    duty = Duty(
        key=key,
        title=rule,
        dimension="instruction_following",
        brief=rule,
        checks=checks,
        explains=[
            Write(actions=("email.label", "email.archive", "email.move"), ids=tuple(r.id for r in (*fitting, *nearly)))
        ],
        acts=acts,
        solve=solve,
        answers=frozenset(record.id for record in fitting),
        records=[*fitting, *nearly, *more],
        lapses=lapses,
        points=[("forgotten",), *Duty.each_named(lapses, "also"), *((lapse.name,) for lapse in overlooked)],
    )
    return day.add(duty)


def label_unpaid(day: Day, key: str, number: int, *, last: datetime) -> Duty:
    """Add the rule that a firm's invoices above an amount get a label, unless they were withdrawn or lowered.

    Args:
        number: the rule's number in the day, from 0.
        last: when the last invoice comes, at the latest.
    """
    draws = day.draws.of(key)
    firm, other = vendor(day, f"{key}-firm"), vendor(day, f"{key}-other")
    limit = draws.pick((400, 500, 600, 750, 800), "limit") * 100
    label = day.draws.shuffled(_SAY["labels"], "labels")[number]
    count = draws.between(2, 3, "fitting")
    above = [("above", firm, _cents(draws, n, limit, high=True)) for n in range(count)]
    nearly = [
        (why, other if why == "other" else firm, _cents(draws, why, limit, high=why != "below"))
        for why in ("below", "other", "withdrawn", "lowered")[: day.difficulty]
    ]
    records, later = list[Record](), list[Record]()
    span = round((last - day.start).total_seconds() / 60)
    for place, (why, author, cents) in enumerate([*above, *nearly]):
        name = f"{key}-invoice-{place}"
        is_later = draws.chance(0.4, place, "later") and why not in _CHANGED
        at = day.start + timedelta(minutes=draws.between(3, span, place)) if is_later else day.ago(name, days=(1, 5))
        code = f"{draws.pick('ABCDEFGHKLMNPRSTUVWX', place)}-{draws.between(10_000, 99_999, place, 'code')}"
        due = at + timedelta(days=14)
        slots = {
            "vendor": author.organisation,
            "amount": shown(day, name, author, Value("amount", str(cents))),
            "number": code,
            "due": f"{due.day} {due:%B}",
            "account": f"GB{draws.between(10**9, 10**10 - 1, place, 'account')}",
        }
        record = mail_saying(day, name, at, author, "send_invoice", **slots)
        facts = Fact("invoice", record.id, f"{cents}/{author.email}"), Fact("code", code, code)
        records.append(record.with_facts(*facts))
        if why in _CHANGED:
            later.append(_change(day, key, name, why, records[-1], code, limit))
    return file_mails(
        day,
        key,
        rule=_SAY["rule"][0].format(label=label, firm=firm.organisation, email=firm.email, euros=limit // 100),
        label=label,
        fitting=records[: len(above)],
        nearly=records[len(above) :],
        solve=lambda facts: _unpaid(facts, firm.email, limit),
        more=later,
    )


def _change(day: Day, key: str, name: str, why: str, invoice: Record, code: str, limit: int) -> Record:
    """The mail by which a firm withdraws its invoice, or lowers it below the limit."""
    draws, author = day.draws.of(key), invoice.author
    lower = _cents(draws, "lowered to", limit, high=False)
    amount = shown(day, f"{name}-lower", author, Value("amount", str(lower)))
    bodies, titles, hours = _CHANGED[why]
    body, title = draws.pick(bodies, why, "words"), draws.pick(titles, why, "title")
    at, fact = (
        invoice.at + timedelta(hours=hours),
        Fact(why, invoice.id, code if why == "withdrawn" else f"{lower}/{code}"),
    )
    slots = {"code": code, "firm": author.organisation, "amount": amount}
    return day.letter(f"{name}-{why}", at, author, title, body, slots, fact)


def _cents(draws: Draws, name: object, limit: int, *, high: bool) -> int:
    span = (limit + 1_500, 3 * limit) if high else (limit // 4, limit - 1_500)
    return draws.between(*span, "cents", str(name))


def _unpaid(facts: Sequence[Fact], email: str, limit: int) -> frozenset[str]:
    withdrawn = {fact.about for fact in facts if fact.kind == "withdrawn"}
    lowered = {fact.about: fact.value.partition("/")[0] for fact in facts if fact.kind == "lowered"}
    invoices = [(fact.about, *fact.value.split("/")) for fact in facts if fact.kind == "invoice"]
    return frozenset(
        about
        for about, cents, author in invoices
        if author == email and int(lowered.get(about, cents)) >= limit and about not in withdrawn
    )


_CHANGED = {
    "withdrawn": (_SAY["withdrawn"], ("About {code}", "Withdrawn: {code}", "{code} is void", "Our invoice {code}"), 3),
    "lowered": (_SAY["lowered"], ("Your discount", "Corrected: {code}", "{code} costs less", "On {code}"), 4),
}
"""Firms' later mails on their invoices: texts, subjects, and delays in hours."""
