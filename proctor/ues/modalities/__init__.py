"""The modalities: one folder each, found by looking. A folder's package offers its declaration as ``MODALITY``."""

from importlib import import_module
from pkgutil import iter_modules

from proctor.ues.modality import Modality


def _find() -> dict[str, Modality]:
    modalities = [import_module(f"{__name__}.{item.name}").MODALITY for item in iter_modules(__path__) if item.ispkg]
    return {modality.name: modality for modality in sorted(modalities, key=lambda item: str(item.name))}


MODALITIES: dict[str, Modality] = _find()
"""Every modality by name, in alphabetical order."""
