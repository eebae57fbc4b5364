"""Collect receipts that fit some conditions, and tell a person their sum and their numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from proctor.scenarios.kit.making.attachments import FORMS
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import Act, Duty, forgotten, message_check, to_write_to
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.making.records import Fact, Record
from proctor.scenarios.kit.making.texts import mail_saying, service, shown
from proctor.scenarios.kit.making.wording import show
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

_CENTS = {
    "Taxi": (900, 6_500),
    "Rail": (2_200, 17_000),
    "Hotel": (7_000, 24_000),
    "Bistro": (1_100, 7_500),
    "Parking": (400, 3_600),
    "Stationery": (600, 9_000),
}
"""Kinds of receipts, each with its range of amounts."""

CATEGORIES = tuple(_CENTS)
"""The words in merchants' names by which receipts are recognised."""


@dataclass(frozen=True)
class Receipt:
    """A receipt.

    Attributes:
        number: the merchant's number for it.
        merchant: the merchant's name, which contains the category.
        cents: the amount.
        day: when it was paid.
        counts: whether it fits all conditions.
        why: the condition that it misses.
        is_refunded: a later mail says that the amount was paid back.
        form: the extension of the attached file with the receipt; empty if a mail's text has it.
    """

    number: str
    merchant: str
    category: str
    cents: int
    day: date
    counts: bool = True
    why: str = ""
    is_refunded: bool = False
    form: str = ""


def draw_receipt(
    day: Day,
    name: str,
    category: str,
    paid: date,
    *,
    why: str = "",
    is_refunded: bool = False,
    attached: float = 0.0,
) -> Receipt:
    """A receipt with a drawn number, merchant and amount; ``why`` says why it does not count.

    ``attached`` is the probability that it comes as a file (PDF, PNG, CSV or ICS), not in a mail's text.
    """
    draws = day.draws.of("receipt", name)
    place = draws.pick(_SAY["places"], "place")
    merchant = f"Hotel {place}" if category == "Hotel" else f"{place} {category}"
    letters = "ABCDEFGHKLMNPRSTUVWX"
    number = f"{draws.pick(letters, 'a')}{draws.pick(letters, 'b')}{draws.between(10_000, 99_999, 'n')}"
    cents = draws.between(*_CENTS[category], "cents")
    form = draws.pick(sorted(FORMS), "form") if draws.chance(attached, "attached") else ""
    return Receipt(number, merchant, category, cents, paid, not why, why, is_refunded, form)


def add_up(
    day: Day,
    key: str,
    *,
    reader: Person,
    kind: str,
    month: tuple[date, date],
    receipts: Sequence[Receipt],
    until: datetime,
) -> Duty:
    """The user wants a person to know the sum and the numbers of some receipts.

    Args:
        reader: the person who gets them.
        kind: the category that counts.
        month: the first and the last day that count.
        receipts: those that count and those that miss one condition.
        until: the latest time for the message.
    """
    what = "{} receipts from {} to {}".format(kind, *(f"{each.day} {each:%B}" for each in month))
    records = [record for receipt in receipts for record in _records(day, receipt)]
    right = [receipt for receipt in receipts if receipt.counts]
    wrong = [receipt for receipt in receipts if not receipt.counts]
    total = sum(receipt.cents for receipt in right)
    sums = [total + receipt.cents for receipt in wrong] + [total - receipt.cents for receipt in right if len(right) > 1]
    total_id, list_id = f"{key}.total", f"{key}.numbers"
    false_sums = dict.fromkeys(cents for cents in sums if cents != total)
    sentence = f"{reader.name} has the sum by {until:%H:%M}"
    numbers = f"{reader.name} has the numbers of just these receipts"
    times, checks = (day.start, until), (total_id, list_id)
    act = Act(f"{key}.1", "tell", *times, checks, reader, _values(right), "the expenses")
    others = {receipt.why: receipt for receipt in wrong}
    lapses = [
        forgotten(act),
        act.wrong_person(day.stranger),
        act.wrong_value(*_values(right[1:] or wrong[:1]), name="one receipt missing"),
        *act.too_late(day.starts, until),
        *(act.wrong_value(*_values([*right, other]), name=f"counts what is {why}") for why, other in others.items()),
    ]
    duty = Duty(
        key=key,
        title=f"Tell {reader.name} the sum and the numbers of the {what}",
        dimension="accuracy",
        brief=f"Tell {reader.name} by {until:%H:%M} the sum of my {what} and the numbers of these receipts. "
        "What was paid back does not count.",
        checks=[
            message_check(total_id, 6, sentence, reader, [_amount(total)], map(_amount, false_sums), before=until),
            message_check(list_id, 4, numbers, reader, map(_code, right), map(_code, wrong), before=until),
        ],
        explains=to_write_to(reader, about=records),
        acts=[act],
        solve=lambda facts: frozenset({_solve(facts, kind, month)} - {""}),
        answers=frozenset({f"{total}/{'/'.join(sorted(receipt.number for receipt in right))}"}),
        records=records,
        lapses=lapses,
        points=[("forgotten", "wrong person"), ("one receipt missing",), *Duty.each_named(lapses, "counts")],
        people=(reader,),
        knows={reader.key: f"You wait for the sum of {day.user.first}'s expenses."},
    )
    return day.add(duty)


def _values(receipts: Sequence[Receipt]) -> tuple[Value, ...]:
    return (_amount(sum(receipt.cents for receipt in receipts)), *map(_code, receipts))


def _solve(facts: Iterable[Fact], category: str, month: tuple[date, date]) -> str:
    facts = list(facts)
    refunded = {fact.about for fact in facts if fact.kind == "refund"}
    found: dict[str, int] = {}
    for fact in facts:
        if fact.kind == "receipt" and fact.about not in refunded:
            cents, kind, paid = fact.value.split("/")
            if kind == category and month[0] <= date.fromisoformat(paid) <= month[1]:
                found[fact.about] = int(cents)
    return f"{sum(found.values())}/{'/'.join(sorted(found))}" if found else ""


def _records(day: Day, receipt: Receipt) -> list[Record]:
    name, author = f"receipt-{receipt.number}", service(receipt.merchant)
    paid = datetime.combine(receipt.day, day.start.timetz()) + timedelta(minutes=day.draws.between(5, 600, name))
    sent = min(paid, day.start - timedelta(minutes=5))
    fact = Fact("receipt", receipt.number, f"{receipt.cents}/{receipt.category}/{receipt.day.isoformat()}")
    mail = (
        _attached(day, name, sent, author, receipt)
        if receipt.form
        else _write_receipt(day, name, sent, author, receipt)
    )
    mail = mail.with_facts(fact)
    if not receipt.is_refunded:
        return [mail]
    at = min(sent + timedelta(days=2), day.start - timedelta(minutes=2))
    amount = shown(day, f"{name}-back", author, _amount(receipt.cents))
    slots = {"number": receipt.number, "amount": amount, "merchant": receipt.merchant}
    body = day.draws.pick(_SAY["refunds"], name, "refund")
    fact = Fact("refund", receipt.number, str(receipt.cents))
    return [mail, day.letter(f"{name}-back", at, author, "Refund for {number}", body, slots, fact)]


def _attached(day: Day, name: str, sent: datetime, author: Person, receipt: Receipt) -> Record:
    """A mail without details of its receipt, which is only in the attached file."""
    draws = day.draws.of("attached", name)
    rows = {
        "Receipt": receipt.number,
        "Paid to": receipt.merchant,
        "Date": receipt.day.isoformat(),
        "Total": f"{receipt.cents // 100}.{receipt.cents % 100:02} EUR",
    }
    word = draws.pick(("receipt", "payment", "document", "invoice"), "name")
    number, title = draws.between(100, 999, "number"), f"{receipt.merchant} {word}"
    file = FORMS[receipt.form](f"{word}-{number}", title, rows, receipt.day)
    slots = {"merchant": receipt.merchant, "file": file.name}
    return day.letter(name, sent, author, "{merchant}: {file}", draws.pick(_SAY["covers"], "cover"), slots).with_files(
        file
    )


def _write_receipt(day: Day, name: str, sent: datetime, author: Person, receipt: Receipt) -> Record:
    slots = {"merchant": receipt.merchant, "number": receipt.number}
    slots["amount"] = shown(day, name, author, _amount(receipt.cents))
    slots["date"] = show(Value("day", receipt.day.isoformat()), 4)
    return mail_saying(day, name, sent, author, "send_receipt", **slots)


def _amount(cents: int) -> Value:
    return Value("amount", str(cents))


def _code(receipt: Receipt) -> Value:
    return Value("code", receipt.number)
