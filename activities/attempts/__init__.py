"""Guards around every attempt of an activity.

* ``failures``: the types of activities' failures
* ``troubles``: reports an attempt's failure to the workflow if the attempt will be retried
* ``heartbeats``, ``notes``: signs of life, and data that one attempt leaves for the next
* ``fencing``: finds out which attempt is the newest
* ``elapsed``: measures how long a step has been tried
* ``chain``: the order of all guards
* ``around``: makes interceptors of guards
* ``patience``: waiting for a simulator or a store inside an attempt
* ``scrubbing``: removes secrets from results and failures
* ``metrics``: counters
* ``resets``: the runs of an assessment before this one
"""
