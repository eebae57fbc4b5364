"""The ``proctor`` command, its services, and the Python API.

* ``proctor.client.api``: ``proctor.assess``, ``proctor.run``, ``proctor.runs``
* ``proctor.local.api``: ``proctor.families``, ``proctor.rehearse``, ``proctor.evaluator``
"""

from importlib import import_module
from os.path import isdir
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proctor.client.api import Runs, assess, run, runs
    from proctor.local.api import evaluator, families, rehearse

    __version__: str

__all__ = ["Runs", "__version__", "assess", "evaluator", "families", "rehearse", "run", "runs"]

_HOMES = {
    **dict.fromkeys(("Runs", "assess", "run", "runs"), "proctor.client.api"),
    **dict.fromkeys(("evaluator", "families", "rehearse"), "proctor.local.api"),
}

if not isdir(f"{__path__[0]}/workflows"):  # in a checkout, they are links to folders beside proctor
    raise ImportError(
        f"{__path__[0]}/workflows is not a folder: this checkout lacks its symbolic links. Clone it with git, on "
        "Windows with `git clone -c core.symlinks=true`, or install the wheel."
    )


def __getattr__(name: str) -> Any:
    """Import the API when it is first used: commands start faster without it."""
    if name == "__version__":
        from importlib.metadata import version

        return version("proctor")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'proctor' has no attribute {name!r}")
