"""Inbox flood: rules with exceptions, and questions among the noise."""

from datetime import timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.answering import answer_price
from proctor.scenarios.kit.making.duties.filing import label_unpaid

_WEIGHT = 2
"""The weight of the rules, which give the family its name; the questions do not."""


def make(day: Day) -> None:
    """Rules of labels for invoices of drawn firms, and prices that are asked for."""
    day.begin(size="M" if day.difficulty == 4 else "S", hours=6)
    for number in range(2):
        label_unpaid(day, f"label-{number + 1}", number, last=day.start + timedelta(hours=3)).weigh(_WEIGHT)
    for number in range((2, 3, 3, 3)[day.difficulty - 1]):
        answer_price(day, f"price-{number + 1}", number)
