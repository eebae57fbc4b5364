"""Simulations on the embedded simulator's server. Many workers share it, and it compares their fences."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from proctor.activities.attempts import failures
from proctor.activities.simulation import hosts, keys
from proctor.activities.simulation.addresses import public_address
from proctor.protocol.modalities import SHOWN
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobRef, BlobStore
from proctor.storage.parts import TOGETHER, batched, is_in_parts, keep_parts, parts_of_checkpoint
from purple_sdk.ues import AsyncUESClient, AsyncUESHost, AuthenticationError, ConflictError, NotFoundError
from purple_sdk.ues import errors as ues_errors
from purple_sdk.ues.answers import CurrentCheckpoint


def is_of_this_simulator(checkpoint: bytes) -> bool:
    """Return whether a checkpoint is the embedded simulator's; checkpoints of separate servers begin with a label."""
    return checkpoint.startswith(b'{"format":')


_IMPORT = "/scenario/import/full"

_ROUNDS = 3
"""How often a checkpoint is sent to the simulator, in case it drops parts before it has all parts."""


class HostedSimulation(hosts.Simulation):
    """A simulation on the embedded simulator's server, whose keys are all derived.

    With a ``store`` its checkpoints are in parts, which are stored as soon as the checkpoint is taken.
    """

    def __init__(
        self,
        config: GreenAgentConfig,
        simulation_id: str,
        fence: int | None,
        where: CurrentCheckpoint,
        http: httpx.AsyncClient,
        at: str,
        store: BlobStore | None = None,
    ) -> None:
        self._secret = config.secret.get_secret_value()
        self._simulation_id = simulation_id
        inside = f"{at}/simulations/{simulation_id}"
        self.reader_secret = keys.reader_key(self._secret, simulation_id)
        self.admin = AsyncUESClient(inside, keys.admin_key(self._secret, simulation_id), http=http, fence=fence)
        self.reader = AsyncUESClient(inside, self.reader_secret, http=http)
        self._address = f"{public_address(config, at)}/simulations/{simulation_id}"
        self.mark, self.life = where.mark, where.life
        self._store, self._http, self._fence = store, http, fence

    def make_access(self, issue: int) -> hosts.Access:
        secret = keys.participant_key(self._secret, self._simulation_id, issue)
        return hosts.Access(self._address, secret, mcp=f"{self._address.rstrip('/')}/mcp")

    async def look(self) -> CurrentCheckpoint:
        try:
            return await self.admin.simulation.current()
        except (AuthenticationError, NotFoundError, ConflictError) as error:
            raise hosts.SimulationGoneError(str(error)) from None

    async def checkpoint(self, *, everything: bool = False) -> bytes:
        if self._store is None:
            return await self.admin.simulation.checkpoint()
        answer = await self.admin.simulation.checkpoint_in_parts(everything=everything or None)
        head, _, content = answer.partition(b"\n")
        return await self.keep_parts(from_json(head), content)

    async def keep_parts(self, head: Mapping[str, Any], content: bytes) -> bytes:
        """Store the parts of a checkpoint that the store may lack. Return the manifest, which the caller has to store.

        ``head`` is the first line of the simulator's answer, ``content`` the manifest and the first of the new parts.
        """
        assert self._store is not None
        manifest, *along = _split(content, head["lengths"])
        new = [BlobRef(sha256=name, size=size) for name, size in head["new"]]
        if new:
            await keep_parts(self._store, new, along, self.admin.simulation.checkpoint_part)
        return manifest

    async def load(self, scenario: AsyncIterator[bytes]) -> None:
        """Pass the scenario on as it arrives, so the whole scenario is never in memory."""

        async def body() -> AsyncIterator[bytes]:
            yield b'{"scenario":'
            async for piece in scenario:
                yield piece
            yield b"}"

        headers = {"X-API-Key": keys.admin_key(self._secret, self._simulation_id), "Content-Type": "application/json"}
        if self._fence is not None:
            headers["X-UES-Fence"] = str(self._fence)
        try:
            answer = await self._http.post(f"{self.admin.base_url}{_IMPORT}", content=body(), headers=headers)
        except httpx.RequestError as error:
            reason = str(error) or type(error).__name__
            raise ues_errors.UESConnectionError(
                f"POST {_IMPORT}: can't talk to {self.admin.base_url}: {reason}"
            ) from None
        if not answer.is_success:
            raise ues_errors.refusal(f"POST {_IMPORT}", answer.status_code, answer.content)

    async def make_reader_key(self) -> None:
        """Make the key once; checkpoints contain it."""
        await self.admin.keys.create(
            name="evaluators", permissions=keys.READER_PERMISSIONS, secret=self.reader_secret, key_id=keys.READER_KEY_ID
        )

    async def check_public_address(self) -> None:
        """Fail finally if another server answers at the participants' address. If no server answers, the address may
        still work for participants.
        """
        if self._address == self.reader.base_url:
            return
        try:
            await AsyncUESClient(self._address, self.reader_secret, http=self._http).time.get_state()
        except (ues_errors.UESConnectionError, ues_errors.UESTimeoutError):
            return
        except ues_errors.UESError as error:
            raise failures.UNKNOWN.final(
                f"Participants would be sent to {self._address}, where this simulation is not ({error}): set "
                "AGENTBEATS_GREEN_UES_PUBLIC_URL to the address of the simulator that AGENTBEATS_GREEN_UES_URL names."
            ) from None

    async def change_keys(self) -> None:
        for key in (await self.admin.keys.list()).keys:
            if key.is_active and key.key_id != keys.ADMIN_KEY_ID:
                await self.admin.keys.revoke(key.key_id)
        await self.admin.keys.create(
            name="evaluators",
            permissions=keys.READER_PERMISSIONS,
            secret=self.reader_secret,
            key_id=f"{keys.READER_KEY_ID}-{self._simulation_id[-50:]}",
        )


class SharedHost(hosts.SimulationHost):
    """The simulations of one server of the embedded simulator. ``address`` is needed if the settings name several
    servers. Without a ``store``, checkpoints aren't in parts.
    """

    may_be_others = True
    outlive_workers = True

    def __init__(
        self,
        config: GreenAgentConfig,
        http: httpx.AsyncClient,
        store: BlobStore | None = None,
        address: str | None = None,
    ) -> None:
        self._config = config
        self._address = (address or config.ues_url).rstrip("/")
        self._secret = config.secret.get_secret_value()
        self._http = http
        self._store = store

    async def create(self, simulation_id: str, seed: int, fence: int) -> HostedSimulation:
        asked = {"fence": fence, "admin_key": keys.admin_key(self._secret, simulation_id), "seed": seed, "anew": True}
        head, _ = await self._ask(simulation_id, asked, b"")
        return self._claimed_simulation(simulation_id, fence, head)

    async def claim(self, claim: hosts.Claim, content: hosts.Content) -> HostedSimulation:
        head, _ = await self._claim(claim, {}, content)
        return self._claimed_simulation(claim.simulation_id, None if claim.looks else claim.fence, head)

    async def step(self, claim: hosts.Claim, step: hosts.Step, content: hosts.Content) -> tuple[hosts.Stepped, bytes]:
        """Carry out the step with one request, unless the answer can't hold all new parts."""
        how = "takes_checkpoint" if self._store is None else "takes_parts"
        head, checkpoint = await self._claim(claim, {**_dump_step(step), how: True}, content)
        if self._store is not None:
            simulation = self._claimed_simulation(claim.simulation_id, claim.fence, head)
            checkpoint = await simulation.keep_parts(_Pieces.model_validate_json(head).model_dump(), checkpoint)
        return hosts.Stepped.model_validate_json(head), checkpoint

    async def show(self, simulation: hosts.Simulation, claim: hosts.Claim, content: hosts.Content) -> hosts.Stepped:
        """Return the states without the data that is in the checkpoint's parts."""
        stepped, _ = await self.step(replace(claim, looks=True), hosts.Step(shows_all=True), content)
        return stepped

    async def end(self, simulation_id: str, fence: int) -> None:
        try:
            await self._host(fence).delete(simulation_id)
        except NotFoundError:
            return

    async def find_holder(self, simulation_id: str) -> int:
        holder = await self._host().fence(simulation_id)
        return holder.fence if holder.is_there else 0

    async def list_standing(self) -> dict[str, int]:
        return {
            str(simulation["simulation_id"]): int(simulation["fence"])
            for simulation in (await self._host().list())["simulations"]
        }

    async def _claim(self, claim: hosts.Claim, step: Mapping[str, Any], content: hosts.Content) -> tuple[bytes, bytes]:
        """Claim and carry out a step; the checkpoint's content is sent only if the simulator asks for it."""
        asked = {**self._dump_claim(claim), **step}
        try:
            return await self._ask(claim.simulation_id, asked, b"")
        except NotFoundError as error:
            raise hosts.SimulationGoneError(str(error)) from None
        except ConflictError as error:
            _read_needs(error)
        checkpoint = await content()
        if self._store is None or not is_in_parts(checkpoint):
            return await self._ask(claim.simulation_id, asked, checkpoint)
        return await self._claim_in_parts(claim.simulation_id, asked, checkpoint, self._store)

    async def _claim_in_parts(
        self, simulation_id: str, asked: Mapping[str, Any], manifest: bytes, store: BlobStore
    ) -> tuple[bytes, bytes]:
        """Claim with the manifest, and with all parts if they are small. Otherwise, the simulator names the parts that
        it lacks, and these are sent before the next try.
        """
        stored = parts_of_checkpoint(store, manifest)
        indexes, parts = await stored.read_indexes()
        pieces = [manifest, *indexes]
        if sum(part.size for part in parts.values()) <= TOGETHER:
            pieces += [await stored.read(part) for part in parts.values()]
        asked = {**asked, "lengths": [len(piece) for piece in pieces]}
        content = b"".join(pieces)
        for _ in range(_ROUNDS):
            try:
                return await self._ask(simulation_id, asked, content)
            except ConflictError as error:
                lacking = _read_needs(error)
            for names in batched({name: parts[name].size for name in lacking}):
                batch = [await stored.read(parts[name]) for name in names]
                head = to_json({"lengths": [len(part) for part in batch]})
                await self._host().leave_parts(simulation_id, b"".join((head, b"\n", *batch)))
        return await self._ask(simulation_id, asked, content)

    def _dump_claim(self, claim: hosts.Claim) -> dict[str, Any]:
        asked: dict[str, Any] = {
            "fence": claim.fence,
            "admin_key": keys.admin_key(self._secret, claim.simulation_id),
            "checkpoint": claim.checkpoint.sha256 if claim.checkpoint else None,
            "keep": claim.keep,
            "mark": claim.mark,
            "looks": claim.looks,
        }
        if claim.conditions is not None:
            asked["conditions"] = asdict(claim.conditions)
        if claim.sets_course:
            asked["sets_course"] = True
        if claim.issue is not None:
            asked["key"] = {
                "key_id": keys.participant_key_id(claim.issue),
                "name": keys.PARTICIPANT,
                "secret": keys.participant_key(self._secret, claim.simulation_id, claim.issue),
                "permissions": keys.USER_PERMISSIONS,
            }
        return asked

    async def _ask(self, simulation_id: str, asked: Mapping[str, Any], content: bytes) -> tuple[bytes, bytes]:
        answer = await self._host().step(simulation_id, to_json(asked) + b"\n" + content)
        head, _, checkpoint = answer.partition(b"\n")
        return head, checkpoint

    def _claimed_simulation(self, simulation_id: str, fence: int | None, head: bytes) -> HostedSimulation:
        try:
            where = CurrentCheckpoint.read(head)
        except ValidationError:
            raise ues_errors.UnexpectedAnswerError(f"the server at {self._address} isn't a proctor simulator") from None
        return HostedSimulation(self._config, simulation_id, fence, where, self._http, self._address, self._store)

    def _host(self, fence: int | None = None) -> AsyncUESHost:
        return AsyncUESHost(self._address, keys.host_key(self._secret), http=self._http, fence=fence or None)


class _Pieces(BaseModel):
    new: list[tuple[str, int]]
    lengths: list[int]


def _split(content: bytes, lengths: Sequence[int]) -> list[bytes]:
    pieces, place = [], 0
    for length in lengths:
        pieces.append(content[place : place + length])
        place += length
    return pieces


def _read_needs(problem: ConflictError) -> list[str]:
    """Return the parts that a simulator lacks to restore a checkpoint. Raises any other conflict."""
    if not (isinstance(problem.detail, dict) and "needs" in problem.detail):
        raise problem
    return list(problem.detail.get("parts", []))


def _dump_step(step: hosts.Step) -> dict[str, Any]:
    return {
        "revoke": keys.PARTICIPANT if step.closes else None,
        "events": [event.model_dump() for event in step.events],
        "to": step.to,
        "actions_of": keys.PARTICIPANT,
        "actions_at": step.actions_at,
        "states": SHOWN if step.shows_all else (),
        **({"ends_turn": True} if step.ends_turn else {}),
    }
