"""A simulation in a separate UES server, which may be any server that follows the contract.

If the server has no checkpoints, exports and imports replace them, and the worker keeps track of keys and changes.
``docs/operations/deploy.md`` lists the losses in that case. The worker always keeps the mark and the lease.
"""

import asyncio
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal
from uuid import uuid4

import httpx
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from proctor.activities.attempts import failures
from proctor.activities.plan import Model
from proctor.activities.simulation import keys
from proctor.activities.simulation.hosts import Access, Claim, Simulation, SimulationGoneError, Step, Stepped
from proctor.activities.simulation.server_process import Lease, LeasedClient, ServerProcess
from proctor.activities.simulation.states import snapshot
from proctor.settings.config import GreenAgentConfig
from purple_sdk import ues
from purple_sdk.ues.answers import CurrentCheckpoint, KeyCreated

_PROBE_SECONDS = 2.0
_NO_SUCH_ENDPOINT = (404, 405, 501)
_NO_SUCH_PATH = (404, 501)
_NEEDED = {
    "POST /scenario/import/full": "to load a scenario",
    "POST /keys": "to give the participant a key of its own",
}
_PAGE = 1000


class Label(Model):
    """The first line of a checkpoint's content: data that the server can't know or store.

    Attributes:
        simulation: the version of this form.
        kind: whether the content is the server's own checkpoint or an exported scenario.
        port: the server's port.
        is_running: whether the simulation was started; for an export.
        participant_key_ids: every id that the participant's key has had.
        has_access: whether the participant's key was valid.
        issue: the number of the participant's key (``keys.participant_key``).
        told: a fingerprint of the address and the key that the participant got last.
    """

    simulation: Literal[1] = 1
    kind: Literal["checkpoint", "export"]
    port: int
    is_running: bool
    participant_key_ids: list[str]
    has_access: bool
    issue: int = 0
    told: str | None

    def on(self, content: bytes) -> bytes:
        return self.model_dump_json().encode() + b"\n" + content


def labelled(checkpoint: bytes) -> tuple[Label, bytes]:
    """Return a checkpoint's label and the content after it. Fails as ``ServerFailed`` if it has no label."""
    first, _, content = checkpoint.partition(b"\n")
    try:
        return Label.model_validate_json(first), content
    except ValidationError:
        raise failures.SERVER_FAILED.final(
            "This assessment began on the embedded simulator, and a server started with AGENTBEATS_GREEN_UES_COMMAND "
            "can't continue it: unset that until it has ended, or start the assessment again."
        ) from None


class OwnSimulation:
    """A simulation in a separate server process. It lives as long as the process, and attempts use it by a claim."""

    def __init__(
        self,
        config: GreenAgentConfig,
        simulation_id: str,
        port: int,
        http: httpx.AsyncClient,
        server: ServerProcess,
        fence: int = 0,
    ) -> None:
        self._secret = config.secret.get_secret_value()
        self._simulation_id = simulation_id
        self._base_url = f"http://127.0.0.1:{port}"
        self._http = http
        self.server = server
        self.port = port
        self.lease = Lease(fence)
        self.address = (config.ues_public_url or self._base_url).replace("{port}", str(port)).rstrip("/")
        self.admin = self._client(keys.admin_key(self._secret, simulation_id))
        self.reader_secret = keys.reader_key(self._secret, simulation_id)
        self.reader = self._client(self.reader_secret)
        self.participant_key_ids: frozenset[str] = frozenset()
        self.participant_secret = ""
        self._participant_key: str | None = None
        self.issue = 0
        self._sent_access: str | None = None
        self.mark: str | None = None
        self.life = uuid4().hex
        self._base: tuple[str, str] | None = None
        self._claimed_at: str | None = None
        self._can_checkpoint: bool | None = None

    @property
    def make_access(self) -> Access:
        return Access(self.address, self.participant_secret)

    @property
    def is_open_to_participant(self) -> bool:
        return self._participant_key is not None

    @property
    def is_known_to_participant(self) -> bool:
        return self._sent_access == self.make_access.fingerprint

    def note_access_sent(self) -> None:
        if not self.is_known_to_participant:
            self._sent_access = self.make_access.fingerprint
            self._base = self._claimed_at = None

    async def is_ready(self) -> bool:
        """Return whether the server answers, is healthy, and is the one that was started with our key."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                health = await self._http.get(f"{self._base_url}/health")
                if health.is_success:
                    await self.admin.simulation.status()
        except (httpx.HTTPError, ues.UESError, TimeoutError):
            return False
        return health.is_success

    async def find_lacking(self) -> list[str]:
        """Return the requests that assessments need and a new server lacks, each with its purpose. The server is tested
        with GET requests, which change nothing: a path that only takes POST answers 405, a missing path 404.
        """
        headers = {"X-API-Key": keys.admin_key(self._secret, self._simulation_id)}
        lacking = []
        for request, purpose in _NEEDED.items():
            async with asyncio.timeout(_PROBE_SECONDS):
                answer = await self._http.get(f"{self._base_url}{request.partition(' ')[2]}", headers=headers)
            if answer.status_code in _NO_SUCH_PATH:
                lacking.append(f"{request} ({purpose})")
        return lacking

    async def look(self) -> CurrentCheckpoint:
        """Return the simulation's current checkpoint. Raises ``SimulationGoneError`` if the server is gone. The server
        isn't started again.
        """
        try:
            stands = await self._stands()
        except ues.UESConnectionError:
            self._require_running()
            raise
        self._require_running()  # another server may have answered, at the same port and with the same keys
        is_at_base = self._base is not None and self._base[0] == stands
        return CurrentCheckpoint(
            checkpoint=self._base[1] if self._base and is_at_base else None,
            mark=self.mark,
            fence=self.lease.fence,
            is_untouched=stands is not None and stands == self._claimed_at,
            life=self.life,
        )

    def _require_running(self) -> None:
        if self.server.exit_code is not None:
            raise SimulationGoneError(f"the server at port {self.port} has ended")

    async def is_at_checkpoint(self, checkpoint: str) -> bool:
        return (await self.look()).checkpoint == checkpoint

    async def checkpoint(self) -> bytes:
        """Return the simulation's present content. A server without checkpoints makes an export."""
        kind: Literal["checkpoint", "export"] = "checkpoint" if await self._has_checkpoints() else "export"
        if kind == "checkpoint":
            is_running = True
            content = await self.admin.simulation.checkpoint()
            stands = sha256(content).hexdigest()
        else:
            is_running = (await self.admin.simulation.status()).is_running
            exported = _scenario(await self.admin.scenario.export_full())
            content, stands = to_json(exported), _digest(exported)
        labelled_content = Label(
            kind=kind,
            port=self.port,
            is_running=is_running,
            participant_key_ids=sorted(self.participant_key_ids),
            has_access=self._participant_key is not None,
            issue=self.issue,
            told=self._sent_access,
        ).on(content)
        self._base = (stands, sha256(labelled_content).hexdigest())
        return labelled_content

    async def restore(self, checkpoint: bytes) -> None:
        """Make the simulation equal to a checkpoint. If the checkpoint is an export, the participant's key stays
        unchanged, or is revoked if it was invalid then.
        """
        label, content = labelled(checkpoint)
        self._base, self.mark, self.life = None, None, uuid4().hex
        self._sent_access = label.told
        self.participant_key_ids |= frozenset(label.participant_key_ids)
        if label.kind == "checkpoint":
            await self._restore(content)
            self.issue = label.issue
            self.participant_secret = keys.participant_key(self._secret, self._simulation_id, label.issue)
            self._participant_key = keys.participant_key_id(label.issue) if label.has_access else None
        else:
            await self._import(from_json(content), label.is_running)
            if not label.has_access:
                await self.revoke_participant_key()
            if not await self._opens(self.reader_secret):
                await self.make_reader_key()
        stands = await self._stands()
        self._base = (stands or "", sha256(checkpoint).hexdigest())

    async def issue_participant_key(self, issue: int) -> None:
        """Make the participant's only key. A server may choose the key's secret and id."""
        if self._participant_key is not None and self.issue == issue:
            return
        await self.revoke_participant_key()
        made = await self._make_key(
            keys.PARTICIPANT,
            keys.USER_PERMISSIONS,
            keys.participant_key(self._secret, self._simulation_id, issue),
            keys.participant_key_id(issue),
        )
        self.participant_secret = made.secret
        self.participant_key_ids |= {made.key_id}
        self._participant_key, self.issue = made.key_id, issue

    async def revoke_participant_key(self) -> None:
        """Revoke the participant's key, unless it is already revoked."""
        if self._participant_key is not None:
            with suppress(ues.NotFoundError, ues.ConflictError):
                await self.admin.keys.revoke(self._participant_key)
        self._participant_key, self._base = None, None

    async def make_reader_key(self) -> None:
        made = await self._make_key("evaluators", keys.READER_PERMISSIONS, self.reader_secret, keys.READER_KEY_ID)
        self.reader_secret = made.secret
        self.reader = self._client(made.secret)

    async def be_claimed(self, claim: Claim) -> None:
        if claim.issue is not None:
            await self.issue_participant_key(claim.issue)
        if claim.mark is not None:
            self.mark = claim.mark
        if not claim.looks:
            self._claimed_at = await self._stands()

    def leased(self, fence: int | None) -> "LeasedSimulation":
        """Return the simulation for an attempt with this fence; ``fence`` is None if the attempt only reads."""
        key = keys.admin_key(self._secret, self._simulation_id)
        return LeasedSimulation(
            self, fence, ues.AsyncUESClient(self._base_url, key, http=LeasedClient(self.lease, fence, self._http))
        )

    async def _restore(self, content: bytes) -> None:
        if not await self._has_checkpoints():
            raise failures.SERVER_FAILED.final(
                "This assessment began on a UES server with checkpoints, and the one that "
                "AGENTBEATS_GREEN_UES_COMMAND starts now has none: set it back, or start the assessment again."
            )
        await self.admin.simulation.restore(content)

    async def _import(self, scenario: dict[str, Any], is_running: bool) -> None:
        with suppress(ues.ConflictError):  # it isn't running
            await self.admin.simulation.stop()
        await self.admin.simulation.clear()
        await self.admin.scenario.import_full(scenario)
        if is_running:
            await self.admin.simulation.start()

    async def _make_key(self, name: str, permissions: list[str], secret: str, key_id: str) -> KeyCreated:
        """Make a key with our secret and id, if the server accepts them. This is our addition to the contract."""
        try:
            made = await self.admin.keys.create(name=name, permissions=permissions, secret=secret, key_id=key_id)
        except (ues.BadRequestError, ues.ValidationError_, ues.ConflictError):
            made = await self.admin.keys.create(name=name, permissions=permissions)
        self.server.secrets.append(made.secret)
        return made

    async def _opens(self, secret: str) -> bool:
        try:
            await self._client(secret).time.get_state()
        except ues.AuthenticationError:
            return False
        return True

    async def _stands(self) -> str | None:
        """Return an identifier of the simulation's state: the server's name for the state, or a digest of the
        export.
        """
        try:
            if await self._has_checkpoints():
                return (await self.admin.simulation.current()).checkpoint
            return _digest(_scenario(await self.admin.scenario.export_full()))
        except ues.AuthenticationError as error:  # another server uses the port
            raise SimulationGoneError(str(error)) from None

    async def _has_checkpoints(self) -> bool:
        if self._can_checkpoint is None:
            try:
                await self.admin.simulation.current()
            except ues.UnexpectedAnswerError:
                self._can_checkpoint = False
            except ues.UESResponseError as error:
                if error.status not in _NO_SUCH_ENDPOINT:
                    raise
                self._can_checkpoint = False
            else:
                self._can_checkpoint = True
        return self._can_checkpoint

    def _client(self, secret: str) -> ues.AsyncUESClient:
        return ues.AsyncUESClient(self._base_url, secret, http=self._http)


class LeasedSimulation(Simulation):
    """A server's simulation as one attempt uses it."""

    def __init__(self, own: OwnSimulation, fence: int | None, admin: ues.AsyncUESClient) -> None:
        self.own = own
        self._fence = fence
        self.admin = admin
        self.reader, self.reader_secret = own.reader, own.reader_secret
        self.mark, self.life = own.mark, own.life

    def make_access(self, issue: int) -> Access:
        return self.own.make_access

    @property
    def is_known_to_participant(self) -> bool:
        return self.own.is_known_to_participant

    def note_access_sent(self) -> None:
        self.own.note_access_sent()

    async def look(self) -> CurrentCheckpoint:
        async with self.own.lease.hold(self._fence):
            return await self.own.look()

    async def checkpoint(self, *, everything: bool = False) -> bytes:
        async with self.own.lease.hold(self._fence):
            return await self.own.checkpoint()

    async def make_reader_key(self) -> None:
        async with self.own.lease.hold(self._fence):
            await self.own.make_reader_key()
        self.reader, self.reader_secret = self.own.reader, self.own.reader_secret

    async def carry_out(self, step: Step) -> Stepped:
        if step.closes:
            async with self.own.lease.hold(self._fence):
                await self.own.revoke_participant_key()
        now = (await self.admin.time.get_state()).current_time
        for event in step.events:
            due = max(now, event.scheduled_time)
            data = {"timestamp": due.isoformat(), **event.data}
            await self.admin.events.create(
                scheduled_time=due, modality=event.modality, data=data, metadata=event.metadata
            )
        executed = 0
        if step.to is not None and step.to > now:
            executed = (await self.admin.time.advance((step.to - now).total_seconds())).events_executed
            now = step.to
        actions = [] if step.actions_at is None else await self._actions(step.actions_at)
        return Stepped(
            current_time=now,
            events_executed=executed,
            actions=actions,
            news={
                name: await getattr(self.admin, name).get_state() for name in sorted({d["modality"] for d in actions})
            },
            states=await snapshot(self.admin) if step.shows_all else {},
        )

    async def _actions(self, at: datetime) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        while True:
            page = await self.admin.events.list(start_time=at, end_time=at, limit=_PAGE, offset=len(events))
            events.extend(event.model_dump(mode="json") for event in page.events)
            if len(page.events) < _PAGE:
                return [event for event in events if event.get("agent_id") in self.own.participant_key_ids]


def _scenario(exported: dict[str, Any]) -> dict[str, Any]:
    inner = exported.get("scenario")
    return inner if isinstance(inner, dict) else exported


def _digest(scenario: dict[str, Any]) -> str:
    """Return a digest of an export, without its time of writing."""
    content = {name: value for name, value in scenario.items() if name != "metadata"}
    environment = dict(content.get("environment") or {})
    clock = environment.get("time_state") or {}
    environment["time_state"] = {name: value for name, value in clock.items() if name != "last_wall_time_update"}
    return sha256(to_json({**content, "environment": environment})).hexdigest()
