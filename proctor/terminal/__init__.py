"""The Terminal-Bench evaluator: task formats, containers, trials.

A library of steps without Temporal. ``proctor.terminal.trials`` makes activities of these steps.

``tasks``             a task of either format as one model (``format_one``, ``format_two``), and its problems
``engine``            the connection to a Docker engine, and the labels of all objects there (``engine_address``: its
address)
``images``            a task's image, built once for all trials
``environments``      a trial's containers from the first to the last (``compose``: several services)
``commands``          commands in a container, with time limit and capped output
``processes``         the processes that the agent left running
``testing``           a task's tests, and parsers of their output (``parsers``)
``solutions``         runs a task's own solution
``collecting``        logs and files of a trial
``command_endpoint``  commands over HTTP for agents without a Docker socket
``exec_watch``        commands of agents that use ``docker exec``, from the engine's events
``recording``         records of an agent's commands and of tests
``sweeping``          removes leftovers of dead workers
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

# Loaded when first used: a worker that plays no trials shouldn't load an engine's client.
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
