"""The duty types: functions that make a ``Duty`` of a day's people, times and values."""
