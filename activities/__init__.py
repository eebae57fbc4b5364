"""Everything that touches the simulation: simulations, participants, characters, judges, files.

The activities, in the order of an assessment's story:

* ``admission``, ``queueing``: is the request good, and whose turn is it
* ``lifecycle``: a simulation is set up, closed and ended
* ``participants``: the participant is greeted, plays its turns, is told when all is over
* ``turns``: what it did is read off the event log, characters answer, the clock moves
* ``verdicts``: every criterion is judged

What they share:

* ``plan``: what passes between workflow and activities; ``failures``: how they fail; ``heartbeats``: how they live
* ``deployment``: what a worker's activities have in common
* ``fencing``: which attempt is the newest; ``patience``: waiting inside an attempt
* ``scrubbing``: no secret leaves an activity
* ``participant_client``: one conversation over A2A
* ``participant_tasks``: what a participant may still be at when an attempt, a try or a run is over

What they are made of: ``packages`` (scenarios on disk), ``simulations`` (where they live), ``actions`` (what was
done in them), ``characters`` (who answers), ``judging`` (what it was worth), ``models`` (language models).
"""
