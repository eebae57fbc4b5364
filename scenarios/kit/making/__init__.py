"""How days are made: worlds, people, duties, and the files of an instance. None of it is frozen with a scenario.

``draws``, ``people``, ``records``, ``voices`` and ``worlds`` make what is in a day. ``duties`` has the duty types.
``days`` puts duties in a world and writes the files of a scenario. The checks are in ``proctor.scenarios.kit.checks``,
which is frozen with each instance, so that it is judged by the same rules later.
"""
