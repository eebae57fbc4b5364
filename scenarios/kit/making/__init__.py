"""Code that makes days: worlds, people, duties, and the files of an instance. Scenarios are not frozen with it.

``draws``, ``people``, ``records``, ``voices`` and ``worlds`` make a day's content. ``duties`` has the duty types.
``days`` puts duties in a world and writes the files of a scenario. The checks are in ``proctor.scenarios.kit.checks``,
which is frozen with each instance: a later judgement uses the same rules.
"""
