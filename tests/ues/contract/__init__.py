"""The contract's two JSON files, and how ours is compared with them.

``ues-openapi.json`` and ``ues-models.json`` are this project's own documents (they stand beside the contract page, in
the design folder); copies are kept here so that the tests need nothing else.
"""

import json
from pathlib import Path
from typing import Any


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(__file__).parent / name).read_text())
    return found


OPENAPI = _read("ues-openapi.json")
"""The exact paths, fields, types, defaults and enums of UES 0.1."""

MODELS = _read("ues-models.json")
"""Every modality's ``state`` and ``input``."""
