"""Kill anything at any moment: the result is that of an undisturbed run.

Real processes, real SIGKILL. ``python -m tests.chaos`` plays the whole table and random schedules, ``test_chaos.py``
a part of it.
"""
