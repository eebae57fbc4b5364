"""The doctor's findings on a part of a deployment."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from purple_sdk.processes.environment import BadEnvironmentError
from purple_sdk.protocol.problems import Problem

State = Literal["ok", "warning", "problem", "skipped"]

_LONGEST_REPORT = 500


@dataclass(frozen=True)
class Finding:
    """The result of a check of one part.

    Attributes:
        state: one of four words:

            * ``ok``: the part works
            * ``warning``: the part isn't as it should be
            * ``problem``: assessments can't be played at present
            * ``skipped``: the part couldn't be checked, or isn't needed
    """

    part: str
    state: State
    said: str
    remedy: str = ""
    seconds: float = 0.0


def of_problem(part: str, problem: Problem) -> Finding:
    return Finding(part, "problem", sentence(problem.what), sentence(problem.remedy))


def sentence(text: str) -> str:
    """A text with a capital letter and a full stop; an empty one stays empty."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "`")) or not text else ".")


@dataclass(frozen=True)
class Look:
    """A check of one part, which may return several findings, and its time limit in seconds."""

    part: str
    take: Callable[[], Awaitable[Finding | list[Finding]]]
    seconds: float = 10.0


async def take(look: Look) -> list[Finding]:
    """Check one part within its time limit. Errors and timeouts are findings, too."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(look.seconds):
            finding = await look.take()
    except TimeoutError:
        finding = Finding(look.part, "problem", f"It did not answer within {look.seconds:g} s.", "See whether it runs.")
    except BadEnvironmentError:  # another check reports it
        finding = Finding(look.part, "skipped", "It can't be looked at before certificates can be read.")
    except Exception as error:  # the doctor itself must not fail
        report = " ".join(str(error).split())[:_LONGEST_REPORT]
        finding = Finding(look.part, "problem", f"It can't be looked at ({type(error).__name__}: {report}).")
    took = round(time.monotonic() - began, 3)
    return [replace(result, seconds=took) for result in (finding if isinstance(finding, list) else [finding])]
