"""Load scenarios for a worker, from their present files or as they were frozen at admission."""

import asyncio
import hashlib
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from proctor.activities.plan import Plan
from proctor.activities.scenario_code import manager
from proctor.activities.scenario_code.allowance import Allowance
from proctor.activities.scenario_code.confinement import Limits, find_missing_protections
from proctor.activities.scenario_code.evaluator_modules import KIT, READER, installed_readers
from proctor.activities.scenario_code.families import has_only_the_kit, read_family, write_day
from proctor.activities.scenario_code.freezing import is_shipped_as_frozen, packed, unpack
from proctor.activities.scenario_code.processes import ScenarioCode
from proctor.processes.own_folders import OwnFolder
from proctor.protocol.scenario import ScenarioConfig
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobRef, BlobStore, blob_ref
from purple_sdk.protocol.instances import USUAL_DIFFICULTY, Instance

_SCENARIOS_KEPT = 32
_KEPT_UP_TO = 4_000_000
"""The most bytes of a scenario's files, or of its initial state, that are cached in memory. Larger ones are read each
time.
"""
_PIECE = 1024 * 1024
_FOLDERS_KEPT = 100
_READINGS = 3


class Loaded(NamedTuple):
    """A scenario, all its files as one blob, and the family and day from which it was made, if any."""

    package: manager.ScenarioPackage
    files: bytes
    instance: Instance | None = None


class Scenarios:
    """The scenarios of one worker process, with a cache of those used last.

    Methods raise ``ScenarioError`` if there is no scenario of this name, if its files can't be read, or if it can't be
    played.
    """

    def __init__(self, config: GreenAgentConfig, store: BlobStore) -> None:
        self.code = ScenarioCode(Limits(seconds=config.evaluator_timeout, memory_mb=config.evaluator_memory_mb))
        self._manager = manager.ScenarioManager(config.scenarios_dir)
        self._store = store
        self._trusts_all = config.trust_scenarios
        self._loaded: dict[str | Instance, tuple[manager.Fingerprint, Loaded]] = {}
        self._unpacked: OwnFolder | None = None
        self._folders: dict[str, Path] = {}
        self._unpacking = asyncio.Lock()
        self._scenarios: dict[BlobRef, ScenarioConfig] = {}

    async def aclose(self) -> None:
        await self.code.aclose()
        if self._unpacked is not None:
            self._unpacked.cleanup()

    async def load_package(self, scenario_id: str) -> Loaded:
        """Load a scenario from its present files, with all of them as one blob. Files that aren't large are read again
        only after a change.
        """
        directory = self._manager.find(scenario_id)
        await asyncio.to_thread(self._require_protection, directory)
        for _ in range(_READINGS):
            state = await asyncio.to_thread(manager.fingerprint, directory)
            if (kept := self._find_cached(scenario_id, state)) is not None:
                return kept
            package = await self.read_package(directory)
            files = await asyncio.to_thread(packed, directory)
            if (
                await asyncio.to_thread(manager.fingerprint, directory) == state
            ):  # the checked files are the packed ones
                return self._keep(scenario_id, state, Loaded(package, files))
        raise manager.ScenarioValidationError(
            f"{scenario_id} is being changed just now: ask again when its files are complete"
        )

    def is_family(self, scenario_id: str) -> bool:
        return self._manager.find_family(scenario_id) is not None

    def group_size(self, name: str) -> int:
        """Return how many days of a family form a group; 1 for a fixed scenario."""
        directory = self._manager.find_family(name)
        return 1 if directory is None else read_family(directory).group

    async def load(self, scenario_id: str, difficulty: int | None, seed: int) -> Loaded:
        """Load a request's scenario: a fixed one, or the day that a family makes from a difficulty and a seed."""
        if self.is_family(scenario_id):
            instance = Instance(family=scenario_id, difficulty=difficulty or USUAL_DIFFICULTY, seed=seed)
            return await self.load_instance(instance)
        loaded = await self.load_package(scenario_id)
        if difficulty is not None:
            raise manager.ScenarioValidationError(
                f"config.difficulty is {difficulty}, and {scenario_id} is a fixed scenario, which has none: "
                "leave it out"
            )
        return loaded

    async def load_instance(self, instance: Instance) -> Loaded:
        """Load a family's day as a scenario, with its files as one blob. The last days are cached, unless they are
        large.
        """
        directory = self._manager.find_family(instance.family)
        if directory is None:
            raise manager.ScenarioNotFoundError(f"family {instance.family} not found", self._manager.list_families())
        await asyncio.to_thread(self._require_protection, directory)
        state = await asyncio.to_thread(lambda: sum(map(manager.fingerprint, (directory, *installed_readers())), ()))
        if (kept := self._find_cached(instance, state)) is not None:
            return kept
        return self._keep(instance, state, await self._make(directory, instance))

    def _find_cached(self, name: str | Instance, state: manager.Fingerprint) -> Loaded | None:
        kept = self._loaded.get(name)
        return kept[1] if kept is not None and kept[0] == state else None

    def _keep(self, name: str | Instance, state: manager.Fingerprint, loaded: Loaded) -> Loaded:
        self._loaded.pop(name, None)
        if loaded.package.large_state is None and len(loaded.files) <= _KEPT_UP_TO:
            while len(self._loaded) >= _SCENARIOS_KEPT:
                self._loaded.pop(next(iter(self._loaded)))
            self._loaded[name] = (state, loaded)
        return loaded

    async def hash_of_family(self, name: str) -> str:
        """Return the SHA-256 of a family's files and of the kit, which together determine all of its days."""
        directory = self._manager.find_family(name)
        if directory is None:
            raise manager.ScenarioNotFoundError(f"family {name} not found", self._manager.list_families())
        code = await asyncio.to_thread(lambda: b"".join(map(packed, (directory, *installed_readers()))))
        return hashlib.sha256(code).hexdigest()

    async def _make(self, directory: Path, instance: Instance) -> Loaded:
        allowance = Allowance(instance.title)
        made = await self.code.make(directory, instance, allowance)
        with OwnFolder("proctor-day-") as folder:
            day = Path(folder) / instance.family
            try:
                await asyncio.to_thread(write_day, made, day)
                package = await self.read_package(day, allowance)
                files = await asyncio.to_thread(packed, day)
            except manager.ScenarioError as error:
                raise manager.InstanceError(instance, str(error)) from None
        if package.config.scenario_id != instance.family:
            reason = f"its scenario_id is {package.config.scenario_id}: a day is called as its family"
            raise manager.InstanceError(instance, reason)
        return Loaded(package, files, instance)

    async def read_package(self, directory: Path, within: Allowance | None = None) -> manager.ScenarioPackage:
        """Read the scenario in a folder, without its initial state if that is large. ``within`` is the remaining time
        for making and loading it.
        """
        package = await self.code.load(directory, within)
        if len(package.initial_state) <= _KEPT_UP_TO:
            return package
        name = await asyncio.to_thread(blob_ref, package.initial_state)
        return replace(package, initial_state=b"", large_state=name)

    def _require_protection(self, directory: Path, sha256: str | None = None) -> None:
        """Refuse code that did not come with proctor if it can't be confined, unless the operator trusts it.

        ``sha256`` is the hash of the frozen files if the folder is an unpacked copy, which another machine may have
        admitted.
        """
        if self._trusts_all or not (missing := find_missing_protections()):
            return
        has_come = manager.is_shipped(directory) if sha256 is None else is_shipped_as_frozen(directory.name, sha256)
        if not has_come and not (sha256 and has_only_the_kit(directory)) and any(directory.rglob("*.py")):
            raise manager.ScenarioValidationError(
                f"{directory.name} has code, and this machine can't confine it: {'; '.join(missing)}. Play it "
                "elsewhere, or set AGENTBEATS_GREEN_TRUST_SCENARIOS=true if you trust the authors of all scenarios"
            )

    async def read_initial_state(self, plan: Plan) -> AsyncIterator[bytes]:
        """Yield the UES scenario at the beginning of an assessment, in pieces.

        A large state comes from the scenario's frozen files, so it is stored only once. Other states come from a
        separate blob. Also raises the errors of ``BlobStore.get``.
        """
        if not plan.is_state_in_package:
            async for piece in self._store.read_in_pieces(plan.initial_state):
                yield piece
            return
        state = (await self.code.load(await self.unpack_frozen_code(plan.scenario_id, plan.package))).initial_state
        for place in range(0, len(state), _PIECE):
            yield state[place : place + _PIECE]

    async def unpack_frozen_code(self, scenario_id: str, ref: BlobRef) -> Path:
        """Return a folder with all files of a scenario as they were when its assessment was admitted."""
        return await self._folder(scenario_id, ref, None)

    async def unpack_current_code(self, scenario_id: str) -> tuple[Path, str]:
        """Return a folder with all present files of a scenario, and their hash."""
        files = await asyncio.to_thread(packed, self._manager.find(scenario_id))
        ref = blob_ref(files)
        return await self._folder(scenario_id, ref, files), ref.sha256

    async def unpack_with_current_kit(self, scenario_id: str, ref: BlobRef) -> tuple[Path, str]:
        """Return a folder with all files of a family's day as they were frozen, but with today's kit, and the hash of
        these files.
        """
        frozen = await self._folder(scenario_id, ref, None)
        with OwnFolder("proctor-day-") as folder:
            day = Path(folder) / scenario_id
            await asyncio.to_thread(shutil.copytree, frozen, day, ignore=shutil.ignore_patterns(KIT, READER))
            files = await asyncio.to_thread(packed, day)
        current = blob_ref(files)
        return await self._folder(scenario_id, current, files), current.sha256

    async def _folder(self, scenario_id: str, ref: BlobRef, files: bytes | None) -> Path:
        """Return a folder with a scenario's unpacked files, for this worker only. Recently used folders are kept
        longest.
        """
        async with self._unpacking:
            if self._unpacked is None:
                self._unpacked = OwnFolder("proctor-scenarios-")
            folder = self._folders.pop(ref.sha256, None)
            if folder is None or not folder.is_dir():
                # The folder has the scenario's name, which sentences about it show.
                folder = Path(self._unpacked.name) / ref.sha256 / scenario_id
                with TemporaryFile() as archive:
                    if files is not None:
                        archive.write(files)
                    else:
                        async for piece in self._store.read_in_pieces(ref):
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
        """Load a scenario from the blob of its admission. Later changes of its files have no effect."""
        if ref not in self._scenarios:
            while len(self._scenarios) >= _SCENARIOS_KEPT:
                self._scenarios.pop(next(iter(self._scenarios)))
            self._scenarios[ref] = ScenarioConfig.model_validate_json(await self._store.get(ref))
        return self._scenarios[ref]
