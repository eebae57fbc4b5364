"""The duty types: functions that make a ``Duty`` of a day's people, times and values, and add it to the day.

All of them take the ``day`` and the duty's ``key``. In lapses, ``day.stranger`` gets messages by mistake.
"""
