"""What the participant did.

* ``log``: read off the simulation's event log
* ``report``: compared with what the participant says it did
"""
