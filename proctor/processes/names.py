"""Find the present names of our packages by the names that they had before proctor was one package.

Archived scenarios keep their old code, so their processes import old names (``import_old_names``). An old name leads to
the same module as the present name, and nothing is loaded twice.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

OWN_PACKAGES = ("proctor", "purple_sdk")
"""The packages of this distribution. The names of all of our loggers begin with one of them."""

_PLACES = {
    "activities": ("proctor.activities",),
    "proctor_language": ("proctor.language",),
    "proctor_processes": ("proctor.processes", "purple_sdk.processes"),
    "proctor_protocol": ("proctor.protocol", "purple_sdk.protocol"),
    "proctor_settings": ("proctor.settings", "purple_sdk.settings"),
    "proctor_storage": ("proctor.storage",),
    "scenarios": ("proctor.scenarios",),
}
"""The packages that scenarios' code could import until version 0.2, and the packages that have their modules now."""


def current_name(name: str) -> str:
    """Return the present name of a module of ours, given its old or present name; return any other name unchanged."""
    root, _, rest = name.partition(".")
    places = _PLACES.get(root, ())
    names = [f"{place}.{rest}" if rest else place for place in places]
    return next(filter(_is_module, names), names[0]) if names else name


def _is_module(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@contextmanager
def old_names() -> Iterator[None]:
    """Let this process import modules of ours by their old names, until the end of the context."""
    finder = _OldNames()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in _PLACES and module.__name__ == current_name(name) != name:
                del sys.modules[name]


def import_old_names() -> None:
    """Let this process import modules of ours by their old names, for good."""
    sys.meta_path.insert(0, _OldNames())


class _OldNames(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        name = current_name(fullname)
        if name == fullname:
            return None
        warnings.warn(f"{fullname} is an old name: import {name}", DeprecationWarning, stacklevel=2)
        return importlib.machinery.ModuleSpec(fullname, _SameModule(name))


class _SameModule(importlib.abc.Loader):
    """Loads a module under another name; the module keeps its own specification."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._own_spec: importlib.machinery.ModuleSpec | None = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec
