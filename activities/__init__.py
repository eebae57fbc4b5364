"""Everything that touches the world: simulations, participants, characters, judges, files.

The activities, in the order of an assessment's story:

* ``admission``, ``queueing``: is the request good, and whose turn is it
* ``scenes``: the stage is set, closed and taken down
* ``participants``: the participant is greeted, plays its turns, is told when all is over
* ``turns``: what it did is read off the event log, characters answer, the clock moves
* ``verdicts``: every criterion is judged

What they are made of:

* ``plan``: what passes between workflow and activities; ``failures``: how they fail; ``heartbeats``: how they live
* ``scrubbing``: no secret leaves an activity
* ``deployment``: what a worker's activities share
* ``simulations``, ``keys``: how simulations go from checkpoint to checkpoint, and what opens them
* ``worlds``: where simulations live; ``own_servers``, ``own_world``: each in a UES server of its own
* ``server_process``, ``guard``: servers that a worker starts, and that never outlive it
* ``participant_client``: one conversation over A2A
* ``scenario_packages``, ``evaluator_modules``, ``initial_states``: scenario directories
* ``models``, ``structured``, ``prompts``: model APIs, answers with a shape, untrusted text
* ``characters``, ``character_prompts``, ``outgoing``: simulated people, and what reaches them
* ``judging``, ``model_judge``, ``rubric``, ``evidence``, ``json_safe``: scores
* ``action_log``, ``action_report``: what the participant did, and what it says it did
"""
