"""Settings of the evaluator and of agents, read from the environment and the command line."""
