"""The duty types: functions that make a ``Duty`` of a day's people, times and values.

All of them take the ``day``, the duty's ``key``, and most a ``stranger``, who gets the message by mistake in a lapse.
"""
