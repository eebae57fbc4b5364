"""The ``proctor`` command, and how services run.

The Python API is ``proctor.client.api``: ``proctor.assess``, ``proctor.run``, ``proctor.runs``, ``proctor.families``,
``proctor.rehearse`` and ``proctor.evaluator``.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proctor.client.api import Runs, assess, run, runs
    from proctor.local.api import evaluator, families, rehearse

__all__ = ["Runs", "__version__", "assess", "evaluator", "families", "rehearse", "run", "runs"]

__version__ = version("proctor")


def __getattr__(name: str) -> Any:
    """Import the API when it is first used: commands start faster without it."""
    if name in __all__:
        return getattr(import_module("proctor.client.api"), name)
    raise AttributeError(f"module 'proctor' has no attribute {name!r}")
