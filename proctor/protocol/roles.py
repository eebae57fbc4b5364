"""The names of what each of several participants has of its own: its simulation, and its archive entry."""

import re

ROLE_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
"""What a role may be called."""

LONGEST_ROLE = 40
MOST_ROLES = 8
"""The number of participants in one assessment."""

OF_ROLE = "--"
"""Between a task's id and a role; ids of tasks have none."""


def name_of_role(task_id: str, role: str) -> str:
    """The name of one participant's part of a task: of its simulation and its archive entry."""
    return f"{task_id}{OF_ROLE}{role}"


def is_of_role(name: str) -> bool:
    """Whether a name is of one participant's part of a task."""
    return OF_ROLE in name


def task_of(name: str) -> str:
    """The id of the task that a simulation is of."""
    return name.partition(OF_ROLE)[0]
