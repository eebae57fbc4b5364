"""Guards around every attempt of an activity.

* ``failures``: how activities fail; ``troubles``: failures of attempts, reported to the workflow while they are retried
* ``heartbeats``, ``notes``: signs of life, and data that one attempt leaves for the next
* ``fencing``: which attempt is the newest; ``elapsed``: how long a step has been tried
* ``chain``: the order of all guards; ``around`` makes interceptors of them
* ``patience``: waiting for a simulator or a store inside an attempt
* ``scrubbing``: removal of secrets from results and failures; ``metrics``: counters
* ``resets``: the runs of an assessment before this one
"""
