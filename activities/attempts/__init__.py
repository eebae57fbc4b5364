"""What surrounds every attempt of an activity.

* ``failures``: how activities fail; ``troubles``: failures of attempts, reported to the workflow while they are retried
* ``heartbeats``, ``notes``: signs of life, and what one attempt leaves to the next
* ``fencing``: which attempt is the newest; ``elapsed``: how long a step has been tried
* ``chain``: the order of all of them, of which ``around`` makes interceptors
* ``patience``: waiting for a simulator or a store inside an attempt
* ``scrubbing``: secrets are taken out of results and failures; ``metrics``: what is counted
* ``resets``: the runs of an assessment before this one
"""
