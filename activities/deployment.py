"""What every activity of one worker shares: settings, storage, connections."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import httpx

from activities.characters import prompts
from activities.judging import model_judge
from activities.judging.panel import Judge
from activities.models.endpoint_queue import set_requests_at_once
from activities.models.factory import LLMFactory
from activities.models.usage import Meter, read_prices
from activities.plan import Plan
from activities.scenario_code.confinement import Limits, find_missing_protections
from activities.scenario_code.freezing import is_shipped_as_frozen, packed, unpack
from activities.scenario_code.manager import (
    Fingerprint,
    ScenarioManager,
    ScenarioPackage,
    ScenarioValidationError,
    fingerprint,
    is_shipped,
)
from activities.scenario_code.processes import ScenarioCode
from activities.simulation.addresses import are_several
from activities.simulation.hosts import SimulationHost
from activities.simulation.own_servers import OwnServers
from activities.simulation.shared_host import SharedHost
from activities.simulation.shared_hosts import SharedHosts
from activities.simulation.simulations import Simulations
from proctor_observing import tracing
from proctor_processes.own_folders import OwnFolder
from proctor_protocol.config import GreenAgentConfig
from proctor_protocol.scenario import ScenarioConfig
from proctor_storage.blobs import BlobRef, BlobStore, blob_ref
from purple_sdk.ues import UESConnectionError
from purple_sdk.ues.tls import tls

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

_SCENARIOS_KEPT = 32
_KEPT_UP_TO = 4_000_000
"""Bytes of a scenario's files, and of its initial state, that are kept in memory; larger ones are read each time."""
_PIECE = 1024 * 1024
_FOLDERS_KEPT = 100
_READINGS = 3
_VOTING_TEMPERATURE = 0.5
"""At temperature 0 a model that votes several times would say the same each time."""


class Deployment:
    """Settings and connections of a worker process; one for all its activities."""

    def __init__(self, config: GreenAgentConfig) -> None:
        self.config = config
        self.store = BlobStore(config.storage_url)
        self.scenarios = ScenarioManager(config.scenarios_dir)
        self.code = ScenarioCode(Limits(seconds=config.evaluator_timeout, memory_mb=config.evaluator_memory_mb))
        self.prices = read_prices(config.prices)
        set_requests_at_once(config.model_requests_at_once)
        self._packages: dict[str, tuple[Fingerprint, ScenarioPackage, bytes]] = {}
        self._unpacked: OwnFolder | None = None
        self._folders: dict[str, Path] = {}
        self._unpacking = asyncio.Lock()
        self._http = httpx.AsyncClient(
            verify=tls(),
            timeout=httpx.Timeout(60.0, connect=config.connect_timeout),
            limits=httpx.Limits(max_connections=200, max_keepalive_connections=50),
            event_hooks=tracing.httpx_hooks(),
        )
        self.has_several_simulators = not config.ues_command and are_several(config)
        host: SimulationHost
        if config.ues_command:
            host = OwnServers(config, config.ues_command, self._http)
        elif self.has_several_simulators:
            host = SharedHosts(config, self._http, self.store)
        else:
            host = SharedHost(config, self._http, self.store)
        self.simulations = Simulations(host, self.store)
        self._scenarios: dict[BlobRef, ScenarioConfig] = {}

    async def aclose(self) -> None:
        """Let go of all simulations that are this worker's own, end scenarios' code, and close all connections."""
        await self.code.aclose()
        await self.simulations.host.aclose()
        await self._http.aclose()
        if self._unpacked is not None:
            self._unpacked.cleanup()

    def simulations_of(self, plan: Plan) -> Simulations:
        """The simulations on the server that an assessment's is on."""
        return self.simulations.at(plan.simulator)

    async def choose_simulator(self) -> str | None:
        """The server for a simulation that is to be made; None where there is one only.

        Raises:
            UESConnectionError: there are several, and none answers.
        """
        if not self.has_several_simulators:
            return None
        if (chosen := await self.simulations.host.choose()) is None:
            raise UESConnectionError(f"no simulator answers, of those at {self.config.ues_url}")
        return chosen

    async def load_package(self, scenario_id: str) -> tuple[ScenarioPackage, bytes]:
        """A scenario as its files are now, and all of them as one blob; they are read once, and again whenever one of
        them has changed, unless they are large.

        Raises:
            activities.scenario_code.manager.ScenarioError: there is none of that id, or it can't be played.
        """
        directory = self.scenarios.find(scenario_id)
        await asyncio.to_thread(self._require_protection, directory)
        for _ in range(_READINGS):
            state = await asyncio.to_thread(fingerprint, directory)
            cached = self._packages.get(scenario_id)
            if cached is not None and cached[0] == state:
                return cached[1], cached[2]
            package = await self.read_package(directory)
            files = await asyncio.to_thread(packed, directory)
            if await asyncio.to_thread(fingerprint, directory) == state:  # what was checked is what was packed
                if package.large_state is not None or len(files) > _KEPT_UP_TO:
                    self._packages.pop(scenario_id, None)
                    return package, files
                while len(self._packages) >= _SCENARIOS_KEPT:
                    self._packages.pop(next(iter(self._packages)))
                self._packages[scenario_id] = (state, package, files)
                return package, files
        raise ScenarioValidationError(f"{scenario_id} is being changed just now: ask again when its files are complete")

    async def read_package(self, directory: Path) -> ScenarioPackage:
        """The scenario in a folder, without its initial state where that is large.

        Raises:
            activities.scenario_code.manager.ScenarioError: it can't be played.
        """
        package = await self.code.load(directory)
        if len(package.initial_state) <= _KEPT_UP_TO:
            return package
        name = await asyncio.to_thread(blob_ref, package.initial_state)
        return replace(package, initial_state=b"", large_state=name)

    def _require_protection(self, directory: Path, sha256: str | None = None) -> None:
        """Refuse code that did not come with proctor where it can't be confined, unless the operator trusts it.

        Args:
            directory: the scenario's folder.
            sha256: the hash of its frozen files, where the folder is an unpacked copy: another machine may have
                admitted it.

        Raises:
            activities.scenario_code.manager.ScenarioValidationError: with what this machine lacks, and the setting.
        """
        if self.config.trust_scenarios or not (missing := find_missing_protections()):
            return
        has_come = is_shipped(directory) if sha256 is None else is_shipped_as_frozen(directory.name, sha256)
        if not has_come and any(directory.rglob("*.py")):
            raise ScenarioValidationError(
                f"{directory.name} has code, and this machine can't confine it: {'; '.join(missing)}. Play it "
                "elsewhere, or set AGENTBEATS_GREEN_TRUST_SCENARIOS=true if you trust the authors of all scenarios"
            )

    async def read_initial_state(self, plan: Plan) -> AsyncIterator[bytes]:
        """The UES scenario that an assessment begins with, in pieces: from a blob of its own, or, where it is large,
        from the scenario's frozen files, so that the store has it once.

        Raises:
            BlobNotFoundError, BlobDamagedError: it isn't there, or not as it was written.
            activities.scenario_code.manager.ScenarioError: the frozen files can't be read any more.
        """
        if not plan.is_state_in_package or plan.package is None:
            async for piece in self.store.read_in_pieces(plan.initial_state):
                yield piece
            return
        state = (await self.code.load(await self.unpack_frozen_code(plan.scenario_id, plan.package))).initial_state
        for place in range(0, len(state), _PIECE):
            yield state[place : place + _PIECE]

    async def unpack_frozen_code(self, scenario_id: str, ref: BlobRef) -> Path:
        """A folder with all files of a scenario as they were when its assessment was admitted.

        Raises:
            activities.scenario_code.manager.ScenarioError: this machine can't confine its code.
        """
        return await self._folder(scenario_id, ref, None)

    async def unpack_current_code(self, scenario_id: str) -> tuple[Path, str]:
        """A folder with all files of a scenario as they are now, and their hash.

        Raises:
            activities.scenario_code.manager.ScenarioError: there is none of that id, or its files can't be read.
        """
        files = await asyncio.to_thread(packed, self.scenarios.find(scenario_id))
        ref = blob_ref(files)
        return await self._folder(scenario_id, ref, files), ref.sha256

    async def _folder(self, scenario_id: str, ref: BlobRef, files: bytes | None) -> Path:
        """Where a scenario's files lie unpacked, for this worker alone; those used last stay longest."""
        async with self._unpacking:
            if self._unpacked is None:
                self._unpacked = OwnFolder("proctor-scenarios-")
            folder = self._folders.pop(ref.sha256, None)
            if folder is None or not folder.is_dir():
                # Named like the scenario, as sentences about it are.
                folder = Path(self._unpacked.name) / ref.sha256 / scenario_id
                with TemporaryFile() as archive:
                    if files is not None:
                        archive.write(files)
                    else:
                        async for piece in self.store.read_in_pieces(ref):
                            archive.write(piece)
                    archive.seek(0)
                    await asyncio.to_thread(unpack, archive, folder)
                await asyncio.to_thread(self._require_protection, folder, ref.sha256)
            self._folders[ref.sha256] = folder
            while len(self._folders) > _FOLDERS_KEPT:
                oldest = self._folders.pop(next(iter(self._folders)))
                await asyncio.to_thread(shutil.rmtree, oldest.parent, ignore_errors=True)
        return folder

    async def load_scenario(self, ref: BlobRef) -> ScenarioConfig:
        """The scenario as it was when its assessment was admitted; later edits of its files don't touch it."""
        if ref not in self._scenarios:
            while len(self._scenarios) >= _SCENARIOS_KEPT:
                self._scenarios.pop(next(iter(self._scenarios)))
            self._scenarios[ref] = ScenarioConfig.model_validate_json(await self.store.get(ref))
        return self._scenarios[ref]

    def make_character_model(self, seed: int, meter: Meter) -> "BaseChatModel":
        """The model that speaks for characters; what is asked of it shows on ``meter``."""
        config = self.config
        model = LLMFactory.create(
            config.response_generator_model,
            temperature=0.7,
            seed=seed,
            base_url=config.response_generator_base_url,
            timeout=config.judge_timeout,
            max_tokens=config.judge_max_tokens,
        )
        return meter.on(model, config.response_generator_model, prompts.PROMPT_VERSION)

    def make_judges(
        self,
        models: Sequence[str],
        votes: int,
        seed: int,
        meter: Meter,
        prompt_version: str | None = model_judge.PROMPT_VERSION,
    ) -> list[Judge]:
        """The panel that judges: every model so many times; at temperature 0, unless it votes several times.

        What is asked of them shows on ``meter``.
        """
        config = self.config
        return [
            Judge(
                model,
                meter.on(
                    LLMFactory.create(
                        model,
                        temperature=0.0 if votes == 1 else _VOTING_TEMPERATURE,
                        seed=(seed + vote) % 2**63,
                        base_url=config.evaluation_base_url,
                        timeout=config.judge_timeout,
                        max_tokens=config.judge_max_tokens,
                    ),
                    model,
                    prompt_version,
                ),
            )
            for model in models
            for vote in range(votes)
        ]
