"""Where simulations live: on the embedded simulator's server, or each in a UES server of its own.

A ``Simulation`` is what the evaluator needs of one beyond the UES contract: checkpoints, a mark for the work in hand,
keys. A ``SimulationHost`` makes them, finds them and ends them; which kind it is, a deployment decides
(``AGENTBEATS_GREEN_UES_COMMAND``).
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from hashlib import sha256

import httpx

from activities.simulations.keys import (
    PARTICIPANT_KEY_ID,
    READER_KEY_ID,
    READER_PERMISSIONS,
    USER_PERMISSIONS,
    admin_key,
    host_key,
    participant_key,
    reader_key,
)
from proctor_protocol.config import GreenAgentConfig
from purple_sdk.ues import AsyncUESClient, AsyncUESHost, AuthenticationError, ConflictError, NotFoundError
from purple_sdk.ues.answers import CurrentCheckpoint


class SimulationGoneError(Exception):
    """There is no such simulation (any more), as far as this worker can tell; a checkpoint brings it back."""


class Simulation(ABC):
    """One simulation; a request to it fails with a ``purple_sdk.ues.UESError``.

    Attributes:
        admin: a client that may do everything in it.
        reader: a client that may look at everything in it and change nothing.
        reader_secret: the key of ``reader``.
        address: where the participant finds it.
        participant_secret: the key that the participant acts with.
        participant_key_ids: the ids of that key, as events carry them; more than one where it had to be made again.
    """

    admin: AsyncUESClient
    reader: AsyncUESClient
    reader_secret: str
    address: str
    participant_secret: str
    participant_key_ids: frozenset[str]

    @property
    def fingerprint(self) -> str:
        """Of what a participant has to know: the same for as long as address and key are."""
        return sha256(f"{self.address} {self.participant_secret}".encode()).hexdigest()[:16]

    @property
    def is_known_to_participant(self) -> bool:
        """False where address or key are not what the participant was told last."""
        return True

    def participant_was_told(self) -> None:
        """Note that the participant has been told address and key."""
        return

    @abstractmethod
    async def current(self) -> CurrentCheckpoint:
        """Which checkpoint the simulation equals, if any, and how it is marked.

        Raises:
            SimulationGoneError: there is no such simulation.
        """

    @abstractmethod
    async def mark(self, text: str) -> None:
        """Note what is going on in the simulation; the note lasts until the next restore."""

    @abstractmethod
    async def checkpoint(self) -> bytes:
        """The simulation as it is now."""

    @abstractmethod
    async def make_keys(self) -> None:
        """Make the participant's and the evaluators' keys, in a simulation that has none yet."""

    async def revoke_participant_key(self) -> None:
        """End the participant's access; a key that is revoked already is fine."""
        for key_id in self.participant_key_ids:
            try:
                await self.admin.keys.revoke(key_id)
            except (NotFoundError, ConflictError):
                continue


class SimulationHost(ABC):
    """All simulations of a worker.

    Attributes:
        may_be_others: whether some of those that are standing may be of assessments in another Temporal.
    """

    may_be_others = False

    @abstractmethod
    def find(self, simulation_id: str) -> Simulation:
        """The simulation of that name; whether it is still there may come out only when it is asked something.

        Raises:
            SimulationGoneError: it is known not to be there.
        """

    @abstractmethod
    async def create(self, simulation_id: str, seed: int) -> Simulation:
        """Make an empty one.

        Raises:
            purple_sdk.ues.ConflictError: there is one of that name already.
        """

    @abstractmethod
    async def restore(self, simulation_id: str, checkpoint: bytes) -> Simulation:
        """Make the simulation of that name equal to a checkpoint, wherever it stands; where there is none, make one."""

    @abstractmethod
    async def remove(self, simulation_id: str) -> None:
        """End one, and all its keys with it; one that is gone already is fine."""

    @abstractmethod
    async def standing(self) -> list[str]:
        """The names of those that are there and can be ended from here."""

    async def aclose(self) -> None:
        """Let go of everything, at the end of the worker."""
        return


class HostedSimulation(Simulation):
    """A simulation on the embedded simulator's server, whose keys are all derived."""

    def __init__(self, config: GreenAgentConfig, simulation_id: str, http: httpx.AsyncClient) -> None:
        secret = config.secret.get_secret_value()
        inside = f"{config.ues_url.rstrip('/')}/simulations/{simulation_id}"
        self.reader_secret = reader_key(secret, simulation_id)
        self.admin = AsyncUESClient(inside, admin_key(secret, simulation_id), http=http)
        self.reader = AsyncUESClient(inside, self.reader_secret, http=http)
        self.address = f"{(config.ues_public_url or config.ues_url).rstrip('/')}/simulations/{simulation_id}"
        self.participant_secret = participant_key(secret, simulation_id)
        self.participant_key_ids = frozenset({PARTICIPANT_KEY_ID})

    async def current(self) -> CurrentCheckpoint:
        """See ``Simulation``."""
        try:
            return await self.admin.simulation.current()
        except (AuthenticationError, NotFoundError) as problem:
            raise SimulationGoneError(str(problem)) from None

    async def mark(self, text: str) -> None:
        """See ``Simulation``."""
        await self.admin.simulation.mark(text)

    async def checkpoint(self) -> bytes:
        """See ``Simulation``."""
        return await self.admin.simulation.checkpoint()

    async def make_keys(self) -> None:
        """See ``Simulation``; checkpoints carry the keys, so they are made once."""
        await self.admin.keys.create(
            name="participant",
            permissions=USER_PERMISSIONS,
            secret=self.participant_secret,
            key_id=PARTICIPANT_KEY_ID,
        )
        await self.admin.keys.create(
            name="evaluators", permissions=READER_PERMISSIONS, secret=self.reader_secret, key_id=READER_KEY_ID
        )


class SharedHost(SimulationHost):
    """The simulations of the embedded simulator's server."""

    may_be_others = True

    def __init__(self, config: GreenAgentConfig, http: httpx.AsyncClient) -> None:
        self._config = config
        self._http = http

    def find(self, simulation_id: str) -> HostedSimulation:
        """See ``SimulationHost``; only the server knows whether it is there."""
        return HostedSimulation(self._config, simulation_id, self._http)

    async def create(self, simulation_id: str, seed: int) -> HostedSimulation:
        """See ``SimulationHost``."""
        await self._create(simulation_id, seed)
        return self.find(simulation_id)

    async def restore(self, simulation_id: str, checkpoint: bytes) -> HostedSimulation:
        """See ``SimulationHost``; the checkpoint has the seed."""
        with suppress(ConflictError):  # it is there, only elsewhere
            await self._create(simulation_id, None)
        simulation = self.find(simulation_id)
        await simulation.admin.simulation.restore(checkpoint)
        return simulation

    async def remove(self, simulation_id: str) -> None:
        """See ``SimulationHost``."""
        try:
            await self._host().delete(simulation_id)
        except NotFoundError:
            return

    async def standing(self) -> list[str]:
        """See ``SimulationHost``; the server knows."""
        return [str(simulation["simulation_id"]) for simulation in (await self._host().list())["simulations"]]

    async def _create(self, simulation_id: str, seed: int | None) -> None:
        key = admin_key(self._config.secret.get_secret_value(), simulation_id)
        await self._host().create(simulation_id=simulation_id, admin_key=key, seed=seed)

    def _host(self) -> AsyncUESHost:
        return AsyncUESHost(self._config.ues_url, host_key(self._config.secret.get_secret_value()), http=self._http)
