"""What parsers give back."""

from typing import Literal

TestStatus = Literal["passed", "failed"]


class UnparsableError(ValueError):
    """What the tests said can't be read; the message is a sentence."""
