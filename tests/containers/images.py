"""The images of this checkout, built by a real engine on a stand-in for ``python:3.12-slim``, which no registry gives.

The stand-in is a Debian with its Python, made by ``debootstrap``. It knows this machine's certificates and package
index, as pip on this machine does; neither is written down anywhere else.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.docker_engine import DockerEngine, base_image
from tests.programs import ROOT

STAND_IN = "proctor/stand-in:python"
TARGETS = {"purple": "proctor-purple", "green": "proctor-green", "": "proctor"}
"""The Dockerfile's targets, and what their images are called; the last is the one that is built without a target."""

_PACKAGES = "python3,python3-pip,python3-venv,ca-certificates"
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_PATIENCE = 1800.0


def import_stand_in(engine: DockerEngine, folder: Path) -> None:
    """Have the stand-in; ``folder`` is an empty one to work in."""
    engine.docker("import", str(base_image(_PACKAGES)), "proctor/stand-in:debian")
    # As python:3.12-slim: pip installs for the whole image, and Python is called python.
    lines = ["FROM proctor/stand-in:debian", f"ENV PIP_CERT={_CERTIFICATES} PIP_BREAK_SYSTEM_PACKAGES=1"]
    lines += ["RUN ln -sf python3 /usr/bin/python"]
    shutil.copyfile(os.environ.get("SSL_CERT_FILE") or _CERTIFICATES, folder / "certificates")
    lines += [f"COPY certificates {_CERTIFICATES}"]
    if index := _package_index():
        lines += [f"ENV PIP_INDEX_URL={index}"]
    (folder / "Dockerfile").write_text("\n".join(lines) + "\n")
    engine.docker("build", "--tag", STAND_IN, str(folder))


def build(engine: DockerEngine) -> None:
    """Build all images; prints how long each took and how much it adds to its base."""
    base = int(engine.docker("inspect", "--format", "{{.Size}}", STAND_IN))
    print(f"stand-in: {base / 1e6:.0f} MB")
    for target, tag in TARGETS.items():
        began = time.monotonic()
        engine.docker(
            "build", "--network", "host", "--build-arg", f"BASE_IMAGE={STAND_IN}",
            *(["--target", target] if target else []), "--tag", tag, str(ROOT),
            seconds=_PATIENCE,
        )  # fmt: skip
        size = int(engine.docker("inspect", "--format", "{{.Size}}", tag)) - base
        print(f"{tag}: {size / 1e6:.0f} MB over its base, built in {time.monotonic() - began:.0f} s", flush=True)


def main() -> int:
    """Say whether packages can be had as a build in a container has them: without what pip knows here alone."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    index = {"PIP_INDEX_URL": index} if (index := _package_index()) else {}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "0", "--timeout", "15"]
        asked = subprocess.run(
            [*command, "--dest", folder, "tzdata"],
            env={**known, **index, "PIP_CONFIG_FILE": os.devnull, "PIP_CERT": _CERTIFICATES},
            capture_output=True,
            text=True,
            check=False,
        )
    if asked.returncode:
        print("no package index can be reached as a container reaches it")
    return asked.returncode


def _package_index() -> str:
    """The index that this machine's pip is set to, where it is set to one."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    return os.environ.get("PIP_INDEX_URL") or asked.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
