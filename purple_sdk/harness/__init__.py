"""CLI agents, such as Claude Code and Codex, as participants.

* ``declared``: what has to be known of a CLI agent: installation, configuration, commands, how its output is read
* ``clis``: the declarations, one file each; ``HARNESSES`` lists them
* ``acp_client``: plays a turn with a program that speaks the Agent Client Protocol
* ``agent``: ``HarnessAgent``, the participant that starts the CLI agent once for each turn
* ``terminal``: CLI agents at terminal tasks, whose one tool is in ``shell_tools``
* ``starting``: starts the CLI agent for one prompt, and judges how it ended
* ``relay``: the only way from the CLI agent to its model and to the simulation; it counts and records
* ``budget``: what the participant may use of models, in money and tokens
* ``tools``: where the CLI agent's MCP messages are answered
* ``reporting``: the actions and tokens of a turn, by what the relay recorded
* ``functions``: participants whose turns a function plays, such as one that runs a framework's agent
* ``folders``: the home folder of an assessment, and its copies from before each turn
* ``hidden``: the folders that the CLI agent must not read
* ``launcher``: starts the CLI agent's program in confinement
* ``program``: runs the CLI agent's process within its limits
* ``installing``: finds and installs the programs
"""
