"""What the doctor says of a part of a deployment."""

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
    """What was found out about one part.

    Attributes:
        state: ``problem`` where assessments can't be played as things are; ``warning`` where something isn't as it
            should be; ``skipped`` where it couldn't be looked at, or needn't be there.
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
    """A look at one part, which may bring several findings, and the seconds that it may take."""

    part: str
    take: Callable[[], Awaitable[Finding | list[Finding]]]
    seconds: float = 10.0


async def take(look: Look) -> list[Finding]:
    """Look at one part: it always ends in time, and with a sentence."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(look.seconds):
            finding = await look.take()
    except TimeoutError:
        finding = Finding(look.part, "problem", f"It did not answer within {look.seconds:g} s.", "See whether it runs.")
    except BadEnvironmentError:  # of which a look of its own tells
        finding = Finding(look.part, "skipped", "It can't be looked at before certificates can be read.")
    except Exception as problem:  # the doctor must not be what fails
        report = " ".join(str(problem).split())[:_LONGEST_REPORT]
        finding = Finding(look.part, "problem", f"It can't be looked at ({type(problem).__name__}: {report}).")
    took = round(time.monotonic() - began, 3)
    return [replace(each, seconds=took) for each in (finding if isinstance(finding, list) else [finding])]
