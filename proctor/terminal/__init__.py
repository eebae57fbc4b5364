"""The Terminal-Bench evaluator: task formats, containers, trials.

A library of steps, with no Temporal in it; ``proctor.terminal.trials`` makes activities of them.

``tasks``             a task of either format as one model (``format_one``, ``format_two``), and what is wrong with it
``engine``            the connection to a Docker engine, and the labels of all there (``engine_address``: where it is)
``images``            a task's image, built once for all trials
``environments``      a trial's containers from the first to the last (``compose``: several services)
``commands``          commands in a container, with time limit and capped output
``processes``         what the agent left running
``testing``           a task's tests and what they say (``parsers``)
``solutions``         a task's own solution, played
``collecting``        logs and files of a trial
``command_endpoint``  commands over HTTP for agents without a Docker socket
``exec_watch``        commands of agents that use ``docker exec``, as the engine tells of them
``recording``         what of an agent's commands and of tests is written down
``sweeping``          what dead workers left
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proctor.terminal import (
        collecting,
        command_endpoint,
        engine,
        environments,
        exec_watch,
        fresh,
        images,
        solutions,
        tasks,
        testing,
    )

# Loaded when first asked for: a worker that plays no trials needs no client of an engine in memory.
__all__ = [
    "collecting",
    "command_endpoint",
    "engine",
    "environments",
    "exec_watch",
    "fresh",
    "images",
    "solutions",
    "tasks",
    "testing",
]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
