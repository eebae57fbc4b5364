"""A participant of Terminal-Bench that a language model drives: it gets a task, and runs commands in its container.

* ``executor``: between A2A and the agent
* ``task``: what the evaluator's message says, as data or in words
* ``agent``: the model and its one tool, ``execute_bash_command``, until the model is done
* ``work``: what became of a task
* ``shell``: commands by ``docker exec``, or by the trial's command endpoint
* ``blocked``: commands that it refuses to run

Needs ``pip install 'proctor-purple[assistant]'``, or proctor itself.
"""
