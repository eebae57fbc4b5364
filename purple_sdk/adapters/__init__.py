"""Any A2A agent in the official harnesses of terminal tasks.

* ``terminal_bench``: ``A2AWhiteAgent`` for ``tb run --agent-import-path``
* ``harbor``: ``A2AAgent`` for ``harbor run --agent``, and ``DockerEnvironment`` for ``--env``
* ``asking``: one message to an agent, and its answer

The modules can be imported without the harnesses, which are installed by ``pip install 'proctor-purple[harnesses]'``
(Python 3.12 or newer).
"""
