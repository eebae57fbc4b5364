"""What parsers give back."""

from typing import Literal

TestStatus = Literal["passed", "failed"]


class UnparsableError(ValueError):
    """The output of the tests can't be read; the message is a sentence."""
