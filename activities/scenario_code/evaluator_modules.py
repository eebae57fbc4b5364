"""Import a scenario's ``evaluators.py``, which sees its sibling modules, and no modules of other scenarios.

Each version of a scenario's code becomes a private package, named after its content. The package's modules are ordinary
modules in ``sys.modules``, so relative imports, dataclasses and tracebacks work. Their builtins have a special
``__import__``: ``import helpers`` means the scenario's own ``helpers.py``. Imports inside functions use it, too.
``sys.path`` stays unchanged.

A scenario's modules get the authors' kit (``proctor.scenarios.kit``) that was frozen with the scenario (``freezing``),
otherwise the installed one. Until version 0.2, the kit was ``scenarios.kit``, and our other packages had other names,
too. Scenario modules may still use the old names (``proctor.processes.names``).

Evaluators written for the seeds import ``src.green.scenarios.schema`` and its neighbours (seed 000, section 3.2.3).
Only inside scenario modules, these names mean the modules of ``protocol``.
"""

import builtins
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import marshal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import proctor.protocol.evaluation
import proctor.protocol.scenario
import purple_sdk.protocol.durations
import purple_sdk.protocol.messages
import purple_sdk.protocol.results
from proctor.processes.names import current_name, old_names

KIT_NAME, KIT = "proctor.scenarios.kit", "_kit"
"""The name of the authors' kit in scenarios' code, and its folder in a frozen scenario."""

KIT_NAMES = (KIT_NAME, "scenarios.kit")
"""The kit's name, and its old one."""

READER_NAME, READER = "proctor.language.reader", "_reader"
"""The name of the reader of values, which the kit uses, and its folder in a frozen scenario. Version 1
(``proctor.language.moments``) is not frozen.
"""

FROZEN = {KIT_NAME: KIT, READER_NAME: READER}

MAKER = f"{KIT_NAME}.making.days"
"""The module that makes the days of families; it is never frozen."""

_PREFIX = "_proctor_scenario_"
_lock = threading.RLock()
_compiled: dict[bytes, CodeType] = {}
"""Code by the SHA-256 of its source."""


def import_evaluators(directory: Path) -> ModuleType:
    """Import ``evaluators.py`` of a scenario's folder. The module can import its siblings by plain and relative names.

    The same content gives the same module. Changed content gives a new module; functions of the old module keep
    working. Raises all exceptions of the modules' import.
    """
    package_name = (
        _PREFIX + hashlib.sha256(f"{directory.resolve()}\0{code_digest(directory)}".encode()).hexdigest()[:32]
    )
    with _lock:
        if package_name not in sys.modules:
            package = ModuleType(package_name)
            package.__path__ = [str(directory)]
            package.__package__ = package_name
            sys.modules[package_name] = package
        try:
            return importlib.import_module(f"{package_name}.evaluators")
        except BaseException:
            # Half-imported siblings must not be used in the next try.
            for name in [n for n in sys.modules if n == package_name or n.startswith(package_name + ".")]:
                del sys.modules[name]
            raise


def compile_modules(directory: Path) -> bytes:
    """Compile the Python files of a scenario's folder, for ``take_compiled``, without running them.

    A module that can't be compiled is left out: its import shows the reason. Folders with the same code
    (``code_digest``) give the same result.
    """
    compiled: dict[bytes, CodeType] = {}
    for path in sorted(filter(Path.is_file, directory.rglob("*.py"))):
        source = path.read_bytes()
        with suppress(SyntaxError, ValueError, RecursionError):
            name = str(path.relative_to(directory))
            compiled[hashlib.sha256(source).digest()] = compile(source, name, "exec", dont_inherit=True)
    return marshal.dumps(compiled)


def take_compiled(compiled: bytes) -> None:
    """Use the result of ``compile_modules`` for each module that is unchanged when it is imported."""
    _compiled.update(marshal.loads(compiled))


def installed_kit() -> Path:
    return _installed(KIT_NAME)


def installed_reader() -> Path:
    return _installed(READER_NAME)


def installed_readers() -> tuple[Path, ...]:
    """Return the folders of installed code that judging a frozen scenario uses beside the scenario's own code."""
    return installed_kit(), installed_reader()


def _installed(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{name} is not installed with proctor")
    return Path(spec.origin).parent


def code_digest(directory: Path) -> str:
    """Return the SHA-256 of the names and contents of a folder's Python files."""
    digest = hashlib.sha256()
    for path in sorted(filter(Path.is_file, directory.rglob("*.py"))):
        digest.update(b"\0" + str(path.relative_to(directory)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _replace_path(code: CodeType, path: str) -> CodeType:
    """Return the same code with another file's path, for tracebacks."""
    inner = (
        _replace_path(constant, path) if isinstance(constant, CodeType) else constant for constant in code.co_consts
    )
    return code.replace(co_filename=path, co_consts=tuple(inner))


class _ScenarioModuleLoader(importlib.machinery.SourceFileLoader):
    """Runs a scenario's module from its current source, with the scenario's ``__import__``.

    Bytecode caches distinguish versions only by whole seconds, and would litter the scenario's folder.
    """

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path)
        compiled = _compiled.get(hashlib.sha256(source).digest())
        if compiled is not None:
            return _replace_path(compiled, self.path)
        code: CodeType = self.source_to_code(source, self.path)
        return code

    def exec_module(self, module: ModuleType) -> None:
        package_name = module.__name__.partition(".")[0]
        directory = Path(sys.modules[package_name].__path__[0])
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _ScenarioImport(package_name, directory)}
        super().exec_module(module)


class _ScenarioModuleFinder(importlib.abc.MetaPathFinder):
    """Finds only the modules of the private packages."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_PREFIX) or path is None:
            return None
        for folder in path:
            finder = importlib.machinery.FileFinder(folder, (_ScenarioModuleLoader, [".py"]))
            if spec := finder.find_spec(fullname):
                return spec
        return None


class _ScenarioImport:
    """The ``__import__`` of one scenario's modules: siblings first, then the seeds' names, then everything else."""

    def __init__(self, package_name: str, directory: Path) -> None:
        self._package_name = package_name
        self._directory = directory

    def __call__(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002  (the names of builtins.__import__)
        locals: Mapping[str, Any] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if level == 0 and name:
            if self._is_sibling(name.partition(".")[0]):
                return self._import_sibling(name, fromlist)
            current = current_name(name)
            for package, folder in FROZEN.items():
                if f"{current}.".startswith(f"{package}.") and (self._directory / folder).is_dir():
                    return self._import_frozen(name, f"{folder}{current.removeprefix(package)}", fromlist)
            if current != name:
                with old_names():
                    return builtins.__import__(name, globals, locals, fromlist or (), level)
            if name.partition(".")[0] in _SEED_ROOTS and (alias := _seed_module(name)) is not None:
                return alias if fromlist else _SEED_ROOTS[name.partition(".")[0]]
        module = builtins.__import__(name, globals, locals, fromlist or (), level)
        return self._with_frozen() if module is proctor and not fromlist else module

    def _is_sibling(self, top: str) -> bool:
        return (self._directory / f"{top}.py").is_file() or (self._directory / top / "__init__.py").is_file()

    def _import_frozen(self, name: str, frozen: str, fromlist: Sequence[str] | None) -> Any:
        """Return a frozen module. For ``import scenarios.kit.x``, return a package that has a ``kit``.

        Args:
            name: the module's name in the scenario's code.
            frozen: the module's name below the scenario's folder.
        """
        module = self._import_sibling(frozen, fromlist)
        if fromlist:
            return module
        root, inner = name.split(".")[:2]
        return self._with_frozen() if root == "proctor" else _add_module(ModuleType(root), [inner], module)

    def _with_frozen(self) -> ModuleType:
        """Return the package ``proctor`` with the kit and the reader that were frozen with the scenario, if it has
        any.
        """
        root = proctor
        for package, folder in FROZEN.items():
            if (module := sys.modules.get(f"{self._package_name}.{folder}")) is not None:
                root = _add_module(root, package.split(".")[1:], module)
        return root

    def _import_sibling(self, name: str, fromlist: Sequence[str] | None) -> Any:
        try:
            if fromlist:
                return builtins.__import__(f"{self._package_name}.{name}", None, None, fromlist, 0)
            importlib.import_module(f"{self._package_name}.{name}")
            return sys.modules[f"{self._package_name}.{name.partition('.')[0]}"]
        except ModuleNotFoundError as error:
            if error.name and error.name.startswith(self._package_name + "."):
                # Report the name that the author wrote, not the private one.
                written = error.name.removeprefix(self._package_name + ".")
                raise ModuleNotFoundError(f"No module named {written!r}", name=written) from None
            raise


def _add_module(package: ModuleType, place: Sequence[str], module: ModuleType) -> ModuleType:
    """Return a copy of a package that has ``module`` at ``place`` below it."""
    first, *rest = place
    inner = _add_module(getattr(package, first, ModuleType(first)), rest, module) if rest else module
    return _module(package.__name__, package, **{first: inner})


def _module(name: str, *sources: ModuleType, **members: ModuleType) -> ModuleType:
    """Make a module outside ``sys.modules``, with the public names of other modules."""
    module = ModuleType(name)
    module.__path__ = []
    for source in sources:
        module.__dict__.update({key: value for key, value in vars(source).items() if not key.startswith("_")})
    module.__dict__.update(members)
    return module


def _seed_tree(prefix: str) -> dict[str, ModuleType]:
    """Make the seeds' packages ``green`` and ``common``, as far as evaluators need them."""
    schema_sources = (
        proctor.protocol.scenario,
        purple_sdk.protocol.durations,
        purple_sdk.protocol.results,
        proctor.protocol.evaluation,
    )
    schema = _module(f"{prefix}green.scenarios.schema", *schema_sources)
    scenarios = _module(f"{prefix}green.scenarios", *schema_sources, schema=schema)
    agentbeats = _module(
        f"{prefix}common.agentbeats",
        purple_sdk.protocol.messages,
        purple_sdk.protocol.results,
        results=_module(f"{prefix}common.agentbeats.results", purple_sdk.protocol.results),
        messages=_module(f"{prefix}common.agentbeats.messages", purple_sdk.protocol.messages),
    )
    return {
        "green": _module(f"{prefix}green", scenarios=scenarios),
        "common": _module(f"{prefix}common", agentbeats=agentbeats),
    }


_SEED_ROOTS = {**_seed_tree(""), "src": _module("src", **_seed_tree("src."))}


def _seed_module(name: str) -> ModuleType | None:
    top, *rest = name.split(".")
    module: Any = _SEED_ROOTS[top]
    for step in rest:
        module = vars(module).get(step)
        if not isinstance(module, ModuleType):
            return None
    return module if isinstance(module, ModuleType) else None


sys.meta_path.insert(0, _ScenarioModuleFinder())
