"""One fork server for all tests of a file, as each start takes most of a second of a core."""

import asyncio

from proctor.activities.scenario_code.confinement import Limits
from proctor.activities.scenario_code.processes import CodeProcess, ForkServer


class LentForkServer:
    """A fork server as one ``ScenarioCode`` has it, with limits of its own; it outlives that."""

    def __init__(self, lender: ForkServer, limits: Limits, one_at_a_time: asyncio.Lock) -> None:
        self._lender = lender
        self._limits = limits
        self._one_at_a_time = one_at_a_time

    async def fork(self, size: int, *, has_model: bool = False, makes_days: bool = False) -> CodeProcess:
        """A new process of the lender's, with our limits."""
        async with self._one_at_a_time:
            self._lender._limits = self._limits
            return await self._lender.fork(size, has_model=has_model, makes_days=makes_days)

    async def aclose(self) -> None:
        """Leave it to the others."""
