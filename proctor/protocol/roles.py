"""The names of each participant's own simulation and archive entry, if there are several participants."""

import re

ROLE_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
"""The form of a role's name."""

LONGEST_ROLE = 40
MOST_ROLES = 8
"""The largest number of participants in one assessment."""

OF_ROLE = "--"
"""The mark between a task's id and a role; ids of tasks don't contain it."""


def name_of_role(task_id: str, role: str) -> str:
    """Return the name of one participant's part of a task, used for its simulation and its archive entry."""
    return f"{task_id}{OF_ROLE}{role}"


def is_of_role(name: str) -> bool:
    """Tell whether a name is of one participant's part of a task."""
    return OF_ROLE in name


def get_task_id(name: str) -> str:
    """Return the id of the task that a simulation belongs to."""
    return name.partition(OF_ROLE)[0]
