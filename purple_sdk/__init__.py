"""What a participant installs: base agent, executor, ``serve``, the simulator's client."""
