"""Make a wheel of ``proctor-purple`` from the installed modules, since package indexes don't have it yet.

The format is that of https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
"""

import base64
import hashlib
import zipfile
from importlib.metadata import requires, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from packaging.requirements import Requirement

NEEDS = (
    *("a2a-sdk", "httpx", "isodate", "protobuf", "pydantic", "pydantic-core", "pydantic-settings"),
    *("pyseccomp", "sse-starlette", "starlette", "uvicorn"),
)
"""The dependencies, as in packaging/purple/pyproject.toml. Their versions are those of proctor's own dependencies."""


def write_wheel(folder: Path) -> Path:
    """Write the wheel into a folder, which is made. Return the wheel's path."""
    release = version("proctor")
    info = f"proctor_purple-{release}.dist-info"
    content = {f"purple_sdk/{name}": data for name, data in _files(files("purple_sdk")).items()}
    lines = ["Metadata-Version: 2.1", "Name: proctor-purple", f"Version: {release}", "Requires-Python: >=3.11"]
    metadata = [*lines, *(f"Requires-Dist: {dependency}" for dependency in dependencies()), ""]
    content[f"{info}/METADATA"] = "\n".join(metadata).encode()
    content[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: proctor\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in content.items()]
    content[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"proctor_purple-{release}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in content.items():
            wheel.writestr(name, data)
    return path


def dependencies() -> list[str]:
    requirements = [Requirement(text) for text in requires("proctor") or []]
    return sorted(
        {
            str(requirement)
            for requirement in requirements
            if requirement.name in NEEDS and "extra" not in str(requirement.marker)
        }
    )


def _files(folder: Traversable) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            contents |= {f"{entry.name}/{name}": data for name, data in _files(entry).items()}
        elif entry.is_file():
            contents[entry.name] = entry.read_bytes()
    return contents


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
